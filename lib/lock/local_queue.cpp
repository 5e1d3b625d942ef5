// The calls of a local_queue's users: lock, try, cancel, release, step down.
#include "lock/holder_query.hpp"
#include "lock/local_queue_outcome.hpp"
#include "queue/no_lock.hpp"
#include "report/waiting_report.hpp"
#include "session/end_of_wait.hpp"
#include "zk/recycled.hpp"

#include <utility>

namespace colock::detail {

namespace {

using protocol::cohort;

// How long an unused node is kept. A shared one is not.
std::chrono::milliseconds linger_of(const lock_options& o, bool shared)
{
    return shared ? std::chrono::milliseconds{0} : o.linger;
}

cohort::rules rules_of(const lock_options& o, bool shared)
{
    return {.shared = shared,
            .max_grants = o.max_local_grants,
            .max_time = o.max_local_time,
            .linger = linger_of(o, shared),
            .max_linger = o.max_linger};
}

} // namespace

local_queue::local_queue(std::shared_ptr<client_core> core, lock_config_ptr config)
    : core_{std::move(core)}, config_{std::move(config)}, shared_{false},
      report_{core_, config_, listens}, cohort_{rules_of(options(), false)}
{
}

local_queue::local_queue(std::shared_ptr<local_queue> in_table, bool shared)
    : core_{in_table->core_}, config_{in_table->config_}, shared_{shared},
      queue_in_table_{std::move(in_table)}, report_{queue_in_table_->report_, shared, listens},
      cohort_{rules_of(options(), shared)}
{
}

std::shared_ptr<contender_driver> local_queue::make_contender()
{
    const auto linger = linger_of(options(), shared_);
    return make_recycled<contender_driver>(*core_, config_, shared_, linger > linger.zero(),
                                           shared_from_this());
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
    if (options().max_local_grants == 0) { // each user has one of its own
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
    report_.begins(op->observed, shared_);
    if (!queue_in_table_ && options().max_local_grants == 0 && kind().has_queue) {
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
             report_.notes_times() ? boot_clock::now() : std::chrono::nanoseconds{});
        if (v == cohort::actions{}) {
            const auto self = self_if_reporting();
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
    out.self = waits ? shared_from_this() : self_if_reporting();
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
        out.self = self_if_reporting();
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
            self->make_contender()->try_join(std::move(op));
        }
    });
}

void local_queue::wait(operation_ptr<error_code, unique_lock> op, deadline until,
                       std::chrono::nanoseconds now)
{
    auto* const raw = op.release();
    waiting_.push_back(*raw);
    report_.waits(*raw, until != never, now, situation());
    if (report_.notes_times() && !std::exchange(reminded_, true)) {
        needs_reminder_.store(true, std::memory_order_relaxed);
    }
    const auto& link = raw->cancellation();
    if (!link) {
        return;
    }
    link->waiting = raw;
    if (until != never) {
        link->deadline.emplace(core_->executor());
        wait_for_deadline(link, until);
    }
}

void local_queue::wait_for_deadline(const cancel_link_ptr& link, deadline until)
{
    const auto question = until - protocol::question_before_end;
    const bool asks = std::chrono::steady_clock::now() < question;
    link->deadline->expires_at(asks ? question : until);
    link->deadline->async_wait([weak = weak_from_this(), link, until, asks](const error_code& ec) {
        const auto self = weak.lock();
        if (!self || ec || self->core_->is_inherited()) {
            return;
        }
        if (!asks) {
            self->deadline_reached(*link);
            return;
        }
        self->core_->ask_for_end_of_wait();
        const std::lock_guard lock{self->mutex_};
        if (link->waiting != nullptr) {
            self->wait_for_deadline(link, until);
        }
    });
}

operation_ptr<error_code, unique_lock> local_queue::take(waiter& op) noexcept
{
    waiting_.erase(waiting_.iterator_to(op));
    if (const auto& link = op.cancellation()) {
        link->waiting = nullptr;
        link->deadline.reset();
    }
    if (waiting_.empty()) {
        report_.nobody_waits();
    }
    return operation_ptr<error_code, unique_lock>{&op};
}

void local_queue::cancel(cancel_link& of, asio::cancellation_type type)
{
    withdraw(of, asio::error::operation_aborted, ends_at_once(type));
}

