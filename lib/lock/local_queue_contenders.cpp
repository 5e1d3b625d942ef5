// The contenders of a local_queue: how they are granted and lost, and the turns that users have on them.
#include "lock/local_queue_outcome.hpp"
#include "queue/no_lock.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace colock::detail {

using protocol::remote_contention;

// ---- contenders

void local_queue::happened(contender_driver& to, contender_event&& e)
{
    switch (e.what) {
    case contender_event::kind::connected:
        holder_input(to, [&](outcome& out) { apply(cohort_.look_again(), out); });
        break;
    case contender_event::kind::blocked: {
        {
            const std::lock_guard lock{mutex_};
            if (contender_.get() == &to) {
                report_.blocked(std::move(e.ahead), situation());
            }
        }
        report_.send();
        break;
    }
    case contender_event::kind::met:
        holder_input(to, [&](outcome& out) {
            // The process may have been stopped since the servers were asked.
            drop_lost_holder(out.time(), out);
            apply(cohort_.met(out.time(), e.contention), out);
        });
        break;
    case contender_event::kind::granted: granted(to, e.contention, std::move(e.op)); break;
    case contender_event::kind::failed: failed(to, e.error, e.why); break;
    case contender_event::kind::revoked:
        holder_input(to, [&](outcome& out) { apply(cohort_.revoked(), out); });
        break;
    case contender_event::kind::stepped_down: {
        const auto self = shared_from_this(); // the driver keeps it no longer
        const auto heirs = readers();
        to.serve(heirs);
        const auto turn = e.op->tag; // turns go on from it: tokens never get smaller
        heirs->granted(to, e.contention, std::move(e.op), turn);
        break;
    }
    case contender_event::kind::lost: lost(to); break;
    case contender_event::kind::closed: fail_all(e.error, e.why); break;
    case contender_event::kind::discarded: discarded(); break;
    }
}

// For `op`, or for those who wait.
void local_queue::granted(contender_driver& to, remote_contention c,
                          operation_ptr<error_code, unique_lock> op, std::uint64_t least_turn)
{
    const auto driver = to.shared_from_this();
    input([&](outcome& out) {
        if (!op && contender_ != driver) { // it has failed, or no waiter wants it any more
            out.strand().leaving.push_back({driver, {}});
            return;
        }
        drop_former_holder(out);
        holder_ = driver;
        turns_ = std::max(turns_, least_turn);
        const auto v = cohort_.granted(out.time(), c, static_cast<bool>(op));
        core_->count.granted_by_servers.fetch_add(v.admit + (op ? 1 : 0),
                                                  std::memory_order_relaxed);
        out.reported.source = grant_source::free;
        if (op) {
            admit(op.release(), out);
        } else {
            report_.contender_granted(out.reported);
            contender_.reset();
        }
        apply(v, out);
        if (driver->is_revoked()) { // while it waited
            apply(cohort_.revoked(), out);
        }
    });
}

void local_queue::failed(const contender_driver& driver, const error_code& ec,
                         const std::string& why)
{
    std::unique_lock lock{mutex_};
    if (contender_.get() == &driver) {
        lock.unlock();
        fail_all(ec, why);
    }
}

void local_queue::fail_all(const error_code& ec, const std::string& why)
{
    std::vector<operation_ptr<error_code, unique_lock>> waiting;
    input([&](outcome& out) {
        report_.fails(ec, situation());
        contender_.reset();
        apply(cohort_.failed(), out);
        while (!waiting_.empty()) {
            report_.name_holder(waiting_.front());
            waiting.push_back(take(waiting_.front()));
        }
        report_.forget_contender();
    });
    for (auto& op : waiting) {
        refuse(core_, std::move(op), ec, why);
    }
}

void local_queue::lost(contender_driver& driver)
{
    input([&](outcome& out) {
        if (holder_.get() == &driver) { // else a user who looked at the clock was here before
            drop_holder(out);
        }
        count_loss(driver, driver.lost(out.time()), out);
    });
}

