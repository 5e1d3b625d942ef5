// What a simulated process sees of the operating system: clocks, and waits that take no time.
//
// The program defines clock_gettime(), epoll_ctl(), epoll_wait() and timerfd_settime() itself. While a kernel is the
// current one, they are answered by it. Otherwise they are the system's.
#pragma once

#include "machine.hpp"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>

#include <chrono>
#include <cstddef>
#include <vector>

namespace world {

class kernel {
public:
    explicit kernel(machine& on) : machine_{on} {}
    kernel(const kernel&) = delete;
    kernel& operator=(const kernel&) = delete;

    // The one of the process that runs now; nullptr between events.
    [[nodiscard]] static kernel* current() noexcept;
    // Returns the one before.
    static kernel* make_current(kernel* k) noexcept;

    // When a timer that is set goes off, by machine::awake(); the largest value: never.
    [[nodiscard]] std::chrono::nanoseconds due() const noexcept;
    // The process begins to run: it may go through its loop only so often before it lets go.
    void begin() noexcept { waits_ = 0; }

    // ---- the system calls

    int clock_gettime(clockid_t which, timespec& shown) const noexcept;
    int epoll_ctl(int instance, int operation, int descriptor, const epoll_event* event) noexcept;
    int epoll_wait(int instance, epoll_event* events);
    int timerfd_settime(int descriptor, int flags, const itimerspec& value) noexcept;

private:
    static constexpr std::chrono::nanoseconds never = std::chrono::nanoseconds::max();

    // One of each belongs to an io_context.
    struct watched {
        int instance;
        int descriptor;
        epoll_event event;
        std::chrono::nanoseconds due; // of a timer
    };

    machine& machine_;
    std::vector<watched> watched_;
    std::size_t waits_ = 0;
};

} // namespace world
