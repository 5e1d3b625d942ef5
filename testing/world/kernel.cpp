#include "kernel.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <utility>

namespace colock::simulated {

namespace {

// Other threads are none of the world.
constinit thread_local kernel* running = nullptr;

// No program has so much to do in one instant: it goes round in a circle.
constexpr std::size_t most_waits = 100'000;

timespec to_timespec(std::chrono::nanoseconds t) noexcept
{
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(t);
    return {seconds.count(), (t - seconds).count()};
}

} // namespace

kernel* kernel::make_current(kernel* k) noexcept
{
    return std::exchange(running, k);
}

std::chrono::nanoseconds kernel::due() const noexcept
{
    auto first = never;
    for (const auto& each : watched_) {
        if (each.due != never && !each.reported) {
            first = std::min(first, each.due - now(each) + machine_.clock());
        }
    }
    return first;
}

std::chrono::nanoseconds kernel::now(const watched& of) const noexcept
{
    return of.goes_on ? machine_.clock() : machine_.awake();
}

kernel::watched& kernel::entry(int descriptor)
{
    const auto at = std::ranges::find(watched_, descriptor, &watched::descriptor);
    return at == watched_.end() ? watched_.emplace_back(watched{descriptor}) : *at;
}

int kernel::clock_gettime(clockid_t which, timespec& shown) const noexcept
{
    switch (which) {
    case CLOCK_BOOTTIME: shown = to_timespec(machine_.clock()); return 0;
    case CLOCK_REALTIME: shown = to_timespec(since_1970 + machine_.clock()); return 0;
    default: shown = to_timespec(machine_.awake()); return 0;
    }
}

// Asio touches a descriptor again when somebody waits for it, and one of its own to interrupt a wait, which is never
// needed here.
int kernel::epoll_ctl(int instance, int operation, int descriptor, const epoll_event* event)
{
    if (operation != EPOLL_CTL_DEL) {
        auto& of = entry(descriptor);
        of.instance = instance;
        of.event = *event;
        of.reported = false;
    }
    return 0;
}

int kernel::epoll_wait(int instance, epoll_event* events, int most)
{
    if (++waits_ > most_waits) {
        throw std::runtime_error{"the process on " + machine_.name() +
                                 " runs for ever in one instant"};
    }
    int count = 0;
    for (auto& each : watched_) {
        if (each.instance == instance && !each.reported && each.due <= now(each) && count != most) {
            events[count] = each.event;
            events[count].events = EPOLLIN;
            ++count;
            each.reported = (each.event.events & EPOLLET) != 0;
        }
    }
    return count;
}

void kernel::timerfd_created(int descriptor, clockid_t by)
{
    entry(descriptor).goes_on = by == CLOCK_BOOTTIME;
}

int kernel::timerfd_settime(int descriptor, int flags, const itimerspec& value) noexcept
{
    const auto at = std::ranges::find(watched_, descriptor, &watched::descriptor);
    if (at == watched_.end()) {
        errno = EBADF;
        return -1;
    }
    const auto wait = std::chrono::seconds{value.it_value.tv_sec} +
                      std::chrono::nanoseconds{value.it_value.tv_nsec};
    at->due = wait.count() == 0                  ? never
              : (flags & TFD_TIMER_ABSTIME) != 0 ? std::chrono::nanoseconds{wait}
                                                 : now(*at) + wait;
    at->reported = false;
    return 0;
}

void kernel::closed(int descriptor) noexcept
{
    std::erase_if(watched_,
                  [descriptor](const auto& each) { return each.descriptor == descriptor; });
}

} // namespace colock::simulated

// The definitions of the program come before those of the C library, and of sanitizers. The functions of the system are
// called by their numbers, then: whichever library defines them.
extern "C" {

__attribute__((visibility("default"))) int clock_gettime(clockid_t which,
                                                         struct timespec* shown) noexcept
{
    if (colock::simulated::running != nullptr) {
        return colock::simulated::running->clock_gettime(which, *shown);
    }
    return static_cast<int>(::syscall(SYS_clock_gettime, which, shown));
}

__attribute__((visibility("default"))) int epoll_ctl(int instance, int operation, int descriptor,
                                                     struct epoll_event* event) noexcept
{
    if (colock::simulated::running != nullptr) {
        return colock::simulated::running->epoll_ctl(instance, operation, descriptor, event);
    }
    return static_cast<int>(::syscall(SYS_epoll_ctl, instance, operation, descriptor, event));
}

__attribute__((visibility("default"))) int epoll_wait(int instance, struct epoll_event* events,
                                                      int most, int timeout)
{
    if (colock::simulated::running != nullptr) {
        return colock::simulated::running->epoll_wait(instance, events, most);
    }
    return static_cast<int>(
        ::syscall(SYS_epoll_pwait, instance, events, most, timeout, nullptr, std::size_t{8}));
}

__attribute__((visibility("default"))) int timerfd_create(clockid_t clock, int flags) noexcept
{
    const auto made = static_cast<int>(::syscall(SYS_timerfd_create, clock, flags));
    if (colock::simulated::running != nullptr && made != -1) {
        colock::simulated::running->timerfd_created(made, clock);
    }
    return made;
}

__attribute__((visibility("default"))) int timerfd_settime(int descriptor, int flags,
                                                           const struct itimerspec* value,
                                                           struct itimerspec* old) noexcept
{
    if (colock::simulated::running != nullptr) {
        return colock::simulated::running->timerfd_settime(descriptor, flags, *value);
    }
    return static_cast<int>(::syscall(SYS_timerfd_settime, descriptor, flags, value, old));
}

__attribute__((visibility("default"))) int close(int descriptor)
{
    if (colock::simulated::running != nullptr) {
        colock::simulated::running->closed(descriptor);
    }
    return static_cast<int>(::syscall(SYS_close, descriptor));
}

} // extern "C"
