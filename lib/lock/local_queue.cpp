#include "lock/local_queue.hpp"

#include "queue/no_lock.hpp"
#include "session/end_of_wait.hpp"

#include <new>
#include <optional>

namespace colock::detail {

using protocol::cohort;

cohort::rules local_queue::rules() const
{
    const auto& o = options();
    return {.shared = shared_,
            .max_grants = o.max_local_grants,
            .max_time = o.max_local_time,
            .linger = linger(),
            .max_linger = o.max_linger};
}

local_queue::local_queue(std::shared_ptr<client_core> core, lock_config_ptr config)
    : core_{std::move(core)}, config_{std::move(config)}, shared_{false},
      report_{core_, config_, contenders_.listens}, users_{rules()}
{
}

local_queue::local_queue(std::shared_ptr<local_queue> in_table, bool shared)
    : core_{in_table->core_}, config_{in_table->config_}, shared_{shared},
      queue_in_table_{std::move(in_table)},
      report_{queue_in_table_->report_, shared, contenders_.listens}, users_{rules()}
{
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

// ---- users come

void local_queue::lock(operation_ptr<error_code, unique_lock> op, deadline until)
{
    report_.begins(op->observed, shared_);
    if (!queue_in_table_ && options().max_local_grants == 0 && kind().has_queue) {
        // Each user has a contender of its own. Where there is no queue, users take turns with the one node instead.
        make(shared_from_this(), false)->lock(std::move(op), until);
        return;
    }
    if (until != never && until <= std::chrono::steady_clock::now()) {
        if (queue_in_table_ && core_->connection_id() != 0) { // else the try has no say
            queue_in_table_->give_up_idle_node();
        }
        op->observed.tries = true; // read by an observer only
        try_lock(std::move(op));
        return;
    }
    if (until != never || op.cancellation()) {
        op->make_link(core_).enter(weak_from_this());
    }
    input([&](outcome& out) {
        const auto now = out.time();
        drop_lost_holder(now, out);
        auto& user = *op.release();
        if (users_.arrive(user, now, out)) {
            wait(user, until, now);
        }
    });
}

// It would be in the way of a try with a node of its own.
void local_queue::give_up_idle_node()
{
    input([&](outcome& out) {
        if (users_.holder() && !users_.known().held_here && users_.first() == nullptr) {
            users_.met(protocol::remote_contention::some, out.time(), out);
        }
    });
}

void local_queue::try_lock(operation_ptr<error_code, unique_lock> op)
{
    using answer = cohort::answer;
    auto found = answer::ask_servers;
    if (core_->connection_id() != 0) { // else a try has no say, whatever is known here
        input([&](outcome& out) {
            drop_lost_holder(out.time(), out);
            found = users_.try_arrive(*op.operator->(), out.time(), out);
            if (found == answer::admitted) {
                static_cast<void>(op.release());
            }
        });
    }
    if (found == answer::busy) {
        if (op->told() != nullptr) {
            op->tell("lock " + path() + ": a user of this client has it, or waits for it");
        }
        op.complete({}, no_lock(core_));
    } else if (found == answer::ask_servers) {
        core_->dispatch([self = shared_from_this(), op = std::move(op)]() mutable {
            self->contenders_.try_servers(std::move(op));
        });
    }
}

// ---- users wait

void local_queue::wait(waiter& op, deadline until, std::chrono::nanoseconds now)
{
    report_.waits(op, until != never, now, users_.known());
    if (report_.notes_times()) {
        long_waits_.begin();
    }
    const auto& link = op.cancellation();
    if (!link) {
        return;
    }
    link->waiting = &op;
    if (until != never) {
        link->deadline.emplace(core_->executor());
        wait_for_deadline(link, until);
    }
}

void local_queue::wait_no_longer(const waiter& op) noexcept
{
    if (const auto& link = op.cancellation()) {
        link->waiting = nullptr;
        link->deadline.reset();
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
            return; // a child may run the user's executor, which the timer is on
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

void local_queue::cancel(cancel_link& of, asio::cancellation_type type)
{
    withdraw(of, asio::error::operation_aborted, ends_at_once(type));
}

void local_queue::deadline_reached(cancel_link& of)
{
    auto why = core_->end_of_wait();
    if (why == errc::no_answer) {
        // A user of this client has the lock, whatever the servers would say.
        const std::lock_guard lock{mutex_};
        if (users_.known().held_here && !driver_of(users_.holder())->lost()) {
            why = {};
        }
    }
    withdraw(of, why, true);
}

// Takes a waiter out of the queue. It completes now, or, without `answer_now`, when its contender has left.
void local_queue::withdraw(cancel_link& of, const error_code& answer, bool answer_now)
{
    operation_ptr<error_code, unique_lock> op;
    std::optional<local_users::node> trace;
    input([&](outcome& out) {
        if (of.waiting == nullptr) {
            return; // it came too late
        }
        auto& leaving = *static_cast<waiter*>(of.waiting);
        report_.gives_up(leaving, answer, users_);
        trace = users_.withdraw(leaving, out);
        if (trace && !answer_now) {
            of.leave(); // a terminal request may follow
        }
        wait_no_longer(leaving);
        if (users_.first() == nullptr) {
            report_.nobody_waits();
        }
        op = operation_ptr<error_code, unique_lock>{&leaving};
    });
    if (op && trace && !answer_now) { // the node goes with the last one
        core_->dispatch(
            [self = shared_from_this(), op = std::move(op), with = std::move(*trace)]() mutable {
                self->contenders_.end_cancelled(std::move(op), with);
            });
    } else if (op) {
        op.complete(answer, no_lock(core_));
    }
}

// ---- users are done

void local_queue::release(std::shared_ptr<client_core>&& core, grant&& held)
{
    input([&](outcome& out) {
        out.core = std::move(core);
        out.in_background = true;
        end_turn(held, out);
    });
}

void local_queue::unlock(operation_ptr<error_code> op, grant&& held)
{
    const auto config = config_; // of a lock that is lost, the last guard may have kept this queue
    error_code result;
    input([&](outcome& out) {
        result = end_turn(held, out);
        if (!result && !out.leaving.empty()) {
            out.unlocking = std::move(op);
        }
    });
    if (op) {
        op->explain(result, [&] { return words_about("lock " + config->path, result); });
        op.complete(result);
    }
}

void local_queue::step_down(operation_ptr<error_code, unique_lock> op, grant&& held)
{
    report_.begins(op->observed, true);
    input([&](outcome& out) {
        auto& driver = *held.driver;
        report_.turn_ends(driver, held.turn, driver.lost(out.time()), driver.remaining(out.time()),
                          out.reported);
        users_.step_down(held.driver, out);
    });
    const auto by = held.driver;
    // The driver first: the queue that it keeps outlives the operation.
    if (!core_->try_dispatch(
            [driver = std::move(held.driver), op = std::move(op), turn = held.turn]() mutable {
                driver->step_down(std::move(op), turn);
            })) {
        locked([&] { by->is_left = true; }); // nobody else releases the lock
        core_->catch_up_later();
        throw std::bad_alloc{};
    }
}

// Returns why the lock is lost, if it is.
error_code local_queue::end_turn(grant& held, outcome& out)
{
    auto& driver = *held.driver;
    const auto now = out.time();
    const auto why = driver.lost(now);
    if (driver.is_turn_awaited() && !why) {
        out.turn_over = held.driver;
        out.turn_ended = held.turn;
    }
    report_.turn_ends(driver, held.turn, why, driver.remaining(now), out.reported);
    out.reported.source = grant_source::handed_off;
    users_.end_turn(std::move(held.driver), held.turn, static_cast<bool>(why), now, out);
    if (!why) {
        report_.released(!out.leaving.empty(), !out.admitted.empty());
        if (out.leaving.empty() && out.admitted.empty() && users_.first() != nullptr) {
            report_.hand_off_waits(out.reported);
        }
    }
    return why;
}

void local_queue::wait_lost(operation_ptr<error_code, error_code> op, contender_driver& by,
                            std::uint64_t turn)
{
    by.await_turns();
    by.wait_lost(std::move(op), turn, locked([&] { return users_.has_turn(by, turn); }));
}

void local_queue::wait_revoked(operation_ptr<error_code> op, contender_driver& by,
                               std::uint64_t turn)
{
    by.await_turns();
    by.wait_revoked(std::move(op), turn, locked([&] { return users_.has_turn(by, turn); }));
}

// ---- what happens to a contender

void local_queue::granted(contender_driver& to, protocol::remote_contention c,
                          operation_ptr<error_code, unique_lock> op, std::uint64_t least_turn)
{
    const auto driver = to.shared_from_this();
    input([&](outcome& out) {
        if (!op && users_.contender() != driver) { // it has failed, or no waiter wants it any more
            out.leaving.push_back(driver);
            return;
        }
        if (const auto& former = users_.holder()) {
            // Another node of this client. Readers keep the one that they have until they are done. A node that is not shared
            // can only have been deleted by somebody else: the holder has still to hear of that.
            if (!shared_) {
                driver_of(former)->note_node_deleted();
            }
            users_.lose_holder(out);
        }
        if (op) {
            out.reported.source = grant_source::free;
        } else {
            report_.contender_granted(out.reported);
        }
        users_.begin_turns_at(least_turn);
        users_.granted(driver, op.release(), c, out.time(), out);
        core_->count.granted_by_servers.fetch_add(out.admitted.size(), std::memory_order_relaxed);
        if (driver->is_revoked()) { // while it waited
            users_.revoked(out);
        }
    });
}

void local_queue::heard(const contender_driver& from, const contender_event& e)
{
    input([&](outcome& out) {
        if (users_.holder().get() != &from) {
            return;
        }
        if (e.what == contender_event::kind::connected) {
            users_.look_again(out);
        } else if (e.what == contender_event::kind::revoked) {
            users_.revoked(out);
        } else {
            // The process may have been stopped since the servers were asked.
            drop_lost_holder(out.time(), out);
            users_.met(e.contention, out.time(), out);
        }
    });
}

void local_queue::lost(contender_driver& driver)
{
    input([&](outcome& out) {
        if (users_.holder().get() ==
            &driver) { // else a user who looked at the clock was here before
            users_.lose_holder(out);
        }
        report_.node_lost(driver, driver.lost(out.time()), driver.remaining(out.time()),
                          out.reported);
    });
}

// No timer has run yet in a process that was stopped: the clock is asked before each grant.
void local_queue::drop_lost_holder(std::chrono::nanoseconds now, outcome& out)
{
    const auto* const holder = static_cast<const contender_driver*>(users_.holder().get());
    if (holder != nullptr && holder->lost(now)) {
        users_.lose_holder(out);
    }
}

void local_queue::fail_all(const error_code& ec, const std::string& why)
{
    local_users::waiters failed;
    input([&](outcome& out) {
        report_.fails(ec, users_.known());
        failed = users_.fail(out);
        for (auto& each : failed) {
            report_.name_holder(each);
            wait_no_longer(each);
        }
        report_.nobody_waits();
        report_.forget_contender();
    });
    while (!failed.empty()) {
        operation_ptr<error_code, unique_lock> op{&failed.front()};
        failed.pop_front();
        refuse(core_, std::move(op), ec, why);
    }
}

void local_queue::discarded() noexcept
{
    auto all = locked([&] {
        auto taken = users_.take_all();
        for (const auto& each : taken.waiting) {
            wait_no_longer(each);
        }
        contenders_.discard();
        return taken;
    });
    while (!all.waiting.empty()) {
        const operation_ptr<error_code, unique_lock> op{&all.waiting.front()};
        all.waiting.pop_front();
    }
}

// ---- what follows

// Under the mutex: what reports are made of.
void local_queue::note(outcome& out)
{
    if (out.has_user_gone) {
        report_.user_leaves();
    }
    for (auto& each : out.admitted) {
        wait_no_longer(each);
        const auto waited_since = std::exchange(each.tag, out.turn++);
        report_.granted(each, waited_since, *out.holder, out.reported, out.time());
    }
    if (!out.admitted.empty() && users_.first() == nullptr) {
        report_.nobody_waits();
    }
    // A holder keeps its queue.
    if (out.concerns_strand() || (!out.reported.ended.empty() && !out.holder) ||
        long_waits_.is_due() || report_.has_lines()) {
        out.self = shared_from_this();
    }
}

// The last thing that is done: a user who is admitted may be done, and this object gone, before it returns.
void local_queue::carry_out(outcome& out)
{
    const auto self = std::move(out.self);
    if (self) { // neither fails where there is no memory, so a release goes on
        report_.send();
        long_waits_.ask_for_reminder();
    }
    if (!out.reported.ended.empty()) {
        report_.tell(out.reported, out.time());
    }
    if (!out.admitted.empty()) {
        const bool inside = !kind().queue_of.empty();
        auto core = out.core ? out.core : core_;
        auto driver = driver_of(std::move(out.holder));
        while (!out.admitted.empty()) {
            operation_ptr<error_code, unique_lock> op{&out.admitted.front()};
            out.admitted.pop_front();
            (inside ? core->count.granted_inside : core->count.locks_granted)
                .fetch_add(1, std::memory_order_relaxed);
            const auto turn = op->tag;
            // As a rule there is but one, which needs no references of its own.
            if (out.admitted.empty()) {
                op.complete(
                    {}, access::make<unique_lock>(std::move(core), grant{std::move(driver), turn}));
                break;
            }
            op.complete({}, access::make<unique_lock>(core, grant{driver, turn}));
        }
    }
    if (out.concerns_strand()) {
        enter_strand(out, self);
    }
}

// A guard's destructor must not lose a release because there is no memory to post it: the next heartbeat goes on with it.
void local_queue::enter_strand(outcome& out, const std::shared_ptr<local_queue>& self)
{
    const auto leaving = out.leaving;
    const bool in_background = out.in_background || (out.has_user_gone && !out.unlocking);
    auto work = [self, work = contender_work{std::move(out.leaving), std::move(out.unlocking),
                                             std::move(out.turn_over), out.turn_ended}]() mutable {
        self->contenders_.reconcile(work);
    };
    if (core_->try_dispatch(std::move(work))) {
        return;
    }
    locked([&] {
        for (const auto& each : leaving) {
            each->is_left = true;
        }
    });
    core_->catch_up_later();
    if (!in_background) {
        throw std::bad_alloc{};
    }
}

} // namespace colock::detail
