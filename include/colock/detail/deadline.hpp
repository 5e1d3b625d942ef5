// Deadlines on the steady clock.
#ifndef COLOCK_DETAIL_DEADLINE_HPP
#define COLOCK_DETAIL_DEADLINE_HPP

#include <chrono>

namespace colock::detail {

using deadline = std::chrono::steady_clock::time_point;

// How long an acquisition waits: not at all, or without end.
inline constexpr deadline at_once = deadline::min();
inline constexpr deadline never = deadline::max();

// A point in time of the same clock, however coarse it is.
template <class Duration>
[[nodiscard]] deadline
at(const std::chrono::time_point<std::chrono::steady_clock, Duration>& when) noexcept
{
    using seconds = std::chrono::duration<long double>;
    const seconds since{when.time_since_epoch()};
    if (since >= seconds{never.time_since_epoch()}) {
        return never;
    }
    if (!(since > seconds::zero())) {
        return at_once;
    }
    return deadline{std::chrono::ceil<deadline::duration>(when.time_since_epoch())};
}

// `now + d`, saturating to `never`.
template <class Rep, class Period>
[[nodiscard]] deadline after(const std::chrono::duration<Rep, Period>& d)
{
    if (!(d > d.zero())) { // neither is what is not a number
        return at_once;
    }
    const auto now = std::chrono::steady_clock::now();
    if (std::chrono::duration<long double>{d} >= std::chrono::duration<long double>{never - now}) {
        return never;
    }
    return now + std::chrono::ceil<deadline::duration>(d);
}
// The same of what is a point in time already.
[[nodiscard]] inline deadline after(deadline until) noexcept
{
    return until;
}

} // namespace colock::detail

#endif
