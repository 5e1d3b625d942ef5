// How a lock behaves.
#ifndef COLOCK_LOCK_OPTIONS_HPP
#define COLOCK_LOCK_OPTIONS_HPP

#include <colock/detail/made_once.hpp>
#include <colock/layout.hpp>
#include <colock/node.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace colock {

/// Options of a lock. They belong to the path within a client. An object, an operation, a guard, or a node that is still to
/// be deleted keeps them in force; without a connection the latter may last. Meanwhile, operations of another object with
/// other options complete with `errc::conflicting_use`. `owner_data` may differ.
///
/// An option that a kind of lock cannot honour is refused with `errc::invalid_option`, if it is not at its default. The
/// diagnostics of the operation name it (`bind_diagnostics`), and so does the text of an exception of
/// `async_with_lock` and its kind. Times of 25 days or more are refused, too.
///
/// ```cpp
/// colock::mutex patient{zk, path, {.linger = 1s}};
/// co_await patient.async_with_lock([&](const colock::unique_lock& held) -> asio::awaitable<void> {
///     co_await write(held.token(), text);
/// });
/// ```
struct lock_options {
    /// How the nodes are named; when empty, as Apache Curator names those of this kind of lock: `curator_layout` of a
    /// `mutex` and of a `recursive_mutex`, `curator_shared_layout` of a `shared_mutex`. A `semaphore` and a
    /// `single_node_mutex` have names of their own, and refuse any layout.
    std::optional<colock::layout> layout = {};

    /// Access control of the lock's nodes; `client_options::acl` when empty.
    std::optional<access_control_list> acl = {};

    /// Data of the lock's nodes, for people who look at the queue; by default host, process and program, see
    /// `default_owner_data` in queue_view.hpp. Data that do not fit into a request
    /// (`client_options::max_request_size`) are `errc::request_too_large`. Lock objects of one path and client share
    /// the data of the first of them. Neither the data nor their last line may be `revocation_request`.
    std::optional<std::string> owner_data = {};

    /// What a waiter does when its session expires: join the queue again at its end (true), or complete
    /// with `errc::session_expired`. A waiter that had no node yet joins with the next session in either case, except
    /// that of a `single_node_mutex`.
    bool rejoin_on_expiry = true;

    /// Safety margin: without contact to the servers, the lock is reported lost this long before another client
    /// could obtain it. The holder has this time to stop. While connections fail, it holds the lock for that much
    /// less. Must be less than about two thirds of the session time-out, less 1.25 `client_options::tick`: 4 s by
    /// default. More is refused with `errc::invalid_option`; the diagnostics of the operation give the limit.
    std::chrono::milliseconds safety_margin{0};

    /// How long a cancelled body of `async_with_lock` may continue before that is reported. The operation
    /// still waits for it.
    std::chrono::milliseconds body_grace = std::chrono::seconds{1};

    /// Whether a body of `async_with_lock` is cancelled, too, when a client asks for the lock
    /// (`held_lock::async_wait_revoked`). No client can ask for the permits of a `semaphore`, which refuses `true`.
    bool cancel_when_revoked = false;

    /// How long a body of `async_with_lock` may hold the lock. One that holds it for longer is cancelled, and if it ends by
    /// that, the operation completes with `errc::held_too_long`. `body_grace` says when the log
    /// reports that it goes on. The time begins with the body. Of several locks, the shortest time counts. Must be positive.
    ///
    /// Nothing can end what a guard protects: acquisitions without a body, such as `async_lock`, refuse an object with
    /// this option (`errc::invalid_option`).
    std::optional<std::chrono::milliseconds> max_hold = {};

    /// Waiters on one client, readers and writers apart, share one queue node and hand the lock on in memory, in the
    /// order in which they came, without asking a server. If another process may be waiting, at most
    /// `max_local_grants` further local grants follow the first one, within `max_local_time`; then the node goes to the
    /// end of the queue. When it is known that no other client waits there is no limit. With max_local_grants = 0 each
    /// waiter has a node of its own, and the order is that of the queue. A `single_node_mutex` has no queue: its waiters
    /// share the node all the same, and the client gives it up after each grant.
    ///
    /// Without a connection a client cannot learn of new remote contenders. If it knew of none before, the limits
    /// do not apply until it is connected again, or the lock is lost.
    ///
    /// The defaults keep the cost of a hand-over (a round trip or two) small compared with the work in between,
    /// and the delay small for waiters elsewhere.
    std::uint64_t max_local_grants = 64;
    /// See `max_local_grants`.
    std::chrono::milliseconds max_local_time{10};

    /// How long the node is kept when no caller on this client needs the lock any more, and no other client waits for
    /// it: the lock is then granted here without asking a server. A contender that joins the queue
    /// makes the client remove the node at once; an `async_try_lock` elsewhere does not, and finds the lock busy.
    /// `async_try_lock_for` with a duration does. More than zero is refused with
    /// `max_local_grants = 0`, and by a `semaphore` or `single_node_mutex`.
    std::chrono::milliseconds linger{0};
    /// Upper limit on how long an idle node is reused, counted from its grant; no less than `linger`.
    std::chrono::milliseconds max_linger = std::chrono::minutes{1};

    bool operator==(const lock_options&) const = default;

    /// Not for users: works around a fault of GCC 12.
    COLOCK_MADE_ONCE(lock_options);
};

} // namespace colock

#endif
