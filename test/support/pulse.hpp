#ifndef COLOCK_TEST_SUPPORT_PULSE_HPP
#define COLOCK_TEST_SUPPORT_PULSE_HPP

#include <support/outcome.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>

namespace colock::test {

/// Beats on a context that is run by this thread, and tells how long the context was kept from it.
/**
 * The time in which this thread could run but the machine ran others does not count, nor what a hypervisor has taken from
 * any of the processors.
 */
class pulse {
public:
    explicit pulse(asio::io_context& io) : io_{io}, timer_{io} {}

    /// Runs the context like `becomes_true()`, with a beat every few milliseconds.
    template <class Condition>
    bool becomes_true(Condition&& condition, std::chrono::milliseconds limit = long_enough)
    {
        last_ = now();
        beat();
        const bool became = test::becomes_true(io_, condition, limit);
        note();
        timer_.cancel();
        io_.restart();
        io_.poll();
        return became;
    }

    /// The longest time between two beats.
    [[nodiscard]] std::chrono::nanoseconds longest() const noexcept { return longest_; }

private:
    static std::chrono::nanoseconds now()
    {
        std::int64_t ran = 0;
        std::int64_t waited = 0;
        std::ifstream{"/proc/thread-self/schedstat"} >> ran >> waited;
        return std::chrono::steady_clock::now().time_since_epoch() -
               std::chrono::nanoseconds{waited} - stolen();
    }
    static std::chrono::nanoseconds stolen()
    {
        std::string all;
        std::int64_t kinds[8] = {}; // of time, in ticks: the eighth is what was stolen
        std::ifstream in{"/proc/stat"};
        in >> all;
        for (auto& each : kinds) {
            in >> each;
        }
        static const auto ticks_a_second = ::sysconf(_SC_CLK_TCK);
        return std::chrono::nanoseconds{kinds[7] * 1'000'000'000 / ticks_a_second};
    }
    void note()
    {
        const auto at = now();
        longest_ = std::max(longest_, at - last_);
        last_ = at;
    }
    void beat()
    {
        timer_.expires_after(std::chrono::milliseconds{2});
        timer_.async_wait([this](boost::system::error_code failed) {
            if (!failed) {
                note();
                beat();
            }
        });
    }

    asio::io_context& io_;
    asio::steady_timer timer_;
    std::chrono::nanoseconds last_{};
    std::chrono::nanoseconds longest_{};
};

} // namespace colock::test

#endif
