// The contenders of a local_queue: how they are granted and lost, and the turns that users have on them.
#include "lock/local_queue_outcome.hpp"
#include "queue/no_lock.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace colock::detail {

using protocol::remote_contention;

// ---- contenders

void local_queue::connected(contender_driver& by)
{
    holder_input(by, [&](outcome& out) { apply(cohort_.look_again(), out); });
}

void local_queue::blocked(contender_driver& by, contenders_ahead&& ahead)
{
    {
        const std::lock_guard lock{mutex_};
        if (contender_.get() == &by) {
            report_.blocked(std::move(ahead), situation());
        }
    }
    report_.send();
}

void local_queue::met(contender_driver& by, remote_contention c)
{
    holder_input(by, [&](outcome& out) {
        // The process may have been stopped since the servers were asked.
        drop_lost_holder(out.time(), out);
        apply(cohort_.met(out.time(), c), out);
    });
}

void local_queue::revoked(contender_driver& by)
{
    holder_input(by, [&](outcome& out) { apply(cohort_.revoked(), out); });
}

void local_queue::stepped_down(contender_driver& by, operation_ptr<error_code, unique_lock> op)
{
    const auto self = shared_from_this(); // the driver keeps it no longer
    const auto heirs = readers();
    by.serve(heirs);
    heirs->granted(by, std::move(op));
}

void local_queue::lost(contender_driver& by)
{
    input([&](outcome& out) {
        if (holder_.get() == &by) { // else a user who looked at the clock was here before
            drop_holder(out);
        }
        count_loss(by, by.lost(out.time()), out);
    });
}

// For `op`, or for those who wait.
void local_queue::granted(contender_driver& by, operation_ptr<error_code, unique_lock> op)
{
    const auto driver = by.shared_from_this();
    input([&](outcome& out) {
        if (!op && contender_ != driver) { // it has failed, or no waiter wants it any more
            out.strand().leaving.push_back({driver, {}});
            return;
        }
        // Readers keep the node that they have until they are done. A node that is not shared can only have been deleted by
        // somebody else: the holder has still to hear of that.
        if (holder_ && !shared_) {
            holder_->loss().note_loss_and_check(errc::node_deleted);
        }
        if (holder_) {
            drop_holder(out);
        }
        holder_ = driver;
        const auto v = cohort_.granted(out.time(), driver->contention(), static_cast<bool>(op));
        core_->count.granted_by_servers.fetch_add(v.admit + (op ? 1 : 0),
                                                  std::memory_order_relaxed);
        out.reported.source = grant_source::free;
        if (op) {
            turns_ = std::max(turns_, op->tag); // of a downgrade: tokens never get smaller
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

// Of those who wait, or, with `of`, who wait by this contender.
void local_queue::fail_all(const error_code& ec, const std::string& why, const contender_driver* of)
{
    std::vector<operation_ptr<error_code, unique_lock>> waiting;
    input([&](outcome& out) {
        if (of != nullptr && contender_.get() != of) {
            return;
        }
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

// ---- turns

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
        report_.hold_ends(driver.observed.take(turn), {}, driver.loss().remaining(out.time()),
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
            report_.hold_ends(each, why, driver.loss().remaining(out.time()), out.reported);
        });
    }
}

} // namespace colock::detail
