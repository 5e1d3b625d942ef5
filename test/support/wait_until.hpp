#ifndef COLOCK_TEST_SUPPORT_WAIT_UNTIL_HPP
#define COLOCK_TEST_SUPPORT_WAIT_UNTIL_HPP

#include <chrono>
#include <thread>

namespace colock::test {

/// Polls `condition` until it holds or `timeout` has passed; returns whether it held.
/**
 * For conditions that only a real server can tell ("the node is gone"). The condition is tried at
 * once, then after pauses that grow by 1 ms up to the longest, and a last time after the time-out, so that
 * a slow machine does not turn a condition that holds into a failure.
 * An exception out of the condition passes through.
 */
template <class Condition>
bool wait_until(Condition&& condition, std::chrono::milliseconds timeout,
                std::chrono::milliseconds longest_pause = std::chrono::milliseconds(10))
{
    using namespace std::chrono_literals;
    auto const deadline = std::chrono::steady_clock::now() + timeout;
    for (auto pause = 1ms;; pause = pause < longest_pause ? pause + 1ms : pause) {
        // The clock is read first: the condition's last evaluation begins after the deadline.
        bool const last = std::chrono::steady_clock::now() >= deadline;
        if (condition())
            return true;
        if (last)
            return false;
        std::this_thread::sleep_for(pause);
    }
}

} // namespace colock::test

#endif
