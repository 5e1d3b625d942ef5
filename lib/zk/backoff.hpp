// When to try the next connection; and when to repeat a request that a server refuses.
#pragma once

#include "entropy.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <random>

namespace colock::zk {

// One pass goes over all addresses, the first without a pause. The pause of a later pass doubles from
// `min` to `max`, loses up to half of itself at random, and is spread over the addresses. Whatever the
// options say, there are at most ten attempts in any second.
class backoff {
public:
    using clock = std::chrono::steady_clock;

    backoff(std::chrono::milliseconds min, std::chrono::milliseconds max)
        : min_{min}, max_{std::max(min, max)}
    {
    }

    // A connection reached a session.
    void reset() noexcept { pass_ = 0; }

    // All addresses have been tried in vain.
    void next_pass() noexcept { ++pass_; }

    // How long to wait before the next attempt, which is one of `addresses` in this pass.
    [[nodiscard]] clock::duration delay(clock::time_point now, std::size_t addresses)
    {
        clock::duration pause{};
        if (pass_ != 0) {
            using seconds = std::chrono::duration<double>; // which does not overflow
            const auto full =
                std::min<seconds>(max_, min_ * double(1u << std::min(pass_ - 1, 16u)));
            std::uniform_real_distribution<double> part{0.5, 1.0};
            pause = std::chrono::duration_cast<clock::duration>(full * part(random_)) /
                    static_cast<clock::rep>(std::max<std::size_t>(addresses, 1));
        }
        // The slot about to be re-used is the attempt ten before this one.
        const auto allowed = attempts_[next_] + std::chrono::seconds{1};
        return std::max({pause, allowed - now, clock::duration{}});
    }

    // An attempt begins.
    void attempt(clock::time_point now) noexcept
    {
        attempts_[next_] = now;
        next_ = (next_ + 1) % attempts_.size();
    }

    // Something is to be repeated at once, because of what a server has answered. How long to wait before: not at
    // all the first time, then a time that doubles. It counts as repeated then. When nothing has been repeated for
    // ten seconds, the next time is the first one again.
    [[nodiscard]] clock::duration repeat(clock::time_point now)
    {
        if (now - attempts_[(next_ + attempts_.size() - 1) % attempts_.size()] > forgotten) {
            reset();
        }
        const auto pause = delay(now, 1);
        attempt(now + pause);
        next_pass();
        return pause;
    }

private:
    static constexpr std::chrono::seconds forgotten{10};

    std::chrono::milliseconds min_;
    std::chrono::milliseconds max_;
    unsigned pass_ = 0;
    std::array<clock::time_point, 10> attempts_{};
    std::size_t next_ = 0;
    std::minstd_rand random_{random_seed()};
};

} // namespace colock::zk
