// How a client stands, and what it has done: its state, and counters.
#ifndef COLOCK_CLIENT_STATE_HPP
#define COLOCK_CLIENT_STATE_HPP

#include <cstddef>
#include <cstdint>

namespace colock {

/// How the client stands with the servers.
enum class connection_state {
    idle,       ///< `async_connect` has not been called, or it failed.
    connecting, ///< The first connection is being made.
    connected,  ///< Connected, with a session.
    suspended,  ///< The connection is lost and being repaired. The session may live on.
    closed,     ///< Closed, for good.
};

/// Counters since the client was made, and figures of the moment.
struct client_stats {
    std::uint64_t connect_attempts = 0; ///< Connections that were tried.
    std::uint64_t connections = 0;      ///< Connections that reached a session.
    std::uint64_t sessions = 0;         ///< Sessions that were begun.
    std::uint64_t expirations = 0;      ///< Sessions that expired.
    std::uint64_t requests = 0;         ///< Requests sent, pings not counted.
    std::uint64_t replies = 0;          ///< Replies received.
    std::uint64_t watch_events = 0;     ///< Watch events received.
    std::uint64_t wakeups = 0;          ///< How often the client's I/O handlers ran.
    /// Grants: of locks, and of permits, where one acquisition is one grant. The guards of one owner of a
    /// `recursive_mutex` share a grant. An acquisition of permits also takes the lock of the semaphore's queue,
    /// which counts as a grant of its own. A downgrade releases one grant and makes another.
    /// Each grant ends as released or as lost: `locks_granted - locks_released - locks_lost` are held now.
    std::uint64_t locks_granted = 0;
    std::uint64_t locks_released =
        0;                        ///< Grants whose guard let go before the client knew of a loss.
    std::uint64_t locks_lost = 0; ///< Grants that the client lost while a guard held them.
    std::uint64_t bodies_cancelled =
        0; ///< Bodies of async_with_lock and its kind that were cancelled.
    std::uint64_t bodies_overdue = 0; ///< Those of them that went on for longer than `body_grace`.
    std::size_t in_flight = 0;        ///< Requests sent and not yet answered.
    std::size_t waiting = 0;          ///< Requests that wait for a connection.
    std::size_t contenders = 0; ///< Lock nodes that exist, are being made, or are being removed.
};

} // namespace colock

#endif
