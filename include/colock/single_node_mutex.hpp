// A distributed mutex that is one ephemeral node, without a queue.
#ifndef COLOCK_SINGLE_NODE_MUTEX_HPP
#define COLOCK_SINGLE_NODE_MUTEX_HPP

#include <colock/client.hpp>
#include <colock/detail/lock_functions.hpp>
#include <colock/lock_options.hpp>
#include <colock/unique_lock.hpp>

#include <string>
#include <utility>

namespace colock {

/// A mutex that is one ephemeral node, without a queue: the client that creates the node `path` has it. Use it for
/// paths that are shared with services that lock by "create ephemeral, else watch", and where there is almost no
/// contention: it takes one write and no list.
///
/// ```cpp
/// colock::single_node_mutex job{zk, path};
/// co_await job.async_with_lock([&](const colock::unique_lock& held) -> asio::awaitable<void> {
///     co_await write(held.token(), text);
/// });
/// ```
///
/// **When not to use it**: whenever others may wait, and you are free to choose. Prefer `mutex`.
///
/// - **A herd** (G7 is not promised): each waiter watches the node, and each release wakes all of them; each tries
///   to create the node, and all but one in vain. The load of a release grows with the number of waiters; a picture
///   of it is in docs/benchmarks/herd.md.
/// - **No order, no fairness** (G2 is not promised): the quickest client is next, a newcomer as well as one that has
///   waited for long. A waiter may starve. Only the waiters of one client are served in the order in which they came.
/// - **Only a read distinguishes one holder's node from the next one's.** So `unique_lock::guarded` throws
///   `errc::cannot_guard`; use `unique_lock::token`. An operator who deletes the node may do more harm than in a
///   queue: a release that is under way at that moment deletes the node of the next holder. That holder is notified
///   (`errc::node_deleted`), but perhaps after another client was granted the lock.
/// - A try does not see who waits, and may overtake waiters on other clients. A free mutex costs it a read and a write.
/// - No client can see who waits: `queue_view` is of no use.
///
/// **What is guaranteed**: among live sessions at most one holds the mutex (G1), unless an operator deletes its node.
/// No node is orphaned (G3). A waiter is woken (G4), and a holder is notified of its loss (G5). The tokens of successive
/// grants grow. **What is not**: a process that is paused for longer than its session may continue without
/// knowing that it lost the mutex; see `unique_lock::token`.
///
/// Missing parents are created, as containers. The node at the path must be ephemeral. Otherwise operations do not
/// wait: they complete with `errc::conflicting_kind` if it has children, as the directory of another kind of lock has while
/// somebody uses it, and with `errc::not_ephemeral` otherwise. Waiters must be allowed to read it; another library may
/// have created it. Its data are ignored, except for a revocation.
///
/// **To ask the holder to release**, write the request into the node. `async_revoke` and `async_revoke_holders` are for
/// queues, and refuse this node. The holder is notified by `unique_lock::async_wait_revoked`, or by
/// `lock_options::cancel_when_revoked`:
///
/// ```cpp
/// co_await zk.async_set(path, std::string{colock::revocation_request});
/// ```
///
/// **Options**: `lock_options::layout`, `linger` and `max_linger` have no meaning here, and are refused with
/// `errc::invalid_option` if they are set. Waiters on one client share one contender. A client never knows whether
/// others wait elsewhere. So `max_local_grants` and `max_local_time` always bound how long its waiters hand the mutex
/// off in memory. Then the client gives the node up, and its waiters contend with the others as if they had just
/// come. With `max_local_grants = 0` it does so after each of them. A waiter whose session expires has no place to
/// lose; `rejoin_on_expiry` says whether it continues to wait.
///
/// **Errors** of every acquisition and body, with what to do. docs/locks.md has the rest of them, which are rare.
///
/// | code | what it means, and what to do |
/// |---|---|
/// | `errc::invalid_path`, `errc::invalid_option` | Correct what the diagnostics name (`bind_diagnostics`). |
/// | `errc::not_connected` | Call `client::async_connect` first. |
/// | `errc::conflicting_use` | Lock objects of one client and path need one kind and equal options. |
/// | `errc::conflicting_kind` | Another client uses the path as another kind of lock. Use another path. |
/// | `errc::not_ephemeral` | At the path is a node that no session owns. Delete it if it is a left-over. |
/// | `errc::session_expired` | `lock_options::rejoin_on_expiry` is false. Acquire again. |
/// | `condition::lock_lost` | It was granted, and lost before its handler ran. Acquire it again. |
/// | `errc::no_answer` | Of tries with a time: no answer had come at its end. Try again later. |
/// | `zookeeper_errc::no_auth` | Add credentials, or change the access control list. |
/// | `errc::client_closed` | The client was closed. |
/// | `operation_aborted` | The operation was cancelled, or the client was destroyed. |
/// | `errc::lock_lost` | Of bodies: the mutex was lost before the body ended, or before a server confirmed |
/// | | the release; or the client was closed. Do not rely on what the body did. |
/// | `errc::revoked` | Of bodies: a client asked for the lock, see `lock_options::cancel_when_revoked`. |
///
/// docs/locks.md also says what a body may be, and what it completes with. For all functions of this class:
///
/// **Cancellation** of an acquisition: terminal and partial complete it at once, and its node is removed in the
/// background. Total completes it when no trace of it is left, which may take until there is a connection. After the
/// grant a cancellation comes too late, and the guard is delivered. While a body runs, any type is passed on to the
/// body, and the operation completes when the body has ended.
///
/// **Executor**: a handler runs on its associated executor, by default the client's; never within the function that
/// starts the operation.
///
/// **Thread safety**: all functions of one object may be called from several threads at once, except assigning and
/// destroying it.
///
/// **Lifetime**: an object is a handle; one that was moved from may only be assigned or destroyed. Making it does no
/// I/O and does not throw for a bad path. It may be destroyed while its operations are under way; they continue. Two
/// objects of one client and path exclude each other, and must have equal options as long as both live; another kind
/// of lock of this client cannot use the path meanwhile (`errc::conflicting_use`). The same client must not create or
/// delete the node by other means.
class COLOCK_DECL single_node_mutex : public detail::exclusive_lock {
public:
    // Not one with a default argument: GCC 12 would destroy that twice in a co_await expression.
    /// The mutex at `path`, which must not be "/", with the default options.
    single_node_mutex(client& zk, std::string path) : single_node_mutex{zk, std::move(path), {}} {}
    /// The mutex at `path`, which must not be "/". Operations refuse options that make no sense, and those that this
    /// kind cannot honour (`errc::invalid_option`).
    single_node_mutex(client& zk, std::string path, lock_options options);
};

} // namespace colock

#endif
