// The calls of a local_queue's users: lock, try, cancel, release, step down.
#include "lock/local/local_queue_outcome.hpp"
#include "lock/no_lock.hpp"
#include "recycled.hpp"

#include <utility>

namespace colock::detail {

namespace {

using protocol::cohort;

cohort::rules rules_of(const contender_owner& owner)
{
    const auto& o = owner.options();
    return {.shared = owner.is_shared(),
            .max_grants = o.max_local_grants,
            .max_time = o.max_local_time,
            .linger = owner.linger(),
            .max_linger = o.max_linger};
}

std::shared_ptr<users_of_path> users_for_log(const client_core& core, lock_kind kind)
{
    // A standby waits for long in an election, and who needs a permit in a semaphore's queue.
    const bool wanted = core.logs(log_level::info) && kind != lock_kind::election &&
                        kind != lock_kind::semaphore_queue;
    return wanted ? std::make_shared<users_of_path>() : nullptr;
}

std::unique_ptr<const observed_path> observed_path_of(const contender_owner& owner)
{
    auto* const to = owner.core()->telemetry();
    return to != nullptr && owner.kind() != lock_kind::semaphore_queue
               ? std::make_unique<const observed_path>(
                     observed_path{*to, owner.path(), observed_kind(owner.kind())})
               : nullptr;
}

} // namespace

local_queue::local_queue(std::shared_ptr<client_core> core, lock_config_ptr config)
    : contender_owner{std::move(core), std::move(config), false},
      own_observed_path_{observed_path_of(*this)}, observed_{own_observed_path_.get()},
      logs_{core_->logs(log_level::debug)}, users_here_{users_for_log(*core_, kind())},
      notes_wait_times_{logs_ || users_here_}, cohort_{rules_of(*this)}
{
    listens_ = logs_ || observed_ != nullptr;
}

local_queue::local_queue(std::shared_ptr<local_queue> in_table, bool shared)
    : contender_owner{in_table->core_, in_table->config_, shared},
      queue_in_table_{std::move(in_table)}, observed_{queue_in_table_->observed_},
      logs_{queue_in_table_->logs_}, users_here_{queue_in_table_->users_here_},
      notes_wait_times_{queue_in_table_->notes_wait_times_}, cohort_{rules_of(*this)}
{
    listens_ = logs_ || observed_ != nullptr;
}

local_queue::~local_queue()
{
    discarded();
    if (!queue_in_table_) {
        core_->forget_path(path());
    }
}

std::shared_ptr<local_queue> local_queue::readers()
{
    if (queue_in_table_) { // this one is for a single user
        return queue_in_table_->readers();
    }
    if (options().max_local_grants == 0) { // likewise
        return make(shared_from_this(), true);
    }
    const std::lock_guard lock{mutex_};
    auto found = readers_.lock();
    if (!found) {
        readers_ = found = make(shared_from_this(), true);
    }
    return found;
}

// ---- users

void local_queue::lock(operation_ptr<error_code, unique_lock> op, deadline until)
{
    if (observed_ != nullptr && op->observed.of == nullptr) {
        observed_->to.begin(op->observed, *observed_, shared_);
    }
    if (!queue_in_table_ && options().max_local_grants == 0 &&
        kind() != lock_kind::single_node_mutex) {
        // Each user has a contender of its own. Where there is no queue, users take turns with the one node instead.
        make(shared_from_this(), false)->lock(std::move(op), until);
        return;
    }
    if (until != never && until <= std::chrono::steady_clock::now()) {
        op->observed.tries = true; // read by an observer only
        try_lock(std::move(op));
        return;
    }
    if (until != never || op.cancellation()) {
        op->make_link(core_).enter(weak_from_this());
    }
    std::unique_lock lock{mutex_};
    cohort::actions v;
    // Nobody is let into a full cohort, so arrive() does not look at the time, and need not be told it.
    if (cohort_.is_full() && !cohort_.arrive({}, v)) {
        wait(std::move(op), until,
             notes_wait_times_ ? boot_clock::now() : std::chrono::nanoseconds{});
        if (v == cohort::actions{}) {
            const auto self = kept_for_log();
            lock.unlock();
            if (self) {
                self->report();
            }
            return;
        }
    }
    outcome out;
    bool waits = true;
    if (op) { // NOLINT(bugprone-use-after-move): empty when it was moved
        const auto now = out.time();
        drop_lost_holder(now, out);
        waits = !cohort_.arrive(now, v);
        if (waits) {
            wait(std::move(op), until, now);
        } else {
            admit(op.release(), out);
        }
    }
    apply(v, out);
    out.self = waits ? shared_from_this() : kept_for_log();
    lock.unlock();
    carry_out(out);
}

void local_queue::try_lock(operation_ptr<error_code, unique_lock> op)
{
    using answer = cohort::answer;
    auto found = answer::ask_servers;
    outcome out;
    if (core_->connection_id() != 0) { // else a try has no say, whatever is known here
        const std::lock_guard lock{mutex_};
        const auto now = out.time();
        drop_lost_holder(now, out);
        cohort::actions v;
        found = cohort_.try_arrive(now, v);
        if (found == answer::admitted) {
            admit(op.release(), out);
        }
        apply(v, out);
        out.self = kept_for_log();
    }
    carry_out(out);
    if (found == answer::busy) {
        if (op->told() != nullptr) {
            op->tell("lock " + path() + ": a user of this client has it, or waits for it");
        }
        op.complete({}, no_lock(core_));
    } else if (found == answer::ask_servers) {
        ask(std::move(op));
    }
}

// No user of this client has the lock. Each try asks the servers with a contender of its own.
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
            op.complete(asio::error::operation_aborted, no_lock(core));
        } else if (refused) {
            const auto why = "lock " + self->path() + ": " + refused.message();
            core->note_error(why);
            refuse(core, std::move(op), refused, why);
        } else {
            make_recycled<contender_driver>(self)->try_join(std::move(op));
        }
    });
}

