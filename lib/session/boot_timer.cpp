#include "session/boot_timer.hpp"

#ifndef COLOCK_PORTABLE
#include <boost/system/system_error.hpp>

#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#endif

namespace colock::detail {

#ifdef COLOCK_PORTABLE

boot_timer::boot_timer(const zk::strand_type& strand) : timer_{strand}
{
}

void boot_timer::expires_at(std::chrono::nanoseconds when)
{
    using std::chrono::steady_clock; // which is the boot_clock here
    timer_.expires_at(
        steady_clock::time_point{std::chrono::duration_cast<steady_clock::duration>(when)});
}

void boot_timer::cancel()
{
    timer_.cancel();
}

#else

namespace {

using std::chrono::nanoseconds;

int new_timer()
{
    const int made = ::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (made == -1) {
        throw boost::system::system_error{{errno, boost::system::system_category()},
                                          "the timer of a client"};
    }
    return made;
}

} // namespace

boot_timer::boot_timer(const zk::strand_type& strand) : descriptor_{strand, new_timer()}
{
}

void boot_timer::expires_at(nanoseconds when)
{
    cancel();
    const auto at = std::max(when, nanoseconds{1}); // 0 would stop it
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at);
    itimerspec value{};
    value.it_value.tv_sec = static_cast<decltype(timespec::tv_sec)>(seconds.count());
    value.it_value.tv_nsec = static_cast<decltype(timespec::tv_nsec)>((at - seconds).count());
    // Nobody reads the descriptor: to set it makes it unreadable until it expires again.
    ::timerfd_settime(descriptor_.native_handle(), TFD_TIMER_ABSTIME, &value, nullptr);
}

void boot_timer::cancel()
{
    descriptor_.cancel();
}

#endif

} // namespace colock::detail