// No timer has run yet in a process that was stopped: the clock is asked before each grant.
void local_queue::drop_lost_holder(std::chrono::nanoseconds now, outcome& out)
{
    if (holder_ && holder_->lost(now)) {
        drop_holder(out);
    }
}

// The holder has lost the lock, or makes way for another node. Its node goes with the last guard, or now if there is
// no guard: a node may be kept for a while that nobody uses.
void local_queue::drop_holder(outcome& out)
{
    holder_->was_idle = cohort_.is_idle();
    if (holder_->was_idle) {
        out.strand().leaving.push_back({holder_, {}});
    }
    if (holder_->users != 0) { // its guard is still there, and holds nothing
        report_.user_leaves();
    }
    holder_.reset();
    apply(cohort_.lost(), out);
}

// Another node of this client was granted. Readers keep the node that they have until they are done. A node that is
// not shared can only have been deleted by somebody else: the holder has still to hear of that.
void local_queue::drop_former_holder(outcome& out)
{
    if (!holder_) {
        return;
    }
    if (!shared_) {
        holder_->note_node_deleted();
    }
    drop_holder(out);
}

// ---- turns

void local_queue::wait_lost(operation_ptr<error_code, error_code> op, contender_driver& by,
                            std::uint64_t turn)
{
    by.await_turns();
    by.wait_lost(std::move(op), turn, holds(by, turn));
}

void local_queue::wait_revoked(operation_ptr<error_code> op, contender_driver& by,
                               std::uint64_t turn)
{
    by.await_turns();
    by.wait_revoked(std::move(op), turn, holds(by, turn));
}

bool local_queue::holds(const contender_driver& driver, std::uint64_t turn)
{
    const std::lock_guard lock{mutex_};
    return shared_ ? shared_turns_ && shared_turns_->contains(turn)
                   : holder_.get() == &driver && turn + 1 == turns_ && cohort_.users() != 0;
}

// Returns why the lock is lost, if it is.
error_code local_queue::end_turn(grant& held, outcome& out)
{
    auto driver = std::move(held.driver);
    const auto now = out.time();
    const auto why = driver->lost(now);
    if (driver->is_turn_awaited() && !why) {
        out.strand().turn_over = driver;
        out.strand().turn = held.turn;
    }
    if (shared_) {
        shared_turns_->erase(held.turn);
    }
    const bool last = take_user_off(*driver, held.turn, why, out);
    if (why && holder_ == driver) {
        drop_holder(out);
    }
    if (holder_ != driver) { // it is lost, or was replaced
        if (!why) {
            report_.released(last, false);
        }
        if (last) {
            out.strand().leaving.push_back({std::move(driver), {}});
        }
        return why;
    }
    const auto v = cohort_.release(now);
    report_.released(v.leave, v.admit != 0);
    out.holder = std::move(driver);
    out.reported.source = grant_source::handed_off;
    apply(v, out);
    return {};
}

// Counts how the user's turn has ended. Returns whether it was the last one.
bool local_queue::take_user_off(contender_driver& driver, std::uint64_t turn, const error_code& why,
                                outcome& out)
{
    if (holder_.get() == &driver) { // else drop_holder() did it
        report_.user_leaves();
    }
    if (why) {
        count_loss(driver, why, out);
    } else {
        core_->count.locks_released.fetch_add(1, std::memory_order_relaxed);
        report_.hold_ends(driver.observed.take(turn), {}, driver.remaining(out.time()),
                          out.reported);
    }
    return --driver.users == 0;
}

// All users who have the lock by this node lose it together, and no other user is let in on it. The first that sees the
// loss counts it: a guard that is released, or the client.
void local_queue::count_loss(contender_driver& driver, const error_code& why, outcome& out)
{
    if (!std::exchange(driver.loss_counted, true)) {
        core_->count_losses(why, driver.users);
        driver.observed.take_all([&](const observed_hold& each) {
            report_.hold_ends(each, why, driver.remaining(out.time()), out.reported);
        });
    }
}

} // namespace colock::detail
