// When the nodes of those who hold a lock are watched.
#pragma once

#include "session/client_timer.hpp"
#include "session/listeners.hpp"
#include "session/request_queue.hpp"

#include <boost/intrusive/list.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace colock::detail {

// One timer for all of them: a lock that is taken and released costs no call of the system for it. Most listeners are gone
// when their time comes. The timer is left alone then: it goes off once in ten milliseconds. On the strand.
class own_watches {
public:
    own_watches(const client_strand& strand, request_queue& requests)
        : requests_{requests}, timer_{strand}
    {
    }

    // Calls own_watch_due() once, ten milliseconds from now or a little later, unless the listener is removed before.
    void schedule(session_listener& listener)
    {
        listener.own_watch_at_ = clock::now() + pause;
        list_.push_back(listener);
        wait(pause);
    }
    void discard() noexcept { timer_.discard(); }

private:
    using clock = std::chrono::steady_clock;
    static constexpr std::chrono::milliseconds pause{10};

    void wait(clock::duration time)
    {
        if (!std::exchange(waits_, true)) {
            timer_.start(time, [this] { due(); });
        }
    }
    void due()
    {
        waits_ = false;
        const request_queue::batch together{requests_};
        const auto now = clock::now();
        while (!list_.empty() && list_.front().own_watch_at_ <= now) {
            const auto listener = list_.front().self_;
            list_.pop_front();
            listener->own_watch_due();
        }
        if (!list_.empty()) {
            // Not before the last one at hand is due: one call of the timer serves all of them.
            wait(std::max<clock::duration>(list_.front().own_watch_at_ - now, pause));
        }
    }

    request_queue& requests_;
    client_timer timer_;
    bool waits_ = false;
    boost::intrusive::list<
        session_listener,
        boost::intrusive::member_hook<session_listener, session_listener::own_watch_hook,
                                      &session_listener::own_watch_hook_>,
        boost::intrusive::constant_time_size<false>>
        list_; // by time
};

} // namespace colock::detail
