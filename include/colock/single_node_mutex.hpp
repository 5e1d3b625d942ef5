// A distributed mutex that is one ephemeral node, without a queue.
#ifndef COLOCK_SINGLE_NODE_MUTEX_HPP
#define COLOCK_SINGLE_NODE_MUTEX_HPP

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

/// A mutex that is one ephemeral node, without a queue: whoever creates the node `path` has it. For paths that are
/// shared with services which lock so, by "create ephemeral, else watch"; and where there is next to no contention,
/// for it takes one write and no list.
///
/// **When not to use it**: whenever others may wait, and you are free to choose. Prefer `mutex`.
///
/// - **A herd** (G7 is not promised): every waiter watches the node, and every release wakes all of them; each tries
///   to create the node, and all but one in vain. The load of a release grows with the number of waiters; a picture
///   of it is in docs/benchmarks/herd.md.
/// - **No order, no fairness** (G2 is not promised): whoever is the quickest is next, a newcomer as well as one who
///   has waited for long. A waiter may starve. Only those who wait on one client are let in in the order in which
///   they came.
/// - **Nothing tells one holder's node from the next one's** but what only a read tells. So `unique_lock::guarded`
///   throws `errc::cannot_guard`; use `unique_lock::token`. And somebody who deletes the node by hand may
///   do more harm than in a queue: a release that is under way just then deletes the node of the next
///   holder, who is told (`errc::node_deleted`), but after others may have been let in.
/// - Nobody can see who waits: `queue_view` is of no use.
///
/// What is written in `mutex.hpp` holds for everything else: **guaranteed** is that among live sessions at most one
/// holds the mutex (G1), unless somebody deletes its node by hand; that nothing is left behind (G3); that a waiter is
/// woken (G4), and a holder told of its loss (G5). The tokens of successive grants grow.
///
/// Missing parents are created, as containers. The node at the path must be ephemeral, else operations complete with
/// `errc::not_ephemeral`, rather than to wait for ever. It must be readable to those who wait, and need not
/// have been made by this library. Its data are not looked at, except for requests to let go
/// (`unique_lock::async_wait_revoked`).
///
/// **Options**: `lock_options::layout` has no meaning here. `linger` must be zero (`errc::invalid_option`). Those who
/// wait on one client share one contender; as it is never known whether others wait elsewhere, `max_local_grants`
/// and `max_local_time` always bound how long they pass the mutex on among themselves. Then the node is given up, and
/// they contend with the others as if they had just come. With `max_local_grants = 0` that is so after each of them.
/// One whose session expires has no place to lose; `rejoin_on_expiry` tells whether it goes on waiting.
///
/// A `single_node_mutex` is a handle: a client, a path, options. It does no I/O when it is made, does not throw for a
/// bad path, and may be destroyed while its operations are under way; they go on. Two objects for one
/// path and client exclude each other, and must have equal options as long as both live; another kind of
/// lock of this client cannot use the path meanwhile (`errc::conflicting_use`). The same client must not
/// create or delete the node by other means.
///
/// **Thread safety**: distinct objects may be used from several threads; of one object, all functions may
/// be called from several threads at once, except assigning and destroying it.
class COLOCK_DECL single_node_mutex : public detail::basic_lock {
public:
    // Not one with a default argument, see `mutex`.
    single_node_mutex(client& c, std::string path);
    single_node_mutex(client& c, std::string path, lock_options options);

    /// Waits for the mutex; completes when it is held.
    ///
    /// One write when the mutex is free. While there is no connection it waits for one.
    ///
    /// Completion signature: `void(error_code, unique_lock)`.
    /// Errors: `errc::invalid_path`, also for "/"; `errc::invalid_option` see above and `lock_options`, or the
    /// session time-out is too short for `client_options::tick`; `client::last_error_detail` tells;
    /// `errc::not_connected`, or why the attempt to connect failed that it waited for;
    /// `errc::client_closed`; `errc::conflicting_use`; `errc::not_ephemeral`; `errc::request_too_large` the node's data
    /// (`lock_options::owner_data`) do not fit into a request;
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

    /// Takes the mutex if nobody has it; else completes with an empty guard and no error. It may overtake those who
    /// wait elsewhere.
    ///
    /// A busy mutex costs one read and no write, a free one a read and a write.
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
