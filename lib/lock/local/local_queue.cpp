#include "lock/local/local_queue.hpp"

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <utility>

namespace colock::detail {

namespace {

using protocol::cohort;
using protocol::company;

cohort::rules rules_of(const lock_options& o, bool shared)
{
    return {.shared = shared,
            .max_grants = o.max_local_grants,
            .max_time = o.max_local_time,
            .linger = shared ? std::chrono::milliseconds{0} : o.linger,
            .max_linger = o.max_linger};
}

} // namespace

// What is to be done on the strand.
struct local_queue::errands {
    struct departure {
        std::shared_ptr<queue_member> member;
        operation_ptr<error_code> unlocking; // completes when it has gone; or empty
    };
    boost::container::small_vector<departure, 1> leaving;
    operation_ptr<error_code, unique_lock> parting; // waits for what it had a part in
    std::shared_ptr<queue_member> trace;            // which was this one, or nothing yet
    std::shared_ptr<queue_member> turn_over;        // somebody waits for the loss of this turn
    std::uint64_t turn = 0;
};

// What is to be done when the mutex has been left.
struct local_queue::chores {
    waiters admitted;                     // tagged with their turns
    std::shared_ptr<queue_member> holder; // for them
    std::shared_ptr<client_core> core;    // likewise; or empty
    bool settle = false;
    std::unique_ptr<errands> on_the_strand; // as a rule there are none
    errands& more()
    {
        if (!on_the_strand) {
            on_the_strand = std::make_unique<errands>();
        }
        return *on_the_strand;
    }
};

local_queue::local_queue(std::shared_ptr<client_core> core, std::string path, lock_options options,
                         lock_kind kind)
    : core_{std::move(core)}, path_{std::move(path)}, options_{std::move(options)}, kind_{kind},
      cohort_{rules_of(options_, false)}
{
}

local_queue::local_queue(std::shared_ptr<local_queue> listed, bool shared)
    : core_{listed->core_}, path_{listed->path_}, options_{listed->options_}, kind_{listed->kind_},
      listed_{std::move(listed)}, shared_{shared}, cohort_{rules_of(options_, shared)}
{
}

local_queue::~local_queue()
{
    discarded();
    if (!listed_) {
        core_->forget_path(path_);
    }
}

std::shared_ptr<local_queue> local_queue::readers()
{
    if (listed_) { // this one is for a single user
        return listed_->readers();
    }
    if (options_.max_local_grants == 0) { // likewise
        return std::make_shared<local_queue>(shared_from_this(), true);
    }
    const std::lock_guard lock{mutex_};
    auto found = readers_.lock();
    if (!found) {
        readers_ = found = std::make_shared<local_queue>(shared_from_this(), true);
    }
    return found;
}

// ---- users

void local_queue::lock(operation_ptr<error_code, unique_lock> op, deadline until)
{
    if (!listed_ && options_.max_local_grants == 0 && kind_ != lock_kind::single_node_mutex) {
        // Everybody queues for himself. Where there is no queue they take turns with the one node instead.
        std::make_shared<local_queue>(shared_from_this(), false)->lock(std::move(op), until);
        return;
    }
    if (until != never && until <= std::chrono::steady_clock::now()) {
        try_lock(std::move(op));
        return;
    }
    if (until != never || op.cancellation()) {
        op->make_link(core_).enter(weak_from_this());
    }
    std::unique_lock lock{mutex_};
    cohort::verdict v;
    if (cohort_.is_full() && !cohort_.arrive({}, v)) { // whatever the time is
        wait(std::move(op), until);
        if (v == cohort::verdict{}) {
            return;
        }
    }
    chores todo;
    if (op) {
        const auto now = boot_clock::now();
        dismiss_loser(now, todo);
        if (cohort_.arrive(now, v)) {
            admit(op.release(), todo);
        } else {
            wait(std::move(op), until);
        }
    }
    follow(v, todo);
    lock.unlock();
    carry_out(todo);
}

void local_queue::try_lock(operation_ptr<error_code, unique_lock> op)
{
    using answer = cohort::answer;
    auto found = answer::idle;
    chores todo;
    if (core_->connection_id() != 0) { // else a try has no say, whatever is known here
        const std::lock_guard lock{mutex_};
        const auto now = boot_clock::now();
        dismiss_loser(now, todo);
        cohort::verdict v;
        found = cohort_.try_arrive(now, v);
        if (found == answer::admitted) {
            admit(op.release(), todo);
        }
        follow(v, todo);
    }
    carry_out(todo);
    if (found == answer::busy) {
        op.complete({}, unique_lock{core_, {}});
    } else if (found == answer::idle) {
        ask(std::move(op));
    }
}

// Nobody here has it. Each of those who ask the servers does so for himself.
void local_queue::ask(operation_ptr<error_code, unique_lock> op)
{
    core_->dispatch([self = shared_from_this(), op = std::move(op)]() mutable {
        const auto& core = self->core_;
        auto refused = core->unavailable();
        if (!refused && !core->is_connected()) {
            refused = errc::disconnected;
        }
        if (const auto& link = op.cancellation();
            link && link->requested() != asio::cancellation_type::none) {
            op.complete(asio::error::operation_aborted, unique_lock{core, {}});
        } else if (refused) {
            core->note_error("lock " + self->path_ + ": " + refused.message());
            op.complete(refused, unique_lock{core, {}});
        } else {
            std::make_shared<queue_member>(self)->try_join(std::move(op));
        }
    });
}

void local_queue::wait(operation_ptr<error_code, unique_lock> op, deadline until)
{
    auto* const raw = op.release();
    waiting_.push_back(*raw);
    const auto& link = raw->cancellation();
    if (!link) {
        return;
    }
    link->waiting = raw;
    if (until != never) {
        link->deadline.emplace(core_->executor(), until);
        link->deadline->async_wait([weak = weak_from_this(), link](const error_code& ec) {
            if (const auto self = weak.lock(); self && !ec) {
                self->deadline_reached(*link);
            }
        });
    }
}

operation_ptr<error_code, unique_lock> local_queue::take(waiter& op) noexcept
{
    waiting_.erase(waiting_.iterator_to(op));
    if (const auto& link = op.cancellation()) {
        link->waiting = nullptr;
        link->deadline.reset();
    }
    return operation_ptr<error_code, unique_lock>{&op};
}

void local_queue::cancel(cancel_link& of, asio::cancellation_type type)
{
    operation_ptr<error_code, unique_lock> op;
    chores todo;
    {
        const std::lock_guard lock{mutex_};
        if (of.waiting == nullptr) {
            return; // it came too late
        }
        op = take(*static_cast<waiter*>(of.waiting));
        const auto v = cohort_.withdraw();
        follow(v, todo);
        if ((v.settle || v.leave) && !ends_at_once(type)) {
            of.leave();                          // a terminal request may follow
            todo.more().parting = std::move(op); // the node goes with the last one
            todo.more().trace = v.leave ? todo.more().leaving.back().member : contender_;
        }
    }
    carry_out(todo);
    if (op) {
        op.complete(asio::error::operation_aborted, unique_lock{core_, {}});
    }
}

void local_queue::deadline_reached(cancel_link& of)
{
    operation_ptr<error_code, unique_lock> op;
    chores todo;
    {
        const std::lock_guard lock{mutex_};
        if (of.waiting == nullptr) {
            return; // it came too late to be taken back
        }
        op = take(*static_cast<waiter*>(of.waiting));
        follow(cohort_.withdraw(), todo);
    }
    carry_out(todo);
    // Without a connection nobody knows whether the lock is busy.
    op.complete(core_->connection_id() != 0 ? error_code{} : errc::disconnected,
                unique_lock{core_, {}});
}

void local_queue::release(std::shared_ptr<client_core>&& core, grant&& held)
{
    chores todo;
    todo.core = std::move(core);
    {
        const std::lock_guard lock{mutex_};
        end_turn(held, todo);
    }
    carry_out(todo);
}

void local_queue::unlock(operation_ptr<error_code> op, grant&& held)
{
    chores todo;
    error_code result;
    {
        const std::lock_guard lock{mutex_};
        result = end_turn(held, todo);
        if (!result && todo.on_the_strand && !todo.more().leaving.empty()) {
            todo.more().leaving.back().unlocking = std::move(op);
        }
    }
    carry_out(todo);
    if (op) {
        op.complete(result);
    }
}

void local_queue::step_down(operation_ptr<error_code, unique_lock> op, grant&& held)
{
    chores todo;
    {
        const std::lock_guard lock{mutex_};
        take_user_off(*held.member, held.member->lost());
        if (holder_ == held.member) { // else it is lost
            holder_.reset();
            follow(cohort_.lost(), todo);
        }
    }
    carry_out(todo);
    core_->dispatch([op = std::move(op), member = std::move(held.member),
                     turn = held.turn]() mutable { member->step_down(std::move(op), turn); });
}

// Returns why the lock is lost, if it is.
error_code local_queue::end_turn(grant& held, chores& todo)
{
    auto member = std::move(held.member);
    const auto now = boot_clock::now();
    const auto why = member->lost(now);
    if (member->is_watched() && !why) {
        todo.more().turn_over = member;
        todo.more().turn = held.turn;
    }
    if (shared_) {
        shared_turns_.erase(held.turn);
    }
    const bool last = take_user_off(*member, why);
    if (why && holder_ == member) {
        dismiss(todo);
    }
    if (holder_ != member) { // it is lost, or was replaced
        if (last) {
            todo.more().leaving.push_back({std::move(member), {}});
            todo.settle = true;
        }
        return why;
    }
    const auto v = cohort_.release(now);
    todo.holder = std::move(member);
    follow(v, todo);
    return {};
}

// Counts how the user's turn has ended. Returns whether it was the last one.
bool local_queue::take_user_off(queue_member& member, const error_code& why)
{
    if (why) {
        count_loss(member);
    } else {
        core_->count.locks_released.fetch_add(1, std::memory_order_relaxed);
    }
    return --member.users == 0;
}

// All that have the lock by this node lose it together, and nobody is let in on it any more. Whoever sees the loss
// first counts it: a guard that lets go, or the client.
void local_queue::count_loss(queue_member& member)
{
    if (!std::exchange(member.loss_counted, true)) {
        core_->count.locks_lost.fetch_add(member.users, std::memory_order_relaxed);
    }
}

bool local_queue::is_current(const queue_member& member, std::uint64_t turn)
{
    const std::lock_guard lock{mutex_};
    return shared_ ? shared_turns_.contains(turn)
                   : holder_.get() == &member && turn + 1 == turns_ && cohort_.users() != 0;
}

// ---- contenders

void local_queue::granted(const std::shared_ptr<queue_member>& member, company c)
{
    chores todo;
    {
        const std::lock_guard lock{mutex_};
        if (contender_ != member) { // which has failed, or is not wanted any more
            todo.more().leaving.push_back({member, {}});
            todo.settle = true;
        } else {
            make_way(todo);
            holder_ = std::move(contender_);
            follow(cohort_.granted(boot_clock::now(), c), todo);
            if (member->is_revoked()) { // while it waited
                follow(cohort_.revoked(), todo);
            }
        }
    }
    carry_out(todo);
}

void local_queue::granted(const std::shared_ptr<queue_member>& member, company c,
                          operation_ptr<error_code, unique_lock> op, std::uint64_t least_turn)
{
    chores todo;
    {
        const std::lock_guard lock{mutex_};
        make_way(todo);
        turns_ = std::max(turns_, least_turn);
        holder_ = member;
        const auto v = cohort_.granted(boot_clock::now(), c, true);
        admit(op.release(), todo);
        follow(v, todo);
        if (member->is_revoked()) {
            follow(cohort_.revoked(), todo);
        }
    }
    carry_out(todo);
}

void local_queue::failed(const queue_member& member, const error_code& why)
{
    if (is_contender(member)) {
        fail_all(why);
    }
}

void local_queue::fail_all(const error_code& why)
{
    std::vector<operation_ptr<error_code, unique_lock>> waiting;
    chores todo;
    {
        const std::lock_guard lock{mutex_};
        contender_.reset();
        follow(cohort_.failed(), todo);
        while (!waiting_.empty()) {
            waiting.push_back(take(waiting_.front()));
        }
    }
    for (auto& op : waiting) {
        op.complete(why, unique_lock{core_, {}});
    }
    carry_out(todo);
}

bool local_queue::lost(queue_member& member)
{
    bool held = false;
    chores todo;
    {
        const std::lock_guard lock{mutex_};
        if (holder_.get() == &member) { // else somebody who looked at the clock was here before
            dismiss(todo);
        }
        count_loss(member);
        held = !member.was_idle;
    }
    carry_out(todo);
    return held;
}

bool local_queue::is_contender(const queue_member& member)
{
    const std::lock_guard lock{mutex_};
    return contender_.get() == &member;
}

void local_queue::met(const queue_member& member, company c)
{
    chores todo;
    {
        const std::lock_guard lock{mutex_};
        if (holder_.get() == &member) {
            const auto now = boot_clock::now();
            dismiss_loser(now,
                          todo); // the process may have been stopped since the servers were asked
            follow(cohort_.met(now, c), todo);
        }
    }
    carry_out(todo);
}

void local_queue::connected(const queue_member& member)
{
    chores todo;
    {
        const std::lock_guard lock{mutex_};
        if (holder_.get() == &member) {
            follow(cohort_.look_again(), todo);
        }
    }
    carry_out(todo);
}

void local_queue::revoked(const queue_member& member)
{
    chores todo;
    {
        const std::lock_guard lock{mutex_};
        if (holder_.get() == &member) {
            follow(cohort_.revoked(), todo);
        }
    }
    carry_out(todo);
}

void local_queue::claim(std::int64_t before, std::int64_t now)
{
    if (before == now) {
        return;
    }
    if (before != 0) {
        std::erase(own_nodes_, before);
    }
    if (now != 0) {
        own_nodes_.push_back(now);
    }
}

bool local_queue::is_own(std::int64_t czxid) const noexcept
{
    return std::ranges::find(own_nodes_, czxid) != own_nodes_.end();
}

protocol::directory_memory& local_queue::directory()
{
    if (listed_) {
        return listed_->directory();
    }
    if (const auto session = core_->session(); !directory_ || directory_session_ != session) {
        directory_ = core_->directory_at(path_);
        directory_session_ = session;
    }
    return *directory_;
}

// No timer has run yet in a process that was stopped: the clock is asked before each grant.
void local_queue::dismiss_loser(std::chrono::nanoseconds now, chores& todo)
{
    if (holder_ && holder_->lost(now)) {
        dismiss(todo);
    }
}

// The holder has lost the lock, or makes way for another node. Its node goes with the last guard, or now if there is
// no guard: a node may be kept for a while that nobody uses.
void local_queue::dismiss(chores& todo)
{
    holder_->was_idle = cohort_.is_idle();
    if (holder_->was_idle) {
        todo.more().leaving.push_back({holder_, {}});
        todo.settle = true;
    }
    holder_.reset();
    follow(cohort_.lost(), todo);
}

// Another node of this client was granted. Readers keep the node that they have until they are done. A node that is
// not shared can only have been deleted by hand: the holder has still to hear of that.
void local_queue::make_way(chores& todo)
{
    if (!holder_) {
        return;
    }
    if (!shared_) {
        holder_->robbed();
    }
    dismiss(todo);
}

// ---- what follows

void local_queue::follow(const cohort::verdict& v, chores& todo)
{
    for (std::size_t i = 0; i != v.admit; ++i) {
        admit(take(waiting_.front()).release(), todo);
    }
    if (v.leave) {
        todo.more().leaving.push_back({std::move(holder_), {}});
    }
    look_ |= v.look;
    const bool linger = v.idle && !std::exchange(lingering_, lingering_ || v.idle);
    todo.settle |= v.leave || v.settle || v.look || linger;
}

void local_queue::admit(waiter* op, chores& todo)
{
    if (shared_) {
        shared_turns_.insert(turns_);
    }
    op->tag = turns_++;
    todo.admitted.push_back(*op);
    if (!todo.holder) {
        todo.holder = holder_;
    }
    ++todo.holder->users;
}

// The last thing that is done: whoever is let in may be done, and this object gone, before it returns.
void local_queue::carry_out(chores& todo)
{
    const bool more = todo.settle || todo.on_the_strand;
    const auto self = more ? shared_from_this() : nullptr;
    if (!todo.admitted.empty() && !todo.core) {
        todo.core = core_;
    }
    while (!todo.admitted.empty()) {
        operation_ptr<error_code, unique_lock> op{&todo.admitted.front()};
        todo.admitted.pop_front();
        todo.core->count.locks_granted.fetch_add(1, std::memory_order_relaxed);
        const auto turn = op->tag;
        if (todo.admitted
                .empty()) { // as a rule there is but one, who needs no references of his own
            op.complete({}, unique_lock{std::move(todo.core), {std::move(todo.holder), turn}});
        } else {
            op.complete({}, unique_lock{todo.core, {todo.holder, turn}});
        }
    }
    if (!more) {
        return;
    }
    core_->dispatch([self, rest = std::move(todo.on_the_strand)] {
        errands none;
        self->settle(rest ? *rest : none);
    });
}

// On the strand. Brings about what the cohort wants, which may have changed several times meanwhile.
void local_queue::settle(errands& todo)
{
    if (todo.turn_over) {
        todo.turn_over->turn_over(todo.turn);
    }
    std::shared_ptr<queue_member> unwanted, joining, looking;
    error_code refused;
    {
        const std::lock_guard lock{mutex_};
        if (todo.trace == holder_ || (todo.trace == contender_ && cohort_.wants_contender())) {
            todo.trace.reset(); // it serves others
        }
        if (!cohort_.wants_contender()) {
            unwanted = std::move(contender_);
        } else if (!contender_) {
            refused = core_->unavailable();
            if (!refused) {
                joining = contender_ = std::make_shared<queue_member>(shared_from_this());
            }
        }
        if (std::exchange(look_, false)) {
            looking = holder_;
        }
        if (lingering_ && !linger_timer_) {
            linger_timer_.emplace(core_->strand());
            wait_to_give_up();
        }
    }
    const client_core::batch together{*core_};
    const auto leave = [&] {
        for (auto& each : todo.leaving) {
            if (each.unlocking) {
                each.member->unlock(std::move(each.unlocking));
            } else {
                each.member->leave();
            }
        }
    };
    const bool drains = std::ranges::any_of(
        todo.leaving, [](const errands::departure& each) { return each.member->drains(); });
    if (!joining) {
        leave();
    } else if (drains || joining->expects_nobody()) {
        // Behind the end of the directory, which it would have kept; or to be alone in it.
        leave();
        joining->join({});
    } else {
        // The new place first: requests that are sent together need not be carried out together, and the next
        // one might have its turn, and be in the queue again, before this client is.
        joining->join(leave);
    }
    if (todo.parting && todo.trace) {
        todo.trace->part(std::move(todo.parting));
    } else if (todo.parting) {
        todo.parting.complete(asio::error::operation_aborted, unique_lock{core_, {}});
    }
    if (unwanted) {
        unwanted->leave();
    }
    if (looking) {
        looking->look();
    }
    if (refused) {
        core_->note_error("lock " + path_ + ": " + refused.message());
        fail_all(refused);
    }
}

// One timer for all the times when nobody uses the node: most are too short for it.
void local_queue::wait_to_give_up()
{
    linger_timer_->expires_after(cohort_.linger_end() - boot_clock::now());
    linger_timer_->async_wait([weak = weak_from_this()](const error_code& ec) {
        const auto self = weak.lock();
        if (!self || ec) {
            return;
        }
        chores todo;
        {
            const std::lock_guard lock{self->mutex_};
            const auto v = self->cohort_.linger_over(boot_clock::now());
            if (v.idle) {
                self->wait_to_give_up();
            } else {
                self->lingering_ = false;
                self->linger_timer_.reset();
            }
            self->follow(v, todo);
        }
        self->carry_out(todo);
    });
}

void local_queue::discarded() noexcept
{
    std::vector<operation_ptr<error_code, unique_lock>> waiting;
    std::shared_ptr<queue_member> contender, holder;
    {
        const std::lock_guard lock{mutex_};
        while (!waiting_.empty()) {
            waiting.push_back(take(waiting_.front()));
        }
        contender.swap(contender_);
        holder.swap(holder_);
        linger_timer_.reset();
    }
}

} // namespace colock::detail
