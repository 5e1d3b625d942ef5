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

/// A mutex among all processes that use the same path of the same ensemble.
///
/// A contender is an ephemeral sequential node in the directory `path`, which is created when needed, as a container.
/// Contenders are granted in the order of their numbers. The server tells a waiter when those before it have gone.
/// Waiters on one client share a contender, see `lock_options::max_local_grants`. The data of a directory that colock
/// has made are colock's, which writes to them as locks are taken and released, where it is permitted to: keep
/// nothing there.
///
/// **What is guaranteed**: among live sessions at most one holds the mutex, unless somebody deletes its node by hand.
/// **What is not**: a process that is paused for longer than its session may go on without knowing that it lost the
/// mutex; see `unique_lock::token`.
///
/// docs/locks.md has what all kinds of locks share: the errors of acquisitions with what to do, what a body may be
/// and what it completes with. For all functions of this class:
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
    mutex(client& c, std::string path);
    mutex(client& c, std::string path, lock_options options);

    /// Waits for the mutex. At completion `held` holds it.
    ///
    /// Waiting costs no request. A disconnection does not cost the place in the queue as long as the session
    /// lives.
    ///
    /// Completion signature: `void(error_code, unique_lock held)`.
    /// Errors: those of every acquisition.
    /// Cancellation: terminal, partial: completes at once. Total: completes when no trace is left.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_lock(CompletionToken&& token = CompletionToken())
    {
        return detail::acquire(behind(), std::forward<CompletionToken>(token), detail::never);
    }

    /// Takes the mutex if nobody has it or waits for it. At completion `held` is empty if that is not so, which
    /// is no error. A busy mutex costs one read and no write.
    ///
    /// Completion signature: `void(error_code, unique_lock held)`.
    /// Errors: those of every acquisition; `errc::disconnected`: there is no connection, or it broke meanwhile.
    /// Cancellation: terminal, partial: completes at once. Total: completes when no trace is left.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock(CompletionToken&& token = CompletionToken())
    {
        return detail::acquire(behind(), std::forward<CompletionToken>(token), detail::at_once);
    }

    /// Waits for the mutex for so long at most, from the initiation on. At completion `held` holds it, or is
    /// empty if it was not granted in time, which is no error. Zero and negative times wait for nothing; a time
    /// that is too long for the clock is no limit.
    ///
    /// Completion signature: `void(error_code, unique_lock held)`.
    /// Errors: those of every acquisition; `errc::disconnected`: there was no connection when the time was over.
    /// Cancellation: terminal, partial: completes at once. Total: completes when no trace is left.
    template <class Rep, class Period, class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock_for(std::chrono::duration<Rep, Period> limit,
                            CompletionToken&& token = CompletionToken())
    {
        return detail::acquire(behind(), std::forward<CompletionToken>(token), limit);
    }

    /// Waits for the mutex until this time at most, and is otherwise as with a duration. A time that has passed
    /// waits for nothing.
    ///
    /// Completion signature: `void(error_code, unique_lock held)`.
    /// Errors: those of every acquisition; `errc::disconnected`: there was no connection at `deadline`.
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
    /// ```cpp
    /// co_await m.async_with_lock([&](const colock::unique_lock& held) -> asio::awaitable<void> {
    ///     co_await write(held.token(), text);
    /// });
    /// ```
    ///
    /// A lambda that is written within a `co_await` expression must capture by reference: GCC 12 destroys twice
    /// what it captures by value. A body with a name may capture in any way; it is copied.
    ///
    /// Completion signature: `void(std::exception_ptr failure, T result)`; `void(std::exception_ptr failure)`
    /// when the body gives nothing.
    /// Errors, as `system_error`: those of every acquisition; `errc::lock_lost`: lost before the body ended, or
    /// before a server confirmed the release; what the body throws takes precedence, unless it is
    /// `operation_aborted`.
    /// Cancellation: until the body runs, that of an acquisition; then any type is passed on to the body.
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
    /// Errors, as `system_error`: those of every acquisition; `errc::lock_lost`: lost before the body ended, or
    /// before a server confirmed the release; `errc::disconnected`: there is no connection, or it broke
    /// meanwhile.
    /// Cancellation: until the body runs, that of an acquisition; then any type is passed on to the body.
    /// Token: by default `use_awaitable`.
    template <class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_try_with_lock(F&& body, CompletionToken&& token = CompletionToken())
    {
        return detail::try_with_lock<unique_lock>(behind(), std::forward<F>(body), detail::at_once,
                                                  std::forward<CompletionToken>(token));
    }

    /// Acquires the mutex within this time, runs the body, and releases the mutex. Else the body does not run,
    /// which is no error. The time is a limit for the wait, from the initiation on; the body may go on for
    /// longer. Zero and negative times wait for nothing; a time that is too long for the clock is no limit.
    ///
    /// Completion signature: `void(std::exception_ptr failure, std::optional<T> result)`: empty when the body did
    /// not run; `void(std::exception_ptr failure, bool has_run)` when the body gives nothing.
    /// Errors, as `system_error`: those of every acquisition; `errc::lock_lost`: lost before the body ended, or
    /// before a server confirmed the release; `errc::disconnected`: there was no connection when the time was
    /// over.
    /// Cancellation: until the body runs, that of an acquisition; then any type is passed on to the body.
    /// Token: by default `use_awaitable`.
    template <class Rep, class Period, class F,
              class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_try_with_lock_for(std::chrono::duration<Rep, Period> limit, F&& body,
                                 CompletionToken&& token = CompletionToken())
    {
        return detail::try_with_lock<unique_lock>(behind(), std::forward<F>(body), limit,
                                                  std::forward<CompletionToken>(token));
    }

    /// Acquires the mutex before this time, runs the body, and releases the mutex. Else the body does not run,
    /// which is no error. A time that has passed waits for nothing.
    ///
    /// Completion signature: `void(std::exception_ptr failure, std::optional<T> result)`: empty when the body did
    /// not run; `void(std::exception_ptr failure, bool has_run)` when the body gives nothing.
    /// Errors, as `system_error`: those of every acquisition; `errc::lock_lost`: lost before the body ended, or
    /// before a server confirmed the release; `errc::disconnected`: there was no connection at `deadline`.
    /// Cancellation: until the body runs, that of an acquisition; then any type is passed on to the body.
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
