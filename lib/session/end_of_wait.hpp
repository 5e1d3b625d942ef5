// What it means that the time of a try is over. Sans-io.
#pragma once

#include <colock/error.hpp>

#include <chrono>

namespace colock::protocol {

// Servers that owe an answer for so long are silent. Less than that is a slow disk, or a long way.
inline constexpr std::chrono::nanoseconds silence = std::chrono::milliseconds{250};

// So long before its end a wait asks the servers, where no answer is due anyway: a waiter sends nothing while it waits.
inline constexpr std::chrono::nanoseconds question_before_end =
    silence + std::chrono::milliseconds{100};

// Why nobody knows whether the lock is busy; no error when it is. `owed_for`: how long the oldest request has been without an
// answer.
[[nodiscard]] inline error_code end_of_wait(bool connected,
                                            std::chrono::nanoseconds owed_for) noexcept
{
    return !connected            ? error_code{errc::disconnected}
           : owed_for >= silence ? error_code{errc::no_answer}
                                 : error_code{};
}

} // namespace colock::protocol
