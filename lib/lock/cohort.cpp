#include "lock/cohort.hpp"

#include <algorithm>
#include <utility>

namespace colock::protocol {

// ---- users

bool cohort::arrive(time now, actions& out)
{
    if (holds_ && open_ && waiting_ == 0 && has_room()) {
        if (!bounds_reached(now)) {
            let_in();
            want_look(out);
            return true;
        }
        open_ = remote_ != remote_contention::some; // remote contenders have waited for long enough
    }
    ++waiting_;
    if (!(holds_ && open_)) {
        want_contender(out);
    }
    want_look(out);
    return false;
}

cohort::answer cohort::try_arrive(time now, actions& out)
{
    if (waiting_ != 0) {
        return answer::busy;
    }
    // Nobody uses an idle node, so a try need not wait to hear who else does.
    if (holds_ && open_ && has_room() && (!bounds_reached(now) || is_idle())) {
        let_in();
        want_look(out);
        return answer::admitted;
    }
    // A reader may get a node of its own beside that of the holder.
    return holds_ && !rules_.shared ? answer::busy : answer::ask_servers;
}

cohort::actions cohort::withdraw()
{
    actions out;
    if (--waiting_ == 0) {
        out.reconcile = std::exchange(wants_contender_, false);
        if (is_idle()) { // until the answer comes that it waited for
            give_up(out);
        }
    }
    return out;
}

cohort::actions cohort::release(time now)
{
    actions out;
    if (--users_ != 0) {
        return out;
    }
    if (waiting_ != 0) {
        open_ ? fill(now, out) : give_up(out);
        return out;
    }
    idle_since_ = now;
    out.idle = open_ && remote_ == remote_contention::none && now < linger_end();
    if (!out.idle) {
        give_up(out);
    }
    return out;
}

// ---- the contender

cohort::actions cohort::granted(time now, remote_contention c, bool on_trial)
{
    actions out;
    holds_ = open_ = true;
    remote_ = c;
    asked_or_known_ = c != remote_contention::unknown;
    blind_ = false;
    start_bounds(now);
    held_since_ = now;
    if (on_trial) {
        users_ = 1;
        want_look(out);
        return out;
    }
    users_ = 0;
    wants_contender_ = false;
    if (waiting_ == 0) {
        give_up(out);
        return out;
    }
    // The first one is due to the queue, and does not count.
    ++users_;
    --waiting_;
    ++out.admit;
    fill(now, out);
    return out;
}

cohort::actions cohort::lost()
{
    actions out;
    holds_ = open_ = false;
    users_ = 0;
    if (waiting_ != 0) {
        want_contender(out);
    }
    return out;
}

cohort::actions cohort::failed()
{
    actions out;
    wants_contender_ = false;
    if (std::exchange(waiting_, 0) != 0 &&
        is_idle()) { // kept until the answer came that the waiters waited for
        give_up(out);
    }
    return out;
}

// ---- the queue

cohort::actions cohort::met(time now, remote_contention c)
{
    actions out;
    if (!holds_ || remote_ == remote_contention::some) {
        return out;
    }
    if (remote_ == remote_contention::none) {
        start_bounds(now); // until now no remote contender waited
    }
    remote_ = c;
    asked_or_known_ = c != remote_contention::unknown;
    blind_ = c == remote_contention::unknown;
    if (waiting_ != 0 && open_) {
        fill(now, out);
    } else if (is_idle() && c == remote_contention::some) {
        give_up(out);
    }
    return out;
}

cohort::actions cohort::look_again()
{
    actions out;
    blind_ = false;
    want_look(out);
    return out;
}

cohort::actions cohort::revoked()
{
    actions out;
    if (!holds_) {
        return out;
    }
    remote_ = remote_contention::some;
    asked_or_known_ = true;
    open_ = false;
    if (users_ == 0) {
        give_up(out);
    } else if (waiting_ != 0) {
        want_contender(out);
    }
    return out;
}

cohort::actions cohort::linger_over(time now)
{
    actions out;
    if (is_idle() && waiting_ == 0) {
        out.idle = now < linger_end();
        if (!out.idle) {
            give_up(out);
        }
    }
    return out;
}

cohort::time cohort::linger_end() const noexcept
{
    return std::min(idle_since_ + rules_.linger, held_since_ + rules_.max_linger);
}

// ---- what follows

void cohort::start_bounds(time now) noexcept
{
    grants_left_ = rules_.max_grants;
    until_ = now + rules_.max_time;
}

void cohort::let_in() noexcept
{
    ++users_;
    if (grants_left_ != 0) {
        --grants_left_;
    }
}

// Lets in the waiters that may come in. When the bounds are reached, and remote contenders are known to wait, later ones queue after
// them. When that is still to be found out, the waiters wait for the answer, which is a round trip away.
void cohort::fill(time now, actions& out)
{
    while (waiting_ != 0 && has_room() && !bounds_reached(now)) {
        let_in();
        --waiting_;
        ++out.admit;
    }
    if (waiting_ == 0) {
        out.reconcile |= std::exchange(wants_contender_, false);
    } else if (has_room() && remote_ == remote_contention::some) {
        if (users_ == 0) {
            give_up(out);
            return;
        }
        open_ = false;
        want_contender(out);
    }
    want_look(out);
}

void cohort::want_contender(actions& out) noexcept
{
    out.reconcile |= !std::exchange(wants_contender_, true);
}

// The client asks for remote contenders only where a second user, a waiter or linger makes the answer matter: most locks
// are held by one user, for a moment.
void cohort::want_look(actions& out) noexcept
{
    if (holds_ && open_ && !asked_or_known_ && !blind_ &&
        (waiting_ != 0 || users_ > 1 || rules_.linger > time{0})) {
        asked_or_known_ = out.look = true;
    }
}

void cohort::give_up(actions& out) noexcept
{
    holds_ = open_ = false;
    out.leave = true;
    if (waiting_ != 0) {
        want_contender(out);
    }
}

bool cohort::bounds_reached(time now) const noexcept
{
    return asked_or_known_ && remote_ != remote_contention::none &&
           (grants_left_ == 0 || now >= until_);
}

} // namespace colock::protocol
