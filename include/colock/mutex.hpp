// A distributed mutex.
#ifndef COLOCK_MUTEX_HPP
#define COLOCK_MUTEX_HPP

#include <colock/client.hpp>
#include <colock/detail/basic_lock.hpp>
#include <colock/detail/initiate_lock.hpp>
#include <colock/detail/with_lock.hpp>
#include <colock/lock_options.hpp>
#include <colock/unique_lock.hpp>

#include <chrono>
#include <memory>
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
/// Contenders are granted in the order of their sequence numbers. The server tells a waiter when its predecessors have
/// gone. Waiters on one client share a contender, see `lock_options::max_local_grants`. The data of a directory that
/// colock has made belong to colock, which writes to them where it is permitted to: keep nothing there.
///
/// Never nest a lock's path below another lock's path, and check names that come from outside. Every child of the
/// directory whose name ends like that of a contender stands in the queue: one called `lock-0000000000` would hold
/// the lock, as its contender 0.
///
/// **What is guaranteed**: among live sessions at most one holds the mutex, unless an operator deletes its node.
/// **What is not**: a process that is paused for longer than its session may go on without knowing that it lost the
/// mutex; see `unique_lock::token`.
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
/// while its operations are under way; they go on. Two objects of one client and path exclude each other, and must
/// have equal options as long as both live (`errc::conflicting_use`).
class COLOCK_DECL mutex : public detail::basic_lock {
public:
    // Not one with a default argument: GCC 12 would destroy that twice in `co_await mutex{...}.async_lock()`.
    /// The mutex at `path`, with the default options.
    mutex(client& zk, std::string path);
    /// The mutex at `path`. Operations refuse options that make no sense (`errc::invalid_option`).
    mutex(client& zk, std::string path, lock_options options);

    /// Waits for the mutex. At completion `held` holds it.
    ///
    /// Waiting costs no request. A disconnection does not cost the place in the queue as long as the session lives.
    /// Give the guard a name: `co_await m.async_lock();` drops the lock at once, and GCC 12 does not warn of it.
    ///
    /// Completion signature: `void(error_code, unique_lock held)`.
    /// Errors: the table of the class.
    /// Cancellation: terminal, partial: completes at once. Total: completes when no trace is left.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_lock(CompletionToken&& token = CompletionToken())
    {
        return detail::acquire(behind(), std::forward<CompletionToken>(token), detail::never);
    }

    /// Takes the mutex if nobody has it or waits for it. At completion `held` is empty if that is not so, which is
    /// no error. A busy mutex costs one read and no write.
    ///
    /// Completion signature: `void(error_code, unique_lock held)`.
    /// Errors: the table of the class. `errc::disconnected`: there is no connection, or it broke meanwhile; try
    /// again later.
    /// Cancellation: terminal, partial: completes at once. Total: completes when no trace is left.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock(CompletionToken&& token = CompletionToken())
    {
        return detail::acquire(behind(), std::forward<CompletionToken>(token), detail::at_once);
    }

    /// Waits for the mutex for `limit` at most, from the initiation on. At completion `held` holds it, or is empty
    /// if it was not granted in time, which is no error. Zero and negative times wait for nothing; a time that is
    /// too long for the clock is no limit.
    ///
    /// Completion signature: `void(error_code, unique_lock held)`.
    /// Errors: the table of the class. `errc::disconnected`: there was no connection when the time was over; try
    /// again later.
    /// Cancellation: terminal, partial: completes at once. Total: completes when no trace is left.
    template <class Rep, class Period, class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock_for(std::chrono::duration<Rep, Period> limit,
                            CompletionToken&& token = CompletionToken())
    {
        return detail::acquire(behind(), std::forward<CompletionToken>(token), limit);
    }

    /// Waits for the mutex until `deadline` at most. At completion `held` holds it, or is empty if the deadline came
    /// first, which is no error. A deadline that has passed waits for nothing.
    ///
    /// Completion signature: `void(error_code, unique_lock held)`.
    /// Errors: the table of the class. `errc::disconnected`: there was no connection at `deadline`; try again later.
    /// Cancellation: terminal, partial: completes at once. Total: completes when no trace is left.
    template <class Duration, class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock_until(std::chrono::time_point<std::chrono::steady_clock, Duration> deadline,
                              CompletionToken&& token = CompletionToken())
    {
        return detail::acquire(behind(), std::forward<CompletionToken>(token),
                               detail::at(deadline));
    }

    /// Acquires the mutex, runs `body(const unique_lock&)`, releases the mutex, and gives what the body gave. The
    /// body is cancelled as soon as the mutex can no longer be trusted.
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
    auto async_with_lock(F&& body, CompletionToken&& token = CompletionToken())
    {
        return detail::with_lock<unique_lock>(behind(), std::forward<F>(body),
                                              std::forward<CompletionToken>(token));
    }

    /// Acquires the mutex if nobody has it or waits for it, runs the body, and releases the mutex. Else the body
    /// does not run, which is no error.
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
    auto async_try_with_lock(F&& body, CompletionToken&& token = CompletionToken())
    {
        return detail::try_with_lock<unique_lock>(behind(), std::forward<F>(body), detail::at_once,
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
    auto async_try_with_lock_for(std::chrono::duration<Rep, Period> limit, F&& body,
                                 CompletionToken&& token = CompletionToken())
    {
        return detail::try_with_lock<unique_lock>(behind(), std::forward<F>(body), limit,
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
    async_try_with_lock_until(std::chrono::time_point<std::chrono::steady_clock, Duration> deadline,
                              F&& body, CompletionToken&& token = CompletionToken())
    {
        return detail::try_with_lock<unique_lock>(behind(), std::forward<F>(body),
                                                  detail::at(deadline),
                                                  std::forward<CompletionToken>(token));
    }
};

} // namespace colock

#endif
