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
/// A contender is an ephemeral sequential node in the directory `path`, which is created when needed, as a
/// container. The data of a directory that colock has made are colock's, which writes to them as locks are taken
/// and released, where it is permitted to: keep nothing there. Contenders are granted in the order of their
/// numbers. Waiting costs no request: a waiter is told by the server when those before it have gone. Those who
/// wait on one client share a contender, see `lock_options::max_local_grants`.
///
/// **What is guaranteed**: among live sessions at most one holds the mutex, unless somebody deletes its
/// node by hand. **What is not**: a process that is paused for longer than its session may go on without
/// knowing that it lost the mutex; see `unique_lock::token`.
///
/// A `mutex` is a handle: a client, a path, options. It does no I/O when it is made, does not throw for a
/// bad path, and may be destroyed while its operations are under way; they go on. Two objects for one
/// path and client exclude each other, and must have equal options as long as both live.
///
/// **Thread safety**: distinct objects may be used from several threads; of one object, all functions may
/// be called from several threads at once, except assigning and destroying it.
class COLOCK_DECL mutex : public detail::basic_lock {
public:
    // Not one with a default argument: GCC 12 would destroy that twice in `co_await mutex{...}.async_lock()`.
    mutex(client& c, std::string path);
    mutex(client& c, std::string path, lock_options options);

    /// Waits for the mutex; completes when it is held.
    ///
    /// While there is no connection it waits for one, for as long as it takes. A disconnection does not cost the
    /// place in the queue as long as the session lives.
    ///
    /// Completion signature: `void(error_code, unique_lock)`.
    /// Errors: `errc::invalid_path`; `errc::invalid_option` see `lock_options`, or the session time-out is
    /// too short for `client_options::tick`; `client::last_error_detail` tells;
    /// `errc::not_connected`, or why the attempt to connect failed that it waited for;
    /// `errc::client_closed`; `errc::conflicting_use`; `errc::conflicting_kind`; `errc::sequence_exhausted`;
    /// `errc::duplicate_sequence`; `errc::request_too_large` the node's data (`lock_options::owner_data`) do not fit
    /// into a request;
    /// `errc::session_expired` only without `lock_options::rejoin_on_expiry`; `zookeeper_errc::no_auth`
    /// and other codes of the server for which trying again is of no use; `operation_aborted` cancelled.
    /// No node stays behind, whatever the error, unless the servers refuse to delete it: that is logged.
    /// Cancellation: terminal and partial complete at once, and the node is removed in the background;
    /// total alone completes when no trace is left, which may take until the connection is back. After
    /// the grant it is too late, and the lock is delivered.
    /// Executor: the handler's associated one, by default the client's. Never inline.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_lock(CompletionToken&& token = CompletionToken())
    {
        return detail::acquire(behind(), std::forward<CompletionToken>(token), detail::never);
    }

    /// Takes the mutex if nobody has it or waits for it; else completes with an empty guard and no error.
    ///
    /// A busy mutex costs one read and no write.
    ///
    /// Completion signature: `void(error_code, unique_lock)`.
    /// Errors: `errc::disconnected` there is no connection, or it broke meanwhile; those of `async_lock`.
    /// Cancellation and executor: as for `async_lock`.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock(CompletionToken&& token = CompletionToken())
    {
        return detail::acquire(behind(), std::forward<CompletionToken>(token), detail::at_once);
    }

    /// The same as async_lock, for so long at most: one limit for the whole wait, from the initiation on.
    ///
    /// Completes with an empty guard and no error when the mutex was not granted in time. Zero and negative
    /// durations are `async_try_lock`; what is too long for the clock is `async_lock`.
    ///
    /// Completion signature: `void(error_code, unique_lock)`.
    /// Errors: `errc::disconnected` there was no connection when the time was over; those of `async_lock`.
    /// Cancellation and executor: as for `async_lock`.
    template <class Rep, class Period, class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock_for(std::chrono::duration<Rep, Period> limit,
                            CompletionToken&& token = CompletionToken())
    {
        return detail::acquire(behind(), std::forward<CompletionToken>(token), limit);
    }

    /// The same until a point in time.
    template <class Duration, class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock_until(std::chrono::time_point<std::chrono::steady_clock, Duration> deadline,
                              CompletionToken&& token = CompletionToken())
    {
        return detail::acquire(behind(), std::forward<CompletionToken>(token),
                               detail::at(deadline));
    }

