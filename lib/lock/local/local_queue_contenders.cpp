// The contenders of a local_queue: how they are granted and lost, and the turns that users have on them.
#include "lock/driver/directory_lister.hpp"
#include "lock/local/local_queue_outcome.hpp"
#include "lock/no_lock.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace colock::detail {

using protocol::remote_contention;

// ---- contenders

void local_queue::granted(const std::shared_ptr<contender_driver>& driver, remote_contention c,
                          operation_ptr<error_code, unique_lock> op, std::uint64_t least_turn)
{
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
        out.source = grant_source::free;
        if (!op && notes_) {
            out.source = notes_->blocked ? grant_source::handed_over : grant_source::free;
            if (notes_->seen) {
                out.seldom_observed = std::make_unique<outcome::seldom>();
                out.seldom_observed->waited_for = std::move(notes_->seen);
            }
        }
        if (op) {
            admit(op.release(), out);
        } else {
            contender_.reset();
            notes_.reset();
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
    if (is_contender(driver)) {
        fail_all(ec, why);
    }
}

void local_queue::fail_all(const error_code& ec, const std::string& why)
{
    std::vector<operation_ptr<error_code, unique_lock>> waiting;
    outcome out;
    {
        const std::lock_guard lock{mutex_};
        contender_.reset();
        apply(cohort_.failed(), out);
        note_failure(ec);
        for (auto& each : waiting_) {
            observe_holder(each);
        }
        while (!waiting_.empty()) {
            waiting.push_back(take(waiting_.front()));
        }
        notes_.reset();
        out.self = kept_for_log();
    }
    for (auto& op : waiting) {
        refuse(core_, std::move(op), ec, why);
    }
    carry_out(out);
}

bool local_queue::lost(contender_driver& driver)
{
    bool held = false;
    input([&](outcome& out) {
        if (holder_.get() == &driver) { // else a user who looked at the clock was here before
            drop_holder(out);
        }
        count_loss(driver, driver.lost(out.time()), out);
        held = !driver.was_idle;
    });
    return held;
}

bool local_queue::is_contender(const contender_driver& driver)
{
    const std::lock_guard lock{mutex_};
    return contender_.get() == &driver;
}

void local_queue::met(const contender_driver& driver, remote_contention c)
{
    holder_input(driver, [&](outcome& out) {
        const auto now = out.time();
        drop_lost_holder(now,
                         out); // the process may have been stopped since the servers were asked
        apply(cohort_.met(now, c), out);
    });
}

void local_queue::connected(const contender_driver& driver)
{
    holder_input(driver, [&](outcome& out) { apply(cohort_.look_again(), out); });
}

void local_queue::revoked(const contender_driver& driver)
{
    holder_input(driver, [&](outcome& out) { apply(cohort_.revoked(), out); });
}

local_queue::shared_state& local_queue::for_contenders()
{
    if (!for_contenders_) {
        for_contenders_ = std::make_unique<shared_state>();
    }
    return *for_contenders_;
}

protocol::directory_memory& local_queue::directory()
{
    if (queue_in_table_) {
        return queue_in_table_->directory();
    }
    auto& shared = for_contenders();
    if (const auto session = core_->session(); !shared.memory || shared.session != session) {
        shared.memory = core_->directory_at(path());
        shared.session = session;
    }
    return *shared.memory;
}

directory_lister& local_queue::lister()
{
    if (queue_in_table_) {
        return queue_in_table_->lister();
    }
    auto& lister = for_contenders().lister;
    if (!lister) {
        lister = std::make_shared<directory_lister>(*core_, path());
    }
    return *lister;
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
    if (users_here_ && !shared_ &&
        holder_->users != 0) { // its guard is still there, and holds nothing
        users_here_->leave();
    }
    holder_.reset();
    apply(cohort_.lost(), out);
}

// Another node of this client was granted. Readers keep the node that they have until they are done. A node that is
// not shared can only have been deleted by hand: the holder has still to hear of that.
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

bool local_queue::is_current(const contender_driver& driver, std::uint64_t turn)
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
            note_release(last, false);
        }
        if (last) {
            out.strand().leaving.push_back({std::move(driver), {}});
        }
        return why;
    }
    const auto v = cohort_.release(now);
    note_release(v.leave, v.admit != 0);
    out.holder = std::move(driver);
    out.source = grant_source::handed_off;
    apply(v, out);
    return {};
}

// Counts how the user's turn has ended. Returns whether it was the last one.
bool local_queue::take_user_off(contender_driver& driver, std::uint64_t turn, const error_code& why,
                                outcome& out)
{
    if (users_here_ && !shared_ && holder_.get() == &driver) { // else drop_holder() did it
        users_here_->leave();
    }
    if (why) {
        count_loss(driver, why, out);
    } else {
        core_->count.locks_released.fetch_add(1, std::memory_order_relaxed);
        if (observed_ != nullptr) {
            observe_end_of_hold(driver, driver.observed.take(turn), {}, out);
        }
    }
    return --driver.users == 0;
}

// All users who have the lock by this node lose it together, and no other user is let in on it. The first that sees the
// loss counts it: a guard that lets go, or the client.
void local_queue::count_loss(contender_driver& driver, const error_code& why, outcome& out)
{
    if (!std::exchange(driver.loss_counted, true)) {
        core_->count_losses(why, driver.users);
        driver.observed.take_all(
            [&](const observed_hold& each) { observe_end_of_hold(driver, each, why, out); });
    }
}

} // namespace colock::detail