void local_queue::wait(operation_ptr<error_code, unique_lock> op, deadline until,
                       std::chrono::nanoseconds now)
{
    auto* const raw = op.release();
    waiting_.push_back(*raw);
    note_wait(*raw, now);
    if (until != never && raw->told() != nullptr) {
        listens_.store(true, std::memory_order_relaxed);
    }
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
    if (waiting_.empty() && !logs_ && observed_ == nullptr) { // nobody listens any more
        listens_.store(false, std::memory_order_relaxed);
        notes_.reset(); // nobody tells what changes from here on
    }
    return operation_ptr<error_code, unique_lock>{&op};
}

void local_queue::cancel(cancel_link& of, asio::cancellation_type type)
{
    withdraw(of, asio::error::operation_aborted, ends_at_once(type));
}

void local_queue::deadline_reached(cancel_link& of)
{
    // Without a connection nobody knows whether the lock is busy.
    withdraw(of, core_->connection_id() != 0 ? error_code{} : errc::disconnected, true);
}

// Takes a waiter out of the queue. It completes now, or, without `answer_now`, when its contender has left.
void local_queue::withdraw(cancel_link& of, const error_code& answer, bool answer_now)
{
    operation_ptr<error_code, unique_lock> op;
    outcome out;
    {
        const std::lock_guard lock{mutex_};
        if (of.waiting == nullptr) {
            return; // it came too late
        }
        auto& leaving = *static_cast<waiter*>(of.waiting);
        note_end_of_wait(leaving, answer);
        observe_holder(leaving);
        op = take(leaving);
        const auto v = cohort_.withdraw();
        apply(v, out);
        if ((v.reconcile || v.leave) && !answer_now) {
            of.leave();                             // a terminal request may follow
            out.strand().cancelled = std::move(op); // the node goes with the last one
            out.strand().cancelled_with = v.leave ? out.strand().leaving.back().driver : contender_;
        }
        out.self = kept_for_log();
    }
    carry_out(out);
    if (op) { // NOLINT(bugprone-use-after-move): empty when it was moved
        op.complete(answer, no_lock(core_));
    }
}

void local_queue::release(std::shared_ptr<client_core>&& core, grant&& held)
{
    input([&](outcome& out) {
        out.core = std::move(core);
        end_turn(held, out);
    });
}

void local_queue::unlock(operation_ptr<error_code> op, grant&& held)
{
    error_code result;
    input([&](outcome& out) {
        result = end_turn(held, out);
        if (!result && out.on_the_strand && !out.strand().leaving.empty()) {
            out.strand().leaving.back().unlocking = std::move(op);
        }
    });
    if (op) {
        op.complete(result);
    }
}

void local_queue::step_down(operation_ptr<error_code, unique_lock> op, grant&& held)
{
    if (observed_ != nullptr) {
        observed_->to.begin(op->observed, *observed_, true);
    }
    input([&](outcome& out) {
        take_user_off(*held.driver, held.turn, held.driver->lost(), out);
        if (holder_ == held.driver) { // else it is lost
            holder_.reset();
            apply(cohort_.lost(), out);
        }
    });
    // The driver first: the queue that it keeps outlives the operation.
    core_->dispatch([driver = std::move(held.driver), op = std::move(op),
                     turn = held.turn]() mutable { driver->step_down(std::move(op), turn); });
}

void local_queue::discarded() noexcept
{
    std::vector<operation_ptr<error_code, unique_lock>> waiting;
    std::shared_ptr<contender_driver> contender, holder;
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
