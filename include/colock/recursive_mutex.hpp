// A distributed mutex that its owner may lock again.
#ifndef COLOCK_RECURSIVE_MUTEX_HPP
#define COLOCK_RECURSIVE_MUTEX_HPP

#include <colock/client.hpp>
#include <colock/detail/basic_lock.hpp>
#include <colock/detail/initiate_lock.hpp>
#include <colock/detail/with_lock.hpp>
#include <colock/lock_options.hpp>
#include <colock/recursive_lock.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace colock {

/// The caller for whom a lock is taken: what a thread is to `std::recursive_mutex`. Coroutines move between threads,
/// and so an owner is an object. Make one for each flow of control that locks, and hand it down to what it calls.
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
    lock_owner(const lock_owner&) = delete;
    lock_owner& operator=(const lock_owner&) = delete;
    ~lock_owner() = default;
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
/// The guards of one owner share the lock, its token and its fate; `recursive_lock::depth` tells how many there are.
/// The mutex is released with the last of them. They are to be unlocked in the reverse order of locking:
/// `async_unlock` of one that was locked before another that is still held completes with
/// `errc::unlock_out_of_order`, and that guard is given up nevertheless. They may be destroyed in any order.
/// `async_wait_lost` of any of them ends with the last one, at the latest.
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
/// **Lifetime**: an object is a handle. Making it does no I/O and does not throw for a bad path. It may be destroyed
/// while its operations are under way; they go on. Objects of one client and path must have equal options as long as
/// they live (`errc::conflicting_use`). An owner may be destroyed before its guards.
class COLOCK_DECL recursive_mutex : public detail::basic_lock {
public:
    /// The mutex at `path`, with the default options.
    recursive_mutex(client& zk, std::string path);
    /// The mutex at `path`. Operations refuse options that make no sense (`errc::invalid_option`).
    recursive_mutex(client& zk, std::string path, lock_options options);

    /// Waits for the mutex. At completion `held` is a guard of `owner`.
    ///
    /// If `owner` holds the mutex already, it is granted once more, without asking a server.
    ///
    /// Completion signature: `void(error_code, recursive_lock held)`.
    /// Errors: the table of the class.
    /// Cancellation: terminal, partial: completes at once. Total: completes when no trace is left.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_lock(lock_owner& owner, CompletionToken&& token = CompletionToken())
    {
        return detail::acquire<recursive_lock>(by(owner), std::forward<CompletionToken>(token),
                                               detail::never);
    }

    /// Takes the mutex if `owner` has it, or nobody has it or waits for it. At completion `held` is empty if that is
    /// not so, which is no error.
    ///
    /// Completion signature: `void(error_code, recursive_lock held)`.
    /// Errors: the table of the class. `errc::disconnected`: there is no connection, or it broke meanwhile; try
    /// again later.
    /// Cancellation: terminal, partial: completes at once. Total: completes when no trace is left.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock(lock_owner& owner, CompletionToken&& token = CompletionToken())
    {
        return detail::acquire<recursive_lock>(by(owner), std::forward<CompletionToken>(token),
                                               detail::at_once);
    }

    /// Waits for the mutex for `limit` at most, from the initiation on. At completion `held` is a guard of `owner`,
    /// or is empty if it was not granted in time, which is no error. Zero and negative times wait for nothing; a
    /// time that is too long for the clock is no limit.
    ///
    /// Completion signature: `void(error_code, recursive_lock held)`.
    /// Errors: the table of the class. `errc::disconnected`: there was no connection when the time was over; try
    /// again later.
    /// Cancellation: terminal, partial: completes at once. Total: completes when no trace is left.
    template <class Rep, class Period, class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock_for(lock_owner& owner, std::chrono::duration<Rep, Period> limit,
                            CompletionToken&& token = CompletionToken())
    {
        return detail::acquire<recursive_lock>(by(owner), std::forward<CompletionToken>(token),
                                               limit);
    }

    /// Waits for the mutex until `deadline` at most. At completion `held` is a guard of `owner`, or is empty if the
    /// deadline came first, which is no error. A deadline that has passed waits for nothing.
    ///
    /// Completion signature: `void(error_code, recursive_lock held)`.
    /// Errors: the table of the class. `errc::disconnected`: there was no connection at `deadline`; try again later.
    /// Cancellation: terminal, partial: completes at once. Total: completes when no trace is left.
    template <class Duration, class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock_until(lock_owner& owner,
                              std::chrono::time_point<std::chrono::steady_clock, Duration> deadline,
                              CompletionToken&& token = CompletionToken())
    {
        return detail::acquire<recursive_lock>(by(owner), std::forward<CompletionToken>(token),
                                               detail::at(deadline));
    }

