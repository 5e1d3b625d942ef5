// What a simulated process sees of the operating system: clocks, and waits that take no time.
//
// The program defines clock_gettime(), epoll_ctl(), epoll_wait(), timerfd_create(), timerfd_settime() and close() itself.
// While a kernel is the current one, they are answered by it. Otherwise they are the system's.
#pragma once

#include "ensemble/machine.hpp"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>

#include <chrono>
#include <cstddef>
#include <vector>

namespace colock::simulated {

class kernel {
public:
    // What the clock of the day shows beyond machine::clock(): a summer's day, so that nobody takes the time of the world
    // for the time of now.
    static constexpr std::chrono::seconds since_1970{1'500'000'000};

    explicit kernel(machine& on) : machine_{on} {}
    kernel(const kernel&) = delete;
    kernel& operator=(const kernel&) = delete;

    // That of the process that runs now; nullptr between events. Returns the one before.
    static kernel* make_current(kernel* k) noexcept;

    // When a timer that is set goes off, by machine::clock(), if the machine does not sleep; the largest value: never.
    [[nodiscard]] std::chrono::nanoseconds due() const noexcept;
    // The process begins to run: it may go through its loop only so often before it lets go.
    void begin() noexcept { waits_ = 0; }

    // ---- the system calls

    int clock_gettime(clockid_t which, timespec& shown) const noexcept;
    int epoll_ctl(int instance, int operation, int descriptor, const epoll_event* event);
    int epoll_wait(int instance, epoll_event* events, int most);
    void timerfd_created(int descriptor, clockid_t by);
    int timerfd_settime(int descriptor, int flags, const itimerspec& value) noexcept;
    void closed(int descriptor) noexcept;

private:
    static constexpr std::chrono::nanoseconds never = std::chrono::nanoseconds::max();

    // Timers, and what Asio waits for besides. It adds them to its epoll instance when they have been made.
    struct watched {
        int descriptor;
        bool goes_on = false;  // while the machine sleeps
        bool reported = false; // as far as the instance wants to be told once
        int instance = -1;
        epoll_event event{};
        std::chrono::nanoseconds due = never; // by machine::clock() or machine::awake()
    };

    [[nodiscard]] watched& entry(int descriptor);
    [[nodiscard]] std::chrono::nanoseconds now(const watched& of) const noexcept;

    machine& machine_;
    std::vector<watched> watched_;
    std::size_t waits_ = 0;
};

} // namespace colock::simulated
