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

/// A mutex that is one ephemeral node, without a queue: the client that creates the node `path` has it. Use it for
/// paths that are shared with services which lock so, by "create ephemeral, else watch"; and where there is next to
/// no contention, for it takes one write and no list.
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
/// - **A herd** (G7 is not promised): every waiter watches the node, and every release wakes all of them; each tries
///   to create the node, and all but one in vain. The load of a release grows with the number of waiters; a picture
///   of it is in docs/benchmarks/herd.md.
/// - **No order, no fairness** (G2 is not promised): the quickest client is next, a newcomer as well as one that has
///   waited for long. A waiter may starve. Only the waiters of one client are let in in the order in which they came.
/// - **Only a read tells one holder's node from the next one's.** So `unique_lock::guarded` throws
///   `errc::cannot_guard`; use `unique_lock::token`. An operator who deletes the node may do more harm than in a
///   queue: a release that is under way just then deletes the node of the next holder. That holder is told
///   (`errc::node_deleted`), but after other clients may have been let in.
/// - No client can see who waits: `queue_view` is of no use.
///
/// **What is guaranteed**: among live sessions at most one holds the mutex (G1), unless an operator deletes its node.
/// Nothing is left behind (G3). A waiter is woken (G4), and a holder is told of its loss (G5). The tokens of successive
/// grants grow. **What is not**: a process that is paused for longer than its session may go on without
/// knowing that it lost the mutex; see `unique_lock::token`.
///
/// Missing parents are created, as containers. The node at the path must be ephemeral, else operations complete with
/// `errc::not_ephemeral`, rather than to wait for ever. Waiters must be allowed to read it; it need not have been
/// made by this library. Its data are not looked at, except for requests to let go.
///
/// **To ask the holder to let go**, write the request into the node. `async_revoke` and `async_revoke_holders` are for
/// queues, and refuse this node. The holder hears of it by `unique_lock::async_wait_revoked`, or by
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
/// come. With `max_local_grants = 0` that is so after each of them. A waiter whose session expires has no place to
/// lose; `rejoin_on_expiry` tells whether it goes on waiting.
///
/// **Errors** of every acquisition and body, with what to do. docs/locks.md has the rest of them, which are rare.
///
/// | code | what it means, and what to do |
/// |---|---|
/// | `errc::invalid_path`, `errc::invalid_option` | Correct what the diagnostics name (`bind_diagnostics`). |
/// | `errc::not_connected` | Call `client::async_connect` first. |
/// | `errc::conflicting_use` | Lock objects of one client and path need one kind and equal options. |
/// | `errc::not_ephemeral` | At the path is a node that no session owns. Delete it if it is a left-over. |
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
/// have equal options as long as both live; another kind of lock of this client cannot use the path meanwhile
/// (`errc::conflicting_use`). The same client must not create or delete the node by other means.
class COLOCK_DECL single_node_mutex : public detail::basic_lock {
public:
    // Not one with a default argument: GCC 12 would destroy that twice in a co_await expression.
    /// The mutex at `path`, which must not be "/", with the default options.
    single_node_mutex(client& zk, std::string path);
    /// The mutex at `path`, which must not be "/". Operations refuse options that make no sense, and those that this
    /// kind cannot honour (`errc::invalid_option`).
    single_node_mutex(client& zk, std::string path, lock_options options);

    /// Waits for the mutex. At completion `held` holds it.
    ///
    /// One write when the mutex is free.
    ///
    /// Completion signature: `void(error_code, unique_lock held)`.
    /// Errors: the table of the class.
    /// Cancellation: terminal, partial: completes at once. Total: completes when no trace is left.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_lock(CompletionToken&& token = CompletionToken())
    {
        return detail::acquire(behind(), std::forward<CompletionToken>(token), detail::never);
    }

    /// Takes the mutex if nobody has it. At completion `held` is empty if that is not so, which is no error. It may
    /// overtake waiters on other clients. A busy mutex costs one read and no write, a free one a read and a write.
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

    /// Acquires the mutex if nobody has it, runs the body, and releases the mutex. Else the body does not run, which
    /// is no error.
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