    /// Acquires the mutex, runs `body(const recursive_lock&)`, releases the mutex, and gives what the body gave. The
    /// body is cancelled as soon as the mutex can no longer be trusted. A body may also take a `const unique_lock&`.
    ///
    /// A lambda that is written within a `co_await` expression must capture by reference: GCC 12 destroys twice what
    /// it captures by value. A body with a name may capture in any way; it is copied.
    ///
    /// Completion signature: `void(std::exception_ptr failure, T result)`; `void(std::exception_ptr failure)` when
    /// the body gives nothing.
    /// Errors, as `system_error`: the table of the class, also `errc::lock_lost` and `errc::revoked`. An exception
    /// of the body takes precedence over both, unless it is `operation_aborted`.
    /// Cancellation: before the body runs, terminal and partial complete at once, and total completes when no trace
    /// is left. Then any type is passed on to the body, and the operation completes when the body has ended.
    /// Token: by default `use_awaitable`.
    template <class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_with_lock(lock_owner& owner, F&& body, CompletionToken&& token = CompletionToken())
    {
        return detail::with_lock<recursive_lock>(by(owner), std::forward<F>(body),
                                                 std::forward<CompletionToken>(token));
    }

    /// Acquires the mutex if `owner` has it, or nobody has it or waits for it, runs the body, and releases the
    /// mutex. Else the body does not run, which is no error.
    ///
    /// Completion signature: `void(std::exception_ptr failure, std::optional<T> result)`: empty when the body did
    /// not run; `void(std::exception_ptr failure, bool has_run)` when the body gives nothing.
    /// Errors, as `system_error`: the table of the class, also `errc::lock_lost` and `errc::revoked`. An exception
    /// of the body takes precedence over both, unless it is `operation_aborted`. `errc::disconnected`: there is no
    /// connection, or it broke meanwhile; try again later.
    /// Cancellation: before the body runs, terminal and partial complete at once, and total completes when no trace
    /// is left. Then any type is passed on to the body, and the operation completes when the body has ended.
    /// Token: by default `use_awaitable`.
    template <class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_try_with_lock(lock_owner& owner, F&& body,
                             CompletionToken&& token = CompletionToken())
    {
        return detail::try_with_lock<recursive_lock>(by(owner), std::forward<F>(body),
                                                     detail::at_once,
                                                     std::forward<CompletionToken>(token));
    }

    /// Acquires the mutex within `limit`, runs the body, and releases the mutex. Else the body does not run, which
    /// is no error. The time is a limit for the wait, from the initiation on; the body may go on for longer. Zero
    /// and negative times wait for nothing; a time that is too long for the clock is no limit.
    ///
    /// Completion signature: `void(std::exception_ptr failure, std::optional<T> result)`: empty when the body did
    /// not run; `void(std::exception_ptr failure, bool has_run)` when the body gives nothing.
    /// Errors, as `system_error`: the table of the class, also `errc::lock_lost` and `errc::revoked`. An exception
    /// of the body takes precedence over both, unless it is `operation_aborted`. `errc::disconnected`: there was no
    /// connection when the time was over; try again later.
    /// Cancellation: before the body runs, terminal and partial complete at once, and total completes when no trace
    /// is left. Then any type is passed on to the body, and the operation completes when the body has ended.
    /// Token: by default `use_awaitable`.
    template <class Rep, class Period, class F,
              class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_try_with_lock_for(lock_owner& owner, std::chrono::duration<Rep, Period> limit,
                                 F&& body, CompletionToken&& token = CompletionToken())
    {
        return detail::try_with_lock<recursive_lock>(by(owner), std::forward<F>(body), limit,
                                                     std::forward<CompletionToken>(token));
    }

    /// Acquires the mutex before `deadline`, runs the body, and releases the mutex. Else the body does not run,
    /// which is no error. A deadline that has passed waits for nothing.
    ///
    /// Completion signature: `void(std::exception_ptr failure, std::optional<T> result)`: empty when the body did
    /// not run; `void(std::exception_ptr failure, bool has_run)` when the body gives nothing.
    /// Errors, as `system_error`: the table of the class, also `errc::lock_lost` and `errc::revoked`. An exception
    /// of the body takes precedence over both, unless it is `operation_aborted`. `errc::disconnected`: there was no
    /// connection at `deadline`; try again later.
    /// Cancellation: before the body runs, terminal and partial complete at once, and total completes when no trace
    /// is left. Then any type is passed on to the body, and the operation completes when the body has ended.
    /// Token: by default `use_awaitable`.
    template <class Duration, class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto
    async_try_with_lock_until(lock_owner& owner,
                              std::chrono::time_point<std::chrono::steady_clock, Duration> deadline,
                              F&& body, CompletionToken&& token = CompletionToken())
    {
        return detail::try_with_lock<recursive_lock>(by(owner), std::forward<F>(body),
                                                     detail::at(deadline),
                                                     std::forward<CompletionToken>(token));
    }

private:
    [[nodiscard]] detail::acquire_request by(const lock_owner& owner) const noexcept
    {
        return {behind(), detail::acquire_request::mode::exclusive, detail::access::behind(owner)};
    }
};

} // namespace colock

#endif
