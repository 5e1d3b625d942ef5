// A distributed mutex that readers share.
#ifndef COLOCK_SHARED_MUTEX_HPP
#define COLOCK_SHARED_MUTEX_HPP

#include <colock/client.hpp>
#include <colock/detail/basic_lock.hpp>
#include <colock/detail/initiate_lock.hpp>
#include <colock/detail/with_lock.hpp>
#include <colock/lock_options.hpp>
#include <colock/shared_lock.hpp>
#include <colock/unique_lock.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace colock {

/// A mutex among all processes that use the same path of the same ensemble, which one may hold exclusively, or many
/// together.
///
/// All contenders stand in one queue. A writer (who wants it exclusively) waits for all that came before; a reader
/// (who shares it) waits only for the writers that came before. So nobody starves, and readers are let in all at
/// once, as far as the next writer.
///
/// The readers of one client share a node in the queue, too. When somebody else is in the queue the node takes in no
/// more than `lock_options::max_local_grants` readers and for no longer than `lock_options::max_local_time`; a later
/// reader queues up anew. A node that is shared does not linger.
///
/// **There is no way from the shared lock to the exclusive one**: two readers who tried would wait for each other for
/// ever. Unlock, lock, and look again whether what you read is still so. A reader that waits for the exclusive lock
/// without unlocking waits for itself.
///
/// The nodes have the names of Curator's InterProcessReadWriteLock, which stands in the same queue. A `shared_mutex`
/// does not exclude a `mutex` on the same path: the client that comes later gets `errc::conflicting_kind`.
///
/// **What is guaranteed**: among live sessions at most one holds the exclusive lock, and nobody the shared one
/// meanwhile, unless somebody deletes nodes by hand. **What is not**: a process that is paused for longer than its
/// session may go on without knowing that it lost the lock; see `held_lock::token`.
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
/// while its operations are under way; they go on. Objects of one client and path must have equal options as long as
/// they live (`errc::conflicting_use`).
class COLOCK_DECL shared_mutex : public detail::basic_lock {
public:
    /// With `curator_shared_layout`.
    shared_mutex(client& c, std::string path);
    /// The layout must have a `layout::shared_marker`.
    shared_mutex(client& c, std::string path, lock_options options);

    // ---- exclusive

    /// Waits for the exclusive lock. At completion `held` holds it.
    ///
    /// A disconnection does not cost the place in the queue as long as the session lives.
    ///
    /// Completion signature: `void(error_code, unique_lock held)`.
    /// Errors: those of every acquisition.
    /// Cancellation: terminal, partial: completes at once. Total: completes when no trace is left.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_lock(CompletionToken&& token = CompletionToken())
    {
        return detail::acquire(behind(), std::forward<CompletionToken>(token), detail::never);
    }

    /// Takes the exclusive lock if nobody has the lock or waits for it. At completion `held` is empty if that is
    /// not so, which is no error. A busy lock costs one read and no write.
    ///
    /// Completion signature: `void(error_code, unique_lock held)`.
    /// Errors: those of every acquisition; `errc::disconnected`: there is no connection, or it broke meanwhile.
    /// Cancellation: terminal, partial: completes at once. Total: completes when no trace is left.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock(CompletionToken&& token = CompletionToken())
    {
        return detail::acquire(behind(), std::forward<CompletionToken>(token), detail::at_once);
    }

    /// Waits for the exclusive lock for so long at most, from the initiation on. At completion `held` holds it,
    /// or is empty if it was not granted in time, which is no error. Zero and negative times wait for nothing; a
    /// time that is too long for the clock is no limit.
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

    /// Waits for the exclusive lock until this time at most, and is otherwise as with a duration. A time that has
    /// passed waits for nothing.
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

    /// Acquires the exclusive lock, runs `body(const unique_lock&)`, releases the exclusive lock, and gives what
    /// the body gave. The body is cancelled as soon as the exclusive lock can no longer be trusted.
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

