// When to try the next connection. Sans-io.
#pragma once

#include "session/growing_pause.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>

namespace colock::protocol {

// One pass goes over all addresses, the first without a pause. The pause of a later pass doubles from
// `min` to `max`, loses up to half of itself at random, and is spread over the addresses. Whatever the
// options say, there are at most ten attempts in any second.
//
// Times are those of the clock by which the pauses are waited for.
class backoff {
public:
    using duration = std::chrono::nanoseconds;
    using time_point = duration; // since the epoch of that clock

    backoff(std::chrono::milliseconds min, std::chrono::milliseconds max, std::uint32_t seed)
        : min_{min}, max_{std::max(min, max)}, random_{seed}
    {
        attempts_.fill(-std::chrono::seconds{1}); // a machine may have started less than that ago
    }

    // A connection reached a session.
    void reset() noexcept { pass_ = 0; }

    // All addresses have been tried in vain.
    void next_pass() noexcept { ++pass_; }

    // How long to wait before the next attempt, which is one of `addresses` in this pass.
    [[nodiscard]] duration delay(time_point now, std::size_t addresses)
    {
        duration pause{};
        if (pass_ != 0) {
            pause = growing_pause(pass_ - 1, min_, max_, random_) /
                    static_cast<duration::rep>(std::max<std::size_t>(addresses, 1));
        }
        // The slot about to be re-used is the attempt ten before this one.
        const auto allowed = attempts_[next_] + std::chrono::seconds{1};
        return std::max({pause, allowed - now, duration{}});
    }

    // An attempt begins.
    void attempt(time_point now) noexcept
    {
        attempts_[next_] = now;
        next_ = (next_ + 1) % attempts_.size();
    }

private:
    std::chrono::milliseconds min_;
    std::chrono::milliseconds max_;
    unsigned pass_ = 0;
    std::array<time_point, 10> attempts_;
    std::size_t next_ = 0;
    std::minstd_rand random_;
};

} // namespace colock::protocol
