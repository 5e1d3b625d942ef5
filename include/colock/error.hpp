// Errors: what can go wrong, and what to do about it.
//
// `colock::errc` has the codes of locks and of the client, `colock::zookeeper_errc` those of ZooKeeper itself, with
// ZooKeeper's own numbers. Programs that decide what to do next compare a code with a `colock::condition`, which
// covers all codes that call for the same reaction. Cancellation is `boost::asio::error::operation_aborted`, as
// everywhere in Asio.
//
// A code cannot name the host or the path that it concerns: the `diagnostics` of the operation and the log
// sink of `client_options` do.
#ifndef COLOCK_ERROR_HPP
#define COLOCK_ERROR_HPP

#include <colock/detail/config.hpp>

#include <boost/system/error_code.hpp>
#include <boost/system/error_condition.hpp>

#include <type_traits>

namespace colock {

/// What every operation completes with.
using error_code = boost::system::error_code;

/// What went wrong with a lock or with the client.
enum class errc {
    /// A path is not absolute, ends in '/', is too long, or contains "//", ".", ".." or what ZooKeeper forbids in names:
    /// control and private-use characters, those from U+FFF0 on, bytes that are no UTF-8. Paths look like
    /// "/locks/orders".
    invalid_path = 1,
    /// `client_options::hosts` is empty or malformed. It looks like "host:2181,other:2181".
    invalid_hosts,
    /// A time-out or another option has a value that makes no sense, such as a negative time.
    invalid_option,
    /// No host name of the list could be resolved.
    unknown_host,
    /// No server of the list accepted this client within `client_options::connect_timeout`: nothing listens there, or
    /// something that is not ZooKeeper, or the ensemble has no majority.
    no_server,
    /// No server answered within `client_options::connect_timeout`.
    connect_timeout,
    /// `client_options::chroot` does not exist on the servers, or not any more. Create it first; colock does not.
    no_chroot,
    /// `client::async_connect` has not been called, or it failed.
    not_connected,
    /// There is no connection at the moment, and the operation was asked not to wait for one.
    disconnected,
    /// The client was closed or destroyed.
    client_closed,
    /// The guard holds nothing: it is empty, moved-from, released or unlocked.
    not_held,
    /// The lock was lost while it was held.
    lock_lost,
    /// The session expired, and with it its locks: the reason of a loss; of a waiter without
    /// `lock_options::rejoin_on_expiry`; of a write that was sent and not answered, which may have been carried out.
    /// So it belongs to two conditions, `lock_lost` and `outcome_unknown`. The client begins another session by itself.
    session_expired,
    /// The lock was lost because an operator deleted its node, or ended its session.
    node_deleted,
    /// The lock was lost because its `safe_until` passed: the servers may have ended the session.
    safe_until_passed,
    /// Another lock object of this client uses the path with other options or as another kind of lock;
    /// the diagnostics of the operation name what differs.
    conflicting_use,
    /// Another client uses the path as another kind of lock. They would not exclude each other. docs/locks.md says
    /// which kinds it can distinguish. A former `semaphore` at this path also looks so: delete its empty directories
    /// `locks` and `leases`, if the servers have not done so.
    conflicting_kind,
    /// The sequence numbers of the directory are exhausted. Delete the directory while nobody uses it. colock does so in
    /// time where it may, if the directory has no data, the access control list of the client's nodes, and nothing in it but
    /// the lock's queue, and if all in the queue are clients of colock.
    sequence_exhausted,
    /// Another node of the directory has the sequence number of this one. An operator creates nodes there.
    duplicate_sequence,
    /// The owner waits for this `recursive_mutex` already: it would wait for itself.
    owner_waits,
    /// An outer guard of a `recursive_mutex` was unlocked before an inner one.
    unlock_out_of_order,
    /// More permits of a `semaphore` were asked for than there are.
    too_many_permits,
    /// Others have permits of the `semaphore`, or take part in the `latch` or `barrier`, with another number.
    conflicting_maximum,
    /// The node of a `counter_node` does not hold a number of four bytes.
    invalid_counter,
    /// A `multi_lock` names a path twice: it would wait for itself.
    path_twice,
    /// The locks of a `multi_lock` belong to several clients.
    several_clients,
    /// A `multi_lock` names no lock.
    nothing_to_lock,
    /// A client asked for the lock, and the body of `async_with_lock` was cancelled; see
    /// `lock_options::cancel_when_revoked`.
    revoked,
    /// At the path of a `single_node_mutex` is a node that is not ephemeral, so waiting for it would be in vain.
    /// Delete it if it is a left-over; else use another path.
    not_ephemeral,
    /// `guarded()` of a `single_node_mutex`: the node of the next holder looks the same. Write the `token()`
    /// with the data, and let the store refuse an older one.
    cannot_guard,
    /// The request, or a credential, is larger than `client_options::max_request_size`; nothing was sent. Write
    /// less at once, or raise the limit together with `jute.maxbuffer` of the servers.
    request_too_large,
    /// No server could be spoken to by TLS: its certificate was refused, it refused the client's, or it does not speak
    /// TLS at this port. The diagnostics say which, for the last server that was tried. Correct the context
    /// (`client_options::tls`), the name (`tls_server_name`), or the server.
    tls_failed,
    /// `async_ensure_lock_root`: the node exists, and clients that are not in the access control list may do more there
    /// than read. The diagnostics name the entry. Replace the node's list (`client::async_set_acl`), or use another path.
    unprotected,
    /// The ephemeral nodes of the client's session would take more than `client_options::max_session_size`. Nothing was
    /// created. Hold fewer locks at once, use another client as well, or raise the limit together with `jute.maxbuffer` of
    /// all servers.
    session_full,
    /// The client belongs to the process that created it, and this process is a forked child. Create another client in
    /// the child. It is also the reason why the child's copies of guards hold nothing.
    forked,
    /// The time of a try was over, and a request of this client had been without an answer for a quarter of a second, or
    /// longer: the servers were silent, or the client's executor was too busy to read their answers. So it is unknown
    /// whether the lock is busy. Try again later.
    no_answer,
    /// Another member of the group has this name, and did not leave for as long as a session lasts. Use another name.
    name_in_use,
    /// A store has refused the token of this grant: it has seen the token of a later one, so an exclusive lock was lost.
    /// Nothing was written. A `shared_lock` presents no token. See `fenced`, colock/fence/fenced.hpp.
    fenced,
    /// The body of `async_with_lock` was cancelled, and ended by that, because it had held the lock for
    /// `lock_options::max_hold`. It held the lock until it ended.
    held_too_long,
    /// The servers have refused credentials that `client::async_add_credentials` adds. The client continues without them, in
    /// the same session. Correct them.
    credentials_refused,
};

/// ZooKeeper's own codes, with ZooKeeper's own numbers. No operation completes with `session_expired` of these: it is
/// `errc::session_expired` then.
enum class zookeeper_errc {
    system_error = -1,
    runtime_inconsistency = -2,
    data_inconsistency = -3,
    connection_loss = -4,
    marshalling_error = -5,
    unimplemented = -6,
    operation_timeout = -7,
    bad_arguments = -8,
    invalid_state = -9,
    new_config_no_quorum = -13,
    reconfig_in_progress = -14,
    ssl_connection_error = -15,
    api_error = -100,
    no_node = -101,
    no_auth = -102,
    bad_version = -103,
    no_children_for_ephemerals = -108,
    node_exists = -110,
    not_empty = -111,
    session_expired = -112,
    invalid_callback = -113,
    invalid_acl = -114,
    auth_failed = -115,
    closing = -116,
    nothing = -117,
    session_moved = -118,
    not_read_only = -119,
    ephemeral_on_local_session = -120,
    no_watcher = -121,
    reconfig_disabled = -123,
    session_closed_require_sasl_auth = -124,
    quota_exceeded = -125,
    throttled_op = -127,
};

/// How a program should react to a code: compare the code with it.
///
/// ```cpp
/// colock::diagnostics why;
/// const auto [ec, mine] = co_await m.async_try_lock_for(
///     5s, colock::bind_diagnostics(why, asio::as_tuple(asio::use_awaitable)));
/// if (ec == colock::condition::unavailable) {
///     std::cerr << "no server at the moment, trying again later\n";
/// } else if (ec == colock::condition::misuse) {
///     std::cerr << "a mistake of this program: " << why.message() << '\n';
/// }
/// ```
///
/// A code may belong to several conditions: `zookeeper_errc::connection_loss` of a write is `outcome_unknown` and
/// `unavailable`; `errc::session_expired` is `outcome_unknown`, of a write, and `lock_lost`, of a held lock;
/// `errc::forked` is `misuse` and `lock_lost`. These codes belong to none: `errc::client_closed` (this program has closed
/// the client itself), `errc::held_too_long` (its body was too slow), `errc::tls_failed`, `errc::credentials_refused`,
/// `zookeeper_errc::auth_failed`, `session_closed_require_sasl_auth`, and those that describe what is on the servers, such as `no_node`.
enum class condition {
    /// The lock is no longer held, though nobody has released it: stop what needs it, acquire it again. Codes:
    /// `errc::lock_lost`, `session_expired`, `node_deleted`, `safe_until_passed`, `fenced`, `forked`.
    lock_lost = 1,
    /// Another client has asked for the lock, and `cancel_when_revoked` has cancelled the body. The lock was held until
    /// the body ended: acquire it again when the work may go on. Code: `errc::revoked`.
    revoked,
    /// A write was sent, and no answer came: it may have been carried out. Check, or repeat what may be done twice. As
    /// the function `outcome_unknown`.
    outcome_unknown,
    /// The program, or one that shares the path, has to be changed: repeating the call is of no use. Codes: those of
    /// `errc` for bad paths, options and arguments, for conflicting uses of a path, and for calls in a wrong order;
    /// `zookeeper_errc::bad_arguments` and `invalid_acl`.
    misuse,
    /// No server answers at the moment: the same call may succeed later. Codes: `errc::unknown_host`, `no_server`,
    /// `connect_timeout`, `disconnected`, `no_answer`; `zookeeper_errc::connection_loss`, `operation_timeout`,
    /// `runtime_inconsistency`, `session_moved`, `throttled_op`.
    unavailable,
};

/// The category of `errc`, named "colock". A singleton; thread-safe.
COLOCK_DECL const boost::system::error_category& colock_category() noexcept;

/// The category of `zookeeper_errc`, named "colock.zookeeper". A singleton; thread-safe.
COLOCK_DECL const boost::system::error_category& zookeeper_category() noexcept;

/// The category of `condition`, named "colock.condition". A singleton; thread-safe.
COLOCK_DECL const boost::system::error_category& condition_category() noexcept;

/// The code of this error.
inline error_code make_error_code(errc e) noexcept
{
    return {static_cast<int>(e), colock_category()};
}

/// The code of this answer of the servers.
inline error_code make_error_code(zookeeper_errc e) noexcept
{
    return {static_cast<int>(e), zookeeper_category()};
}

/// What codes are compared with.
inline boost::system::error_condition make_error_condition(condition c) noexcept
{
    return {static_cast<int>(c), condition_category()};
}

/// True when the same request can be sent again as it is and may then succeed. Says nothing about
/// whether it has already been carried out: ask `outcome_unknown` too. False for `errc::unknown_host`, which is
/// `condition::unavailable` all the same: the name has to be known first.
[[nodiscard]] COLOCK_DECL bool is_retryable(const error_code& ec) noexcept;

/// True when the client's session is over, and with it its locks. The servers remove its ephemeral nodes when they end
/// the session: before this code, or by its time-out.
[[nodiscard]] COLOCK_DECL bool is_session_fatal(const error_code& ec) noexcept;

/// True when a write that completed with this code may or may not have been carried out: it had been
/// sent, and no answer to it came.
[[nodiscard]] COLOCK_DECL bool outcome_unknown(const error_code& ec) noexcept;

} // namespace colock

template <>
struct boost::system::is_error_code_enum<colock::errc> : std::true_type {
};
template <>
struct boost::system::is_error_code_enum<colock::zookeeper_errc> : std::true_type {
};
template <>
struct boost::system::is_error_condition_enum<colock::condition> : std::true_type {
};

#endif