    /// Acquires the exclusive lock if nobody has the lock or waits for it, runs the body, and releases the
    /// exclusive lock. Else the body does not run, which is no error.
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

    /// Acquires the exclusive lock within this time, runs the body, and releases the exclusive lock. Else the
    /// body does not run, which is no error. The time is a limit for the wait, from the initiation on; the body
    /// may go on for longer. Zero and negative times wait for nothing; a time that is too long for the clock is
    /// no limit.
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

    /// Acquires the exclusive lock before this time, runs the body, and releases the exclusive lock. Else the
    /// body does not run, which is no error. A time that has passed waits for nothing.
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

    // ---- shared

    /// Waits for the shared lock. At completion `held` holds it.
    ///
    /// A disconnection does not cost the place in the queue as long as the session lives.
    ///
    /// Completion signature: `void(error_code, shared_lock held)`.
    /// Errors: those of every acquisition.
    /// Cancellation: terminal, partial: completes at once. Total: completes when no trace is left.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_lock_shared(CompletionToken&& token = CompletionToken())
    {
        return detail::acquire<shared_lock>(sharing(), std::forward<CompletionToken>(token),
                                            detail::never);
    }

    /// Takes the shared lock if nobody has the lock exclusively or waits for that. At completion `held` is empty
    /// if that is not so, which is no error. A busy lock costs one read and no write.
    ///
    /// Completion signature: `void(error_code, shared_lock held)`.
    /// Errors: those of every acquisition; `errc::disconnected`: there is no connection, or it broke meanwhile.
    /// Cancellation: terminal, partial: completes at once. Total: completes when no trace is left.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock_shared(CompletionToken&& token = CompletionToken())
    {
        return detail::acquire<shared_lock>(sharing(), std::forward<CompletionToken>(token),
                                            detail::at_once);
    }

    /// Waits for the shared lock for so long at most, from the initiation on. At completion `held` holds it, or
    /// is empty if it was not granted in time, which is no error. Zero and negative times wait for nothing; a
    /// time that is too long for the clock is no limit.
    ///
    /// Completion signature: `void(error_code, shared_lock held)`.
    /// Errors: those of every acquisition; `errc::disconnected`: there was no connection when the time was over.
    /// Cancellation: terminal, partial: completes at once. Total: completes when no trace is left.
    template <class Rep, class Period, class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock_shared_for(std::chrono::duration<Rep, Period> limit,
                                   CompletionToken&& token = CompletionToken())
    {
        return detail::acquire<shared_lock>(sharing(), std::forward<CompletionToken>(token), limit);
    }

    /// Waits for the shared lock until this time at most, and is otherwise as with a duration. A time that has
    /// passed waits for nothing.
    ///
    /// Completion signature: `void(error_code, shared_lock held)`.
    /// Errors: those of every acquisition; `errc::disconnected`: there was no connection at `deadline`.
    /// Cancellation: terminal, partial: completes at once. Total: completes when no trace is left.
    template <class Duration, class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock_shared_until(
        std::chrono::time_point<std::chrono::steady_clock, Duration> deadline,
        CompletionToken&& token = CompletionToken())
    {
        return detail::acquire<shared_lock>(sharing(), std::forward<CompletionToken>(token),
                                            detail::at(deadline));
    }

