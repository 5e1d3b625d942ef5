// Proof that the session lives, for those who hold locks or are about to.
#pragma once

#include "session/boot_timer.hpp"
#include "session/client_basics.hpp"
#include "session/heartbeat.hpp"
#include "session/listeners.hpp"
#include "session/request_queue.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace colock::detail {

// Sends the heartbeats that protocol::heartbeat orders, and publishes the bound. On the strand.
class liveness {
public:
    liveness(client_basics& basics, request_queue& requests, listeners& listening);

    // Changes the count of contenders that are next in line; heartbeats run while there are any.
    void count_next_in_line(bool one_more);
    // The same of holders of a lock, which want to be told (session_listener::check) that long before
    // the session may end.
    void add_holder(std::chrono::nanoseconds margin);
    void remove_holder(std::chrono::nanoseconds margin);
    // Proves as soon as possible that the session lives; calls proved() of all.
    void await_proof();

    // By an attempt that began then. `timeout`: the smallest that was granted in this session.
    void connected(std::chrono::nanoseconds began, std::chrono::milliseconds timeout);
    void disconnected() { heartbeat_.disconnected(); }
    // The session is over, and those who rely on it know.
    void ended();
    void answered(const request& r, const zk::reply& reply);
    // After answered(): of a proof that was awaited.
    void tell_proof();
    // Any thread, where there is no memory to post what a release or a loss leaves to do: the next heartbeat calls catch_up() of
    // all.
    void catch_up_later() noexcept { catches_up_ = true; }
    // No heartbeat is sent before the next connection.
    void stop();
    void discard() noexcept { timer_.reset(); }

    // Any thread: the servers do not end the session before this time of the boot_clock.
    [[nodiscard]] std::chrono::nanoseconds safe_until() const noexcept
    {
        return std::chrono::nanoseconds{bound_.load(std::memory_order_acquire)};
    }

private:
    void publish_bound();
    void wait();
    void beat();
    void send(request_ptr r);
    void report(const zk::reply& r, bool proves, std::chrono::nanoseconds sent) const;

    client_basics& basics_;
    request_queue& requests_;
    listeners& listeners_;
    protocol::heartbeat heartbeat_;
    std::optional<boot_timer> timer_;
    std::chrono::nanoseconds set_for_ = std::chrono::nanoseconds::max(); // of the boot_clock
    std::atomic<std::int64_t> bound_{0};
    std::atomic<bool> catches_up_{false};
    bool proof_has_come_ = false; // of those that were waited for
};

} // namespace colock::detail
