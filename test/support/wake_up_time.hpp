#ifndef COLOCK_TEST_SUPPORT_WAKE_UP_TIME_HPP
#define COLOCK_TEST_SUPPORT_WAKE_UP_TIME_HPP

#include <algorithm>
#include <chrono>

namespace colock::test {

/// Compensates for the time that the machine takes to wake a thread for a timer.
/**
 * That is 0.1 ms and more in a virtual machine at rest, which two times in each round trip would be
 * 2 % of 10 ms. Timers are set earlier by the median seen so far, and the rest, tens of
 * microseconds at most, is spent spinning.
 */
class wake_up_time {
    using clock = std::chrono::steady_clock;

public:
    clock::time_point set_for(clock::time_point due) const { return due - median_; }

    void woken(clock::time_point set_for, clock::time_point now)
    {
        auto const step = std::chrono::microseconds(1);
        median_ += now - set_for > median_ ? step : -step;
        median_ = std::clamp<clock::duration>(median_, clock::duration(), longest_spin);
    }

    static void spin_until(clock::time_point due)
    {
        if (due - clock::now() > longest_spin)
            return;
        while (clock::now() < due) {
        }
    }

private:
    static constexpr auto longest_spin = std::chrono::microseconds(100);

    clock::duration median_ = std::chrono::microseconds(50);
};

} // namespace colock::test

#endif
