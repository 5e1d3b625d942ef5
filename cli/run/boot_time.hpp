// The clock of the safe-until bound: it goes on while the machine sleeps.
#pragma once

#include <time.h>

#include <chrono>

namespace colock::cli {

[[nodiscard]] inline std::chrono::nanoseconds boot_time() noexcept
{
    ::timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    return std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
}

} // namespace colock::cli
