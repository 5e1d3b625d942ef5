// What a client counts for client_stats.
#pragma once

#include <colock/error.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace colock::detail {

using counter = std::atomic<std::uint64_t>;

// Grants that are lost, by the reason. Any thread.
struct loss_counters {
    counter all{0}, session_expired{0}, node_deleted{0}, safe_until_passed{0}, client_closed{0};

    void add(const error_code& why, std::uint64_t n) noexcept
    {
        auto& reason = why == errc::session_expired ? session_expired
                       : why == errc::node_deleted  ? node_deleted
                       : why == errc::client_closed ? client_closed
                                                    : safe_until_passed;
        reason.fetch_add(n, std::memory_order_relaxed);
        all.fetch_add(n, std::memory_order_relaxed);
    }
};

struct body_counters {
    counter cancelled{0}, overdue{0};
};

struct shard_counters {
    counter taken{0}, given_up{0}, lost{0};
};

// Any thread. Grants are in two of them: those of an acquisition of the user, and those that only an acquisition knows.
struct counters {
    counter connect_attempts{0}, connections{0}, sessions{0}, expirations{0}, requests{0},
        heartbeats{0}, replies{0}, watch_events{0}, wakeups{0}, locks_granted{0}, locks_released{0},
        granted_by_servers{0}, granted_inside{0};
    std::atomic<std::size_t> in_flight{0}, waiting{0}, contenders{0};
    std::atomic<bool> session_guarded{false};
    loss_counters lost;
    body_counters bodies;
    shard_counters shards;
};

} // namespace colock::detail
