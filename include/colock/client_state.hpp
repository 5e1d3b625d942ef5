// The state of a client, and its counters.
#ifndef COLOCK_CLIENT_STATE_HPP
#define COLOCK_CLIENT_STATE_HPP

#include <colock/histogram.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace colock {

/// The state of the connection to the servers.
enum class connection_state {
    idle,       ///< Not connected, and not trying: call `async_connect`.
    connecting, ///< The first connection is being made.
    connected,  ///< Connected, with a session.
    suspended,  ///< The connection is lost and being repaired. The session may live on.
    closed,     ///< Closed, for good.
};

/// The name of the value, such as "closed"; "unknown" of a number that is none of them.
[[nodiscard]] constexpr std::string_view to_string(connection_state value) noexcept
{
    switch (value) {
    case connection_state::idle: return "idle";
    case connection_state::connecting: return "connecting";
    case connection_state::connected: return "connected";
    case connection_state::suspended: return "suspended";
    case connection_state::closed: return "closed";
    }
    return "unknown";
}

/// Acquisitions by outcome, as `observer` reports them, but for a `multi_lock` as a whole. Counted while the client has an observer or
/// `client_options::histograms`; else all of them are 0.
struct acquisition_stats {
    std::uint64_t begun = 0;     ///< All of them.
    std::uint64_t granted = 0;   ///< Also those that were lost before the handler ran.
    std::uint64_t busy = 0;      ///< Tries that found another holder or waiter.
    std::uint64_t timed_out = 0; ///< Their deadline passed, without an error.
    std::uint64_t cancelled = 0; ///< By the caller, or the client was destroyed.
    std::uint64_t failed = 0;    ///< With an error.
    std::uint64_t dropped = 0; ///< Their handlers are never called: the execution context is gone.
    std::uint64_t waiting = 0; ///< Now: begun, and not ended.
    /// Of those that were granted: through the server, when the client's contender had waited for another one.
    std::uint64_t handed_over = 0;
};

/// Lost grants by reason; see `held_lock::loss_reason`. Their sum is `client_stats::locks_lost`.
struct loss_stats {
    std::uint64_t session_expired = 0;   ///< `errc::session_expired`
    std::uint64_t node_deleted = 0;      ///< `errc::node_deleted`
    std::uint64_t safe_until_passed = 0; ///< `errc::safe_until_passed`
    std::uint64_t client_closed = 0;     ///< `errc::client_closed`
};

/// Shards of `shards`. A move is taken by one client, and given up by another one.
struct shard_stats {
    std::uint64_t owned = 0;    ///< Now.
    std::uint64_t taken = 0;    ///< Times that this client became the owner of one.
    std::uint64_t given_up = 0; ///< The shard moved, or its body or the run ended.
    std::uint64_t lost = 0;     ///< The lock was lost.
};

/// Times; counted with `client_options::histograms`, else empty.
struct time_stats {
    histogram
        wait; ///< Of acquisitions that were granted: from the initiating function to the grant.
    histogram hold; ///< From the grant until the lock was released or lost.
    /// What was left until `safe_until()` when a hold ended, 0 when the bound had passed: the remaining safety margin.
    histogram margin;
    histogram
        heartbeat; ///< Round trips of heartbeats. A client sends some only while it sends nothing else.
    /// Of shards that this client took or gave up: how long they were without an owner, see `shard_start::gap` and
    /// `shard_end::gap`.
    histogram shard_gap;
};

/// Counters since the client was made, and figures of the moment.
struct client_stats {
    std::uint64_t connect_attempts = 0; ///< Connections that were tried.
    std::uint64_t connections = 0;      ///< Connections that reached a session.
    std::uint64_t sessions = 0;         ///< Sessions that were begun.
    std::uint64_t expirations = 0;      ///< Sessions that expired.
    std::uint64_t requests = 0;         ///< Requests sent, pings not counted.
    std::uint64_t heartbeats = 0;       ///< Those of `requests` that were heartbeats.
    std::uint64_t replies = 0;          ///< Replies received.
    std::uint64_t watch_events = 0;     ///< Watch events received.
    std::uint64_t wakeups = 0;          ///< How often the client's I/O handlers ran.
    /// Grants: of locks, and of permits, where one acquisition is one grant. The guards of one owner of a
    /// `recursive_mutex` share a grant. An acquisition of permits also takes the lock of the semaphore's queue,
    /// which counts as a grant of its own. A downgrade releases one grant and makes another.
    /// Each grant ends as released or as lost: `locks_granted - locks_released - locks_lost` are held now.
    std::uint64_t locks_granted = 0;
    std::uint64_t locks_released =
        0;                        ///< Grants whose guard released before the client knew of a loss.
    std::uint64_t locks_lost = 0; ///< Grants that the client lost while a guard held them.
    std::uint64_t bodies_cancelled =
        0; ///< Bodies of async_with_lock and its kind that were cancelled.
    std::uint64_t bodies_overdue = 0; ///< Those of them that took longer than `body_grace` to end.
    std::size_t in_flight = 0;        ///< Requests sent and not yet answered.
    std::size_t waiting = 0;          ///< Requests that wait for a connection.
    std::size_t contenders = 0; ///< Lock nodes that exist, are being made, or are being removed.
    /// Those of `locks_granted` that a server granted to this client, counted before them. All others were granted in
    /// memory: another user of this client handed the lock off, or the client had the node anyway.
    std::uint64_t locks_granted_by_servers = 0;
    loss_stats losses = {};              ///< `locks_lost`, by reason.
    acquisition_stats acquisitions = {}; ///< By outcome.
    time_stats times = {};               ///< With `client_options::histograms`.
    shard_stats shards = {};             ///< Of `shards`.
    /// A session guard runs and has been sent the session: see `session_guard_options`. One that turns out to be unable to
    /// end a session, such as one whose module does not load, dies within some two seconds; until then this is true.
    bool session_guarded = false;
    /// How long the session is safe from now on if the servers stay silent, as far as the client knows; 0 when it
    /// may have ended, without a session, and where nothing is held for long, because only locks need the proof. A lock
    /// counts as lost earlier by its `lock_options::safety_margin`.
    std::chrono::nanoseconds safe_for{0};
};

} // namespace colock

#endif
