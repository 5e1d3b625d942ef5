// A timer of the boot_clock.
#pragma once

#include "zk/strand.hpp"

#include <chrono>
#include <utility>

namespace colock::detail {

// Asio's timers stand still while the machine sleeps. This one goes on: when its time passes meanwhile, it is due as soon
// as the machine wakes. It has a descriptor of the system, and each wait costs two calls of the system. So it is for what
// a client waits for, and not for each operation.
class boot_timer {
public:
    // Throws system_error when the process may not open another descriptor.
    explicit boot_timer(const zk::strand_type& strand);

    // By the boot_clock. Cancels a wait that is under way.
    void expires_at(std::chrono::nanoseconds when);

    // A handler that was about to run when the time was moved still runs, and without an error: let it look at the clock.
    template <class Handler>
    void async_wait(Handler&& handler)
    {
#ifdef COLOCK_PORTABLE
        timer_.async_wait(std::forward<Handler>(handler));
#else
        descriptor_.async_wait(zk::stream::wait_read, std::forward<Handler>(handler));
#endif
    }

    void cancel();

private:
#ifdef COLOCK_PORTABLE
    zk::timer timer_;
#else
    zk::stream descriptor_;
#endif
};

} // namespace colock::detail