    /// Acquires the mutex, runs the body, releases the mutex, and gives what the body gave. The body is
    /// cancelled as soon as the mutex can no longer be trusted.
    ///
    /// ```cpp
    /// co_await m.async_with_lock([&](const colock::unique_lock& held) -> asio::awaitable<void> {
    ///     co_await write(held.token(), text);
    /// });
    /// ```
    ///
    /// Let a lambda capture by reference where you `co_await` this, as above: the body always ends before the
    /// operation completes. When a lambda is written within the `co_await` expression, GCC 12 destroys twice what it
    /// captures by value; a static_assert refuses such a lambda. A body that has a name may capture in any way. It
    /// is copied; if it cannot be copied, pass `std::ref(body)`. If you do not await the operation, what the body
    /// refers to has to live until the operation completes.
    ///
    /// `body(const unique_lock&)` returns an `awaitable<T>`, or an operation that takes a completion token and
    /// then gives a `T`, such as a deferred one; T is void or default-constructible. It runs on a strand
    /// over the handler's associated executor. The guard lives until the body has ended: do not keep a reference to it.
    /// When the mutex is lost (`unique_lock::loss_reason`), or this operation is
    /// cancelled, the body is cancelled, and waited for, however long that takes. (A coroutine heeds terminal
    /// cancellation only, unless it asks for more.) When it goes on for longer than
    /// `lock_options::body_grace` that is reported to the log, and counted in `client_stats::bodies_overdue`.
    ///
    /// Completion signature: `void(std::exception_ptr, T)`, or `void(std::exception_ptr)`, as for
    /// `co_spawn`; the mutex has been released when it completes.
    /// Errors, as `system_error`: those of `async_lock`, without running the body; `errc::lock_lost`, whose
    /// text tells why, when the mutex was lost before the body ended, or before a server confirmed the release.
    /// The wait for that ends at `held_lock::safe_until` at the latest. An exception of the body takes
    /// precedence over `errc::lock_lost` (compare with `condition::lock_lost`), unless it is `operation_aborted`.
    /// `errc::revoked` in place of
    /// `operation_aborted` when the body was cancelled because somebody asked for the mutex
    /// (`lock_options::cancel_when_revoked`); what it gave all the same was made under the lock, and is given.
    /// Cancellation: until the body runs as for `async_lock`; then any type is passed on to the body,
    /// and the mutex is released in the background. If a total cancellation comes just when the mutex is granted,
    /// the body does not run, and the operation waits for the release, until `held_lock::safe_until` at the latest.
    /// Executor: the handler's associated one, by default the client's. Never inline.
    /// Token: by default `use_awaitable`. With Asio 1.81, whose support for signatures with an
    /// `exception_ptr` has gaps, a deferred operation that gives a T cannot be awaited, and a
    /// `yield_context` has to be `as_tuple(yield)`.
    template <class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_with_lock(F&& body, CompletionToken&& token = CompletionToken())
    {
        return detail::with_lock<unique_lock>(behind(), std::forward<F>(body),
                                              std::forward<CompletionToken>(token));
    }

    /// As `async_with_lock`, if the mutex can be had at once: nobody has it or waits for it. Else the body does not run.
    ///
    /// Completion signature: `void(std::exception_ptr, std::optional<T>)`, or `void(std::exception_ptr, bool)` when the
    /// body gives nothing: what the body gave, or `true`; an empty optional, or `false`, when the mutex was not
    /// acquired, which is no error. T need not be default-constructible.
    /// Errors, as `system_error`: `errc::disconnected` there is no connection, or it broke meanwhile; those of
    /// `async_with_lock`. Cancellation, executor and token: as for `async_with_lock`.
    template <class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_try_with_lock(F&& body, CompletionToken&& token = CompletionToken())
    {
        return detail::try_with_lock<unique_lock>(behind(), std::forward<F>(body), detail::at_once,
                                                  std::forward<CompletionToken>(token));
    }

    /// The same, for so long at most: one limit for the whole wait, from the initiation on. The body may go on for
    /// longer. Zero and negative durations wait for nothing; what is too long for the clock has no end.
    template <class Rep, class Period, class F,
              class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_try_with_lock_for(std::chrono::duration<Rep, Period> limit, F&& body,
                                 CompletionToken&& token = CompletionToken())
    {
        return detail::try_with_lock<unique_lock>(behind(), std::forward<F>(body), limit,
                                                  std::forward<CompletionToken>(token));
    }

    /// The same until a point in time.
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
