// A distributed mutex that its owner may lock again.
#ifndef COLOCK_RECURSIVE_MUTEX_HPP
#define COLOCK_RECURSIVE_MUTEX_HPP

#include <colock/client.hpp>
#include <colock/detail/lock_functions.hpp>
#include <colock/lock_options.hpp>
#include <colock/recursive_lock.hpp>

#include <string>
#include <utility>

namespace colock {

/// The caller for whom a lock is taken: what a thread is to `std::recursive_mutex`. Coroutines move between threads,
/// so an owner is an object. Create one for each flow of control that locks, and pass it to what it calls.
///
/// One owner may lock several mutexes. It may be destroyed before the guards. Movable, not copyable; one that
/// was moved from may only be destroyed or assigned to.
///
/// **Thread safety**: one object may be used from several threads at once, except moving, assigning and
/// destroying it.
class COLOCK_DECL lock_owner : public detail::face_of<detail::owner_state> {
public:
    /// An owner of no lock yet.
    lock_owner();
    lock_owner(lock_owner&&) noexcept = default;
    lock_owner& operator=(lock_owner&&) noexcept = default;
};

/// A `mutex` that its owner may lock again: that is granted at once, without asking a server. Use it by
/// `async_with_lock`, which runs a body under the lock, and cancels the body when the lock is lost:
///
/// ```cpp
/// colock::recursive_mutex ledger{zk, path};
/// colock::lock_owner me;
/// co_await ledger.async_with_lock(me, [&](const colock::recursive_lock& held) -> asio::awaitable<void> {
///     co_await write(held.token(), text);
/// });
/// ```
///
/// The guards of one owner share the lock and its token, and lose it together; `recursive_lock::depth` counts them.
/// The mutex is released with the last of them. Unlock them in the reverse order of locking: `async_unlock` of a
/// guard that was locked before another one that is still held completes with
/// `errc::unlock_out_of_order`, and that guard is given up nevertheless. They may be destroyed in any order.
/// `async_wait_lost` of any of them ends with the last one, at the latest. A try succeeds for an owner that already holds the
/// mutex. A body may also take a `const unique_lock&`.
///
/// Queue, order and guarantees are those of a `mutex`. A `mutex` and a `recursive_mutex` of one client cannot use the
/// same path (`errc::conflicting_use`); those of different clients exclude each other.
///
/// **Errors** of every acquisition and body, with what to do. docs/locks.md has the rest of them, which are rare.
///
/// | code | what it means, and what to do |
/// |---|---|
/// | `errc::invalid_path`, `errc::invalid_option` | Correct what the diagnostics name (`bind_diagnostics`). |
/// | `errc::not_connected` | Call `client::async_connect` first. |
/// | `errc::conflicting_use` | Lock objects of one client and path need one kind and equal options. |
/// | `errc::conflicting_kind` | Another client uses the path as another kind of lock. Use another path. |
/// | `errc::owner_waits` | The owner waits for this mutex already, and would wait for itself. |
/// | the `loss_reason()` | The owner holds the mutex, and it was lost. Unlock its guards first. |
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
/// I/O and does not throw for a bad path. It may be destroyed while its operations are under way; they continue.
/// Objects of one client and path must have equal options (`errc::conflicting_use`), see `lock_options`. An owner
/// may be destroyed before its guards.
class COLOCK_DECL recursive_mutex : public detail::owned_lock {
public:
    /// The mutex at `path`, with the default options.
    recursive_mutex(client& zk, std::string path) : recursive_mutex{zk, std::move(path), {}} {}
    /// The mutex at `path`. Operations refuse options that make no sense (`errc::invalid_option`).
    recursive_mutex(client& zk, std::string path, lock_options options);
};

} // namespace colock

#endif
