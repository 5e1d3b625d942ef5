// A timer of a part of a client.
#pragma once

#include "session/client_strand.hpp"
#include "zk/strand.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace colock::detail {

// On the strand. It calls nothing when the client is gone, or when it was stopped or started anew.
class client_timer {
public:
    // The strand outlives it.
    explicit client_timer(const client_strand& strand) : strand_{strand}, timer_{*strand} {}

    template <class Due>
    void start(std::chrono::nanoseconds time, Due due)
    {
        timer_->expires_after(time);
        timer_->async_wait([client = strand_.client(), this, mine = ++use_,
                            due = std::move(due)](const boost::system::error_code& ec) {
            if (const auto alive = client.lock(); alive && !ec && mine == use_) {
                due();
            }
        });
    }
    void stop()
    {
        timer_->cancel();
        ++use_;
    }
    // The context is being destroyed.
    void discard() noexcept { timer_.reset(); }

private:
    const client_strand& strand_;
    std::optional<zk::timer> timer_;
    std::uint64_t use_ = 0; // tells an expiry that was too late to be cancelled
};

} // namespace colock::detail
