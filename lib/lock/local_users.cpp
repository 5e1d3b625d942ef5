#include "lock/local_users.hpp"

#include <iterator>

namespace colock::detail {

using protocol::cohort;

// ---- users

bool local_users::arrive(waiter& op, time now, effects& out)
{
    cohort::actions v;
    const bool waits = !cohort_.arrive(now, v);
    waits ? waiting_.push_back(op) : admit(op, out);
    follow(v, out);
    return waits;
}

cohort::answer local_users::try_arrive(waiter& op, time now, effects& out)
{
    cohort::actions v;
    const auto found = cohort_.try_arrive(now, v);
    if (found == cohort::answer::admitted) {
        admit(op, out);
    }
    follow(v, out);
    return found;
}

std::optional<local_users::node> local_users::withdraw(waiter& op, effects& out)
{
    waiting_.erase(waiting_.iterator_to(op));
    const auto v = cohort_.withdraw();
    follow(v, out);
    return v.leave || v.reconcile ? std::optional{v.leave ? out.leaving.back() : contender_}
                                  : std::nullopt;
}

void local_users::end_turn(node by, std::uint64_t turn, bool lost, time now, effects& out)
{
    if (shared_) {
        shared_turns_->erase(turn);
    }
    const bool last = --by->users == 0;
    out.has_user_gone |= by == holder_; // else lose_holder() did it
    if (lost && by == holder_) {
        lose_holder(out);
    }
    if (by == holder_) {
        const auto v = cohort_.release(now);
        out.holder = std::move(by);
        follow(v, out);
    } else if (last) {
        out.leaving.push_back(std::move(by));
    }
}

void local_users::step_down(const node& by, effects& out)
{
    --by->users;
    if (by == holder_) { // else it is lost
        out.has_user_gone = true;
        holder_.reset();
        follow(cohort_.lost(), out);
    }
}

// ---- contenders

void local_users::granted(node to, waiter* tries, protocol::remote_contention c, time now,
                          effects& out)
{
    holder_ = std::move(to);
    const auto v = cohort_.granted(now, c, tries != nullptr);
    if (tries != nullptr) {
        admit(*tries, out);
    } else {
        contender_.reset();
    }
    follow(v, out);
}

void local_users::lose_holder(effects& out)
{
    const auto lost = std::move(holder_);
    out.has_user_gone |= lost->users != 0; // its guard is still there, and holds nothing
    lost->was_idle = cohort_.is_idle();
    if (lost->was_idle) {
        out.leaving.push_back(lost);
    }
    follow(cohort_.lost(), out);
}

local_users::waiters local_users::fail(effects& out)
{
    contender_.reset();
    waiters failed;
    failed.swap(waiting_);
    follow(cohort_.failed(), out);
    return failed;
}

std::optional<local_users::time> local_users::linger_over(time now, effects& out)
{
    const auto v = cohort_.linger_over(now);
    lingering_ = v.idle;
    follow(v, out);
    return linger_end();
}

// ---- the strand

local_users::node local_users::take_unwanted_contender() noexcept
{
    return cohort_.wants_contender() ? nullptr : std::exchange(contender_, nullptr);
}

// ---- what is known

bool local_users::has_turn(const node_users& by, std::uint64_t turn) const
{
    return shared_ ? shared_turns_ && shared_turns_->contains(turn)
                   : holder_.get() == &by && turn + 1 == turns_ && cohort_.users() != 0;
}

std::size_t local_users::waiters_before(const waiter& op) const
{
    return static_cast<std::size_t>(std::distance(waiting_.begin(), waiters::s_iterator_to(op)));
}

local_users::remains local_users::take_all() noexcept
{
    remains all;
    all.waiting.swap(waiting_);
    all.contender.swap(contender_);
    all.holder.swap(holder_);
    return all;
}

// ---- what follows

void local_users::follow(const cohort::actions& v, effects& out)
{
    for (std::size_t i = 0; i != v.admit; ++i) {
        auto& next = waiting_.front();
        waiting_.pop_front();
        admit(next, out);
    }
    if (v.leave) {
        out.leaving.push_back(std::move(holder_));
    }
    look_ |= v.look;
    const bool linger = v.idle && !std::exchange(lingering_, true);
    out.reconcile |= v.leave || v.reconcile || v.look || linger;
}

void local_users::admit(waiter& op, effects& out)
{
    if (out.admitted.empty()) {
        out.turn = turns_;
    }
    if (shared_) {
        if (!shared_turns_) {
            shared_turns_ = std::make_unique<std::unordered_set<std::uint64_t>>();
        }
        shared_turns_->insert(turns_);
    }
    ++turns_;
    out.admitted.push_back(op);
    if (!out.holder) {
        out.holder = holder_;
    }
    ++out.holder->users;
}

} // namespace colock::detail
