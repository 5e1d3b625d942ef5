// When the event loop of a process of the chaos ran.
#ifndef COLOCK_TEST_CHAOS_PULSE_HPP
#define COLOCK_TEST_CHAOS_PULSE_HPP

#include "journal.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>

#include <array>
#include <chrono>

namespace chaos {

// Proves that the event loop runs.
class pulse {
public:
    explicit pulse(boost::asio::io_context& io) : timer_{io} { beat(); }
    void stop()
    {
        stopped_ = true; // the next beat may be on its way
        timer_.cancel();
    }

    // The loop ran then, and at least twice for 5 ms since: whatever was ready then has been carried out.
    [[nodiscard]] nanoseconds ran() const noexcept { return beats_.front(); }

private:
    void beat()
    {
        beats_ = {beats_[1], beats_[2], now()};
        timer_.expires_after(std::chrono::milliseconds{5});
        timer_.async_wait([this](boost::system::error_code ec) {
            if (!ec && !stopped_) {
                beat();
            }
        });
    }

    bool stopped_ = false;
    boost::asio::steady_timer timer_;
    std::array<nanoseconds, 3> beats_{};
};

} // namespace chaos

#endif
