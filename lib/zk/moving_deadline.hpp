// One timer for a deadline that moves out all the time.
#pragma once

#include "zk/strand.hpp"

#include <chrono>
#include <utility>

namespace colock::zk {

// The C client's deadlines move out with every packet. The timer is left as it is then, goes off early, and is set anew: a
// few wake-ups in each third of the session time-out, instead of one call each packet. On the strand.
class moving_deadline {
public:
    using clock = std::chrono::steady_clock;

    explicit moving_deadline(const strand_type& strand) : timer_{strand} {}

    // `then` is called at that time, or before; it keeps this object alive. Not while an earlier wait goes on: that calls its own.
    template <class Then>
    void wait(clock::time_point until, Then then)
    {
        deadline_ = until;
        if (until >= timer_at_) {
            return;
        }
        timer_at_ = until;
        timer_.expires_at(until);
        timer_.async_wait([this, then = std::move(then)](const boost::system::error_code& ec) {
            if (!ec) {
                timer_at_ = clock::time_point::max();
                then();
            }
        });
    }
    // Whether the deadline of the last wait has come. A little early: the C client counts whole milliseconds.
    [[nodiscard]] bool is_near() const
    {
        return clock::now() >= deadline_ - std::chrono::milliseconds{5};
    }
    void stop() { timer_.cancel(); }

private:
    timer timer_;
    clock::time_point timer_at_ = clock::time_point::max();
    clock::time_point deadline_ = clock::time_point::max();
};

} // namespace colock::zk
