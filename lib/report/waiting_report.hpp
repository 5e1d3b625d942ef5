// When the log says again that a waiter still waits. Sans-io.
#pragma once

#include <algorithm>
#include <chrono>

namespace colock::protocol {

// A shorter wait is nothing to wonder about.
inline constexpr std::chrono::nanoseconds first_waiting_report = std::chrono::seconds{5};

// From here on the reports do not get rarer.
inline constexpr std::chrono::nanoseconds longest_waiting_pause = first_waiting_report * 64;

// The first time after `now` at which a waiter since `began` has waited for 5, 10, 20, 40 ... seconds.
[[nodiscard]] constexpr std::chrono::nanoseconds
next_waiting_report(std::chrono::nanoseconds began, std::chrono::nanoseconds now) noexcept
{
    auto due = first_waiting_report;
    while (began + due <= now) {
        due += std::min(due, longest_waiting_pause);
    }
    return began + due;
}

} // namespace colock::protocol
