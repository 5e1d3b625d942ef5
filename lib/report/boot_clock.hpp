// A clock that goes on while the machine sleeps, as the servers' do.
#pragma once

#include <time.h>

#include <chrono>

namespace colock::detail {

struct boot_clock {
    // Since the machine was started: what the state machines take as a time. From any thread.
    [[nodiscard]] static std::chrono::nanoseconds now() noexcept
    {
#ifdef COLOCK_PORTABLE // only as good as the system's clock: on most it stands still while the machine sleeps
        return std::chrono::steady_clock::now().time_since_epoch();
#else
        timespec t{};
        ::clock_gettime(CLOCK_BOOTTIME, &t);
        return std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec};
#endif
    }
};

} // namespace colock::detail
