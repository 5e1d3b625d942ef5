#include "queue/lease.hpp"

#include <algorithm>
#include <new>

namespace colock::detail {

error_code lease::lost(std::chrono::nanoseconds now) const noexcept
{
    if (core_.is_inherited()) {
        return errc::forked; // and nothing is noted: the child's word is not the parent's
    }
    // Read the bound before the reason: the client lets overdue holders store their loss before it moves the bound.
    const bool safe = remaining(now) > std::chrono::nanoseconds{0};
    const auto why = loss_.why();
    return why || safe ? why : note_loss_and_check(errc::safe_until_passed);
}

std::chrono::nanoseconds lease::remaining(std::chrono::nanoseconds now) const noexcept
{
    return core_.safe_until() - margin_ - now;
}

lock_state lease::state() const noexcept
{
    return lost()                       ? lock_state::lost
           : core_.connection_id() != 0 ? lock_state::held
                                        : lock_state::suspended;
}

std::chrono::steady_clock::time_point lease::safe_until() const noexcept
{
    using clock = std::chrono::steady_clock;
    return lost() ? clock::time_point::min() : clock::now() + remaining(boot_clock::now());
}

std::chrono::steady_clock::duration lease::remaining() const noexcept
{
    using std::chrono::nanoseconds;
    return lost() ? nanoseconds{0} : std::max(remaining(boot_clock::now()), nanoseconds{0});
}

error_code lease::note_loss_and_check(errc reason) const noexcept
{
    if (loss_.note(reason)) {
        try {
            core_.post([owner = owner_.lock()] {
                if (owner) {
                    owner->check();
                }
            });
        } catch (const std::bad_alloc&) {
            core_.catch_up_later();
        }
    }
    return loss_.why();
}

void lease::ask_for_check(bool wanted)
{
    if (std::exchange(asks_, wanted) != wanted) {
        wanted ? core_.add_holder(margin_) : core_.remove_holder(margin_);
    }
}

void lease::tell_waiters(const std::string& what)
{
    const auto reason = loss_.why();
    core_.note_error(what + loss_.text());
    waiting_.complete_all({}, reason);
    core_.log(loss_.severity(), what + loss_.text());
}

void lease::wait(operation_ptr<error_code, error_code> op, bool held, std::uint64_t turn)
{
    if (const auto why = lost(); why) {
        op.complete({}, why);
    } else if (!held) {
        op.complete(errc::not_held, {});
    } else {
        op->tag = turn;
        waiting_.add(std::move(op));
    }
}

} // namespace colock::detail