    /// Exchanges the exclusive lock for the shared one, without anybody else having it in between: the place in
    /// the queue stays, as in Curator. At completion `now` holds the shared lock. One round trip.
    ///
    /// `held` is empty from the initiation on. The token of `now` is no smaller. After an error the lock is not
    /// held any more, and is released in the background.
    ///
    /// Completion signature: `void(error_code, shared_lock now)`.
    /// Errors:
    ///  - `errc::not_held`: `held` is empty.
    ///  - `errc::conflicting_use`: `held` is a guard of another lock.
    ///  - `errc::session_expired`, `errc::node_deleted`, `errc::client_closed`: the lock was lost. Acquire it
    ///    again.
    ///  - `errc::safe_until_passed`: no server has answered until `safe_until()` of `held`.
    ///  - `zookeeper_errc::no_auth` or another code of the servers: they refuse it.
    ///  - `operation_aborted`: cancelled, or the client was destroyed.
    ///
    /// Cancellation: terminal, partial: completes at once. Total is ignored.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_downgrade(unique_lock held, CompletionToken&& token = CompletionToken())
    {
        return detail::acquire<shared_lock>(sharing(), std::forward<CompletionToken>(token),
                                            std::move(held));
    }

    /// Acquires the shared lock, runs `body(const shared_lock&)`, releases the shared lock, and gives what the
    /// body gave. The body is cancelled as soon as the shared lock can no longer be trusted.
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
    auto async_with_lock_shared(F&& body, CompletionToken&& token = CompletionToken())
    {
        return detail::with_lock<shared_lock>(sharing(), std::forward<F>(body),
                                              std::forward<CompletionToken>(token));
    }

    /// Acquires the shared lock if nobody has the lock exclusively or waits for that, runs the body, and releases
    /// the shared lock. Else the body does not run, which is no error.
    ///
    /// Completion signature: `void(std::exception_ptr failure, std::optional<T> result)`: empty when the body did
    /// not run; `void(std::exception_ptr failure, bool has_run)` when the body gives nothing.
    /// Errors, as `system_error`: those of every acquisition; `errc::lock_lost`: lost before the body ended, or
    /// before a server confirmed the release; `errc::disconnected`: there is no connection, or it broke
    /// meanwhile.
    /// Cancellation: until the body runs, that of an acquisition; then any type is passed on to the body.
    /// Token: by default `use_awaitable`.
    template <class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_try_with_lock_shared(F&& body, CompletionToken&& token = CompletionToken())
    {
        return detail::try_with_lock<shared_lock>(sharing(), std::forward<F>(body), detail::at_once,
                                                  std::forward<CompletionToken>(token));
    }

    /// Acquires the shared lock within this time, runs the body, and releases the shared lock. Else the body does
    /// not run, which is no error. The time is a limit for the wait, from the initiation on; the body may go on
    /// for longer. Zero and negative times wait for nothing; a time that is too long for the clock is no limit.
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
    auto async_try_with_lock_shared_for(std::chrono::duration<Rep, Period> limit, F&& body,
                                        CompletionToken&& token = CompletionToken())
    {
        return detail::try_with_lock<shared_lock>(sharing(), std::forward<F>(body), limit,
                                                  std::forward<CompletionToken>(token));
    }

    /// Acquires the shared lock before this time, runs the body, and releases the shared lock. Else the body does
    /// not run, which is no error. A time that has passed waits for nothing.
    ///
    /// Completion signature: `void(std::exception_ptr failure, std::optional<T> result)`: empty when the body did
    /// not run; `void(std::exception_ptr failure, bool has_run)` when the body gives nothing.
    /// Errors, as `system_error`: those of every acquisition; `errc::lock_lost`: lost before the body ended, or
    /// before a server confirmed the release; `errc::disconnected`: there was no connection at `deadline`.
    /// Cancellation: until the body runs, that of an acquisition; then any type is passed on to the body.
    /// Token: by default `use_awaitable`.
    template <class Duration, class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_try_with_lock_shared_until(
        std::chrono::time_point<std::chrono::steady_clock, Duration> deadline, F&& body,
        CompletionToken&& token = CompletionToken())
    {
        return detail::try_with_lock<shared_lock>(sharing(), std::forward<F>(body),
                                                  detail::at(deadline),
                                                  std::forward<CompletionToken>(token));
    }

private:
    [[nodiscard]] detail::acquire_request sharing() const noexcept
    {
        return {behind(), detail::acquire_request::mode::shared};
    }
};

} // namespace colock

#endif
