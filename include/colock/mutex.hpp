// A distributed mutex.
#ifndef COLOCK_MUTEX_HPP
#define COLOCK_MUTEX_HPP

#include <colock/client.hpp>
#include <colock/detail/lock_functions.hpp>
#include <colock/lock_options.hpp>
#include <colock/unique_lock.hpp>

#include <string>
#include <utility>

namespace colock {

/// A mutex among all processes that use the same path of the same ensemble. Use it by `async_with_lock`, which runs a
/// body under the lock, and cancels the body when the lock is lost:
///
/// ```cpp
/// co_await m.async_with_lock([&](const colock::unique_lock& held) -> asio::awaitable<void> {
///     co_await write(held.token(), text);
/// });
/// ```
///
/// A contender is an ephemeral sequential node in the directory `path`, which is created when needed, as a container.
/// Contenders are granted in the order of their sequence numbers. Waiting costs no request: the server notifies a waiter
/// when its predecessors have gone. A disconnection does not cost the place in the queue as long as the session lives.
/// Waiters on one client share a contender, see `lock_options::max_local_grants`. colock keeps nothing in the data of the
/// directory.
///
/// Never nest a lock's path below another lock's path, and check names that come from outside. Every child of the
/// directory whose name ends like that of a contender is in the queue: one called `lock-0000000000` would hold
/// the lock, as contender 0.
///
/// **What is guaranteed**: among live sessions at most one holds the mutex, unless an operator deletes its node.
/// **What is not**: a process that is paused for longer than its session may continue without knowing that it lost
/// the mutex; see `unique_lock::token`.
///
/// **Errors** of every acquisition and body, with what to do. docs/locks.md has the rest of them, which are rare.
///
/// | code | what it means, and what to do |
/// |---|---|
/// | `errc::invalid_path`, `errc::invalid_option` | Correct what the diagnostics name (`bind_diagnostics`). |
/// | `errc::not_connected` | Call `client::async_connect` first. |
/// | `errc::conflicting_use` | Lock objects of one client and path need one kind and equal options. |
/// | `errc::conflicting_kind` | Another client uses the path as another kind of lock. Use another path. |
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
/// objects of one client and path exclude each other, and must have equal options (`errc::conflicting_use`),
/// see `lock_options`.
class COLOCK_DECL mutex : public detail::exclusive_lock {
public:
    // Not one with a default argument: GCC 12 would destroy that twice in `co_await mutex{...}.async_lock()`.
    /// The mutex at `path`, with the default options.
    mutex(client& zk, std::string path) : mutex{zk, std::move(path), {}} {}
    /// The mutex at `path`. Operations refuse options that make no sense (`errc::invalid_option`).
    mutex(client& zk, std::string path, lock_options options);
};

} // namespace colock

#endif