void local_queue::deadline_reached(cancel_link& of)
{
    if (core_->is_inherited()) {
        return; // the deadline's timer is on the user's executor, which a child may run
    }
    auto why = core_->end_of_wait();
    if (why ==
        errc::no_answer) { // a user of this client has the lock, whatever the servers would say
        const std::lock_guard lock{mutex_};
        if (holder_ && cohort_.users() != 0 && !holder_->lost(boot_clock::now())) {
            why = {};
        }
    }
    withdraw(of, why, true);
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
        report_.gives_up(leaving, answer, situation(), waiters_before(leaving));
        op = take(leaving);
        const auto v = cohort_.withdraw();
        apply(v, out);
        if ((v.reconcile || v.leave) && !answer_now) {
            of.leave();                             // a terminal request may follow
            out.strand().cancelled = std::move(op); // the node goes with the last one
            out.strand().cancelled_with = v.leave ? out.strand().leaving.back().driver : contender_;
        }
        out.self = self_if_reporting();
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
        op->explain(result, [&] { return words_about("lock " + path(), result); });
        op.complete(result);
    }
}

void local_queue::step_down(operation_ptr<error_code, unique_lock> op, grant&& held)
{
    report_.begins(op->observed, true);
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

// ---- for the log

path_report::situation local_queue::situation() const
{
    return {.held_here = holder_ && cohort_.users() != 0,
            .waiting = cohort_.waiting(),
            .has_contender = contender_ != nullptr};
}

std::size_t local_queue::waiters_before(const waiter& op) const
{
    return static_cast<std::size_t>(std::distance(waiting_.begin(), waiters::s_iterator_to(op)));
}

std::shared_ptr<local_queue> local_queue::self_if_reporting()
{
    return needs_reminder_.load(std::memory_order_relaxed) || report_.has_lines()
               ? shared_from_this()
               : nullptr;
}

void local_queue::report()
{
    report_.send();
    if (needs_reminder_.load(std::memory_order_relaxed) && needs_reminder_.exchange(false)) {
        core_->post([weak = weak_from_this()] {
            if (const auto self = weak.lock()) {
                self->begin_reminders();
            }
        });
    }
}

void local_queue::begin_reminders()
{
    std::chrono::nanoseconds first{0};
    {
        const std::lock_guard lock{mutex_};
        reminded_ = !waiting_.empty() && !core_->unavailable();
        if (!reminded_) {
            return;
        }
        first = std::chrono::nanoseconds{waiting_.front().tag} + protocol::first_waiting_report;
    }
    core_->remind(weak_from_this(), first);
}

std::optional<std::chrono::nanoseconds> local_queue::remind(std::chrono::nanoseconds now)
{
    using protocol::first_waiting_report;
    std::chrono::nanoseconds next{0};
    std::optional<std::size_t> asks;
    {
        const std::lock_guard lock{mutex_};
        reminded_ = !waiting_.empty() && !core_->unavailable();
        if (!reminded_) {
            return std::nullopt;
        }
        const std::chrono::nanoseconds began{waiting_.front().tag};
        next = protocol::next_waiting_report(began, now);
        if (now - began >= first_waiting_report) {
            next = std::max(
                next,
                now +
                    first_waiting_report); // each waiter of a queue that moves may wait for so long
            report_.suspect(began, now);
            asks = report_.asks_who_holds(situation());
            if (!asks) {
                report_.still_waits(began, now, situation());
            } else if (std::exchange(asking_, true)) {
                asks.reset();
            }
        }
    }
    if (asks) {
        ask_who_holds(*asks);
    }
    report_.send();
    return next;
}

void local_queue::ask_who_holds(std::size_t before)
{
    std::shared_ptr<contender_driver> contender;
    {
        const std::lock_guard lock{mutex_};
        contender = contender_;
    }
    ask_first_in_queue(
        core_, path(), *options().layout, std::string{contender ? contender->own_name() : ""},
        [weak = weak_from_this(), contender = std::weak_ptr{contender},
         before](std::optional<asked_holder> found) {
            const auto self = weak.lock();
            if (!self) {
                return;
            }
            {
                const std::lock_guard lock{self->mutex_};
                self->asking_ = false;
                if (self->waiting_.empty()) {
                    return;
                }
                // Else the first one may be the waiters' own node by now.
                if (self->contender_ == contender.lock()) {
                    self->report_.found_holder(before, std::move(found));
                }
                self->report_.still_waits(std::chrono::nanoseconds{self->waiting_.front().tag},
                                          boot_clock::now(), self->situation());
            }
            self->report_.send();
        });
}

} // namespace colock::detail
