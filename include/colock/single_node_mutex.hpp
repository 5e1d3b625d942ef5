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
/// - **No order, no fairness** (G2 is not promised): the quickest client is next, a newcomer as well as one that has
///   waited for long. A waiter may starve. Only the waiters of one client are let in in the order in which they came.
/// - **Nothing tells one holder's node from the next one's** but what only a read tells. So `unique_lock::guarded`
///   throws `errc::cannot_guard`; use `unique_lock::token`. And somebody who deletes the node by hand may
///   do more harm than in a queue: a release that is under way just then deletes the node of the next
///   holder, who is told (`errc::node_deleted`), but after others may have been let in.
/// - Nobody can see who waits: `queue_view` is of no use.
///
/// **What is guaranteed**: among live sessions at most one holds the mutex (G1), unless somebody deletes its node by
/// hand; nothing is left behind (G3); a waiter is woken (G4), and a holder told of its loss (G5). The tokens of
/// successive grants grow. **What is not**: a process that is paused for longer than its session may go on without
/// knowing that it lost the mutex; see `unique_lock::token`.
///
/// Missing parents are created, as containers. The node at the path must be ephemeral, else operations complete with
/// `errc::not_ephemeral`, rather than to wait for ever. Waiters must be allowed to read it; it need not have been
/// made by this library. Its data are not looked at, except for requests to let go
/// (`unique_lock::async_wait_revoked`).
///
/// **Options**: `lock_options::layout`, `linger` and `max_linger` have no meaning here, and are refused with
/// `errc::invalid_option` if they are set. Waiters on one client share one contender; as it is never known whether
/// others wait elsewhere, `max_local_grants` and `max_local_time` always bound how long they pass the mutex on among
/// themselves. Then the node is given up, and they contend with the others as if they had just come. With
/// `max_local_grants = 0` that is so after each of them. A waiter whose session expires has no place to lose;
/// `rejoin_on_expiry` tells whether it goes on waiting.
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
/// have equal options as long as both live; another kind of lock of this client cannot use the path meanwhile
/// (`errc::conflicting_use`). The same client must not create or delete the node by other means.
class COLOCK_DECL single_node_mutex : public detail::basic_lock {
public:
    // Not one with a default argument: GCC 12 would destroy that twice in a co_await expression.
    single_node_mutex(client& c, std::string path);
    single_node_mutex(client& c, std::string path, lock_options options);

    /// Waits for the mutex. At completion `held` holds it.
    ///
    /// One write when the mutex is free.
    ///
    /// Completion signature: `void(error_code, unique_lock held)`.
    /// Errors: those of every acquisition; `errc::not_ephemeral`: a node is at the path that nobody's session
    /// owns; delete it if it is a left-over, else use another path; `errc::invalid_path`: also for "/".
    /// Cancellation: terminal, partial: completes at once. Total: completes when no trace is left.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_lock(CompletionToken&& token = CompletionToken())
    {
        return detail::acquire(behind(), std::forward<CompletionToken>(token), detail::never);
    }

    /// Takes the mutex if nobody has it. At completion `held` is empty if that is not so, which is no error. It
    /// may overtake waiters on other clients. A busy mutex costs one read and no write, a free one a read and a
    /// write.
    ///
    /// Completion signature: `void(error_code, unique_lock held)`.
    /// Errors: those of every acquisition; `errc::not_ephemeral`: a node is at the path that nobody's session
    /// owns; delete it if it is a left-over, else use another path; `errc::invalid_path`: also for "/";
    /// `errc::disconnected`: there is no connection, or it broke meanwhile.
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
    /// Errors: those of every acquisition; `errc::not_ephemeral`: a node is at the path that nobody's session
    /// owns; delete it if it is a left-over, else use another path; `errc::invalid_path`: also for "/";
    /// `errc::disconnected`: there was no connection when the time was over.
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
    /// Errors: those of every acquisition; `errc::not_ephemeral`: a node is at the path that nobody's session
    /// owns; delete it if it is a left-over, else use another path; `errc::invalid_path`: also for "/";
    /// `errc::disconnected`: there was no connection at `deadline`.
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
    /// A lambda that is written within a `co_await` expression must capture by reference: GCC 12 destroys twice
    /// what it captures by value. A body with a name may capture in any way; it is copied.
    ///
    /// Completion signature: `void(std::exception_ptr failure, T result)`; `void(std::exception_ptr failure)`
    /// when the body gives nothing.
    /// Errors, as `system_error`: those of every acquisition; `errc::not_ephemeral`: a node is at the path that
    /// nobody's session owns; delete it if it is a left-over, else use another path; `errc::invalid_path`: also
    /// for "/"; `errc::lock_lost`: lost before the body ended, or before a server confirmed the release; what the
    /// body throws takes precedence, unless it is `operation_aborted`.
    /// Cancellation: until the body runs, that of an acquisition; then any type is passed on to the body.
    /// Token: by default `use_awaitable`.
    template <class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_with_lock(F&& body, CompletionToken&& token = CompletionToken())
    {
        return detail::with_lock<unique_lock>(behind(), std::forward<F>(body),
                                              std::forward<CompletionToken>(token));
    }

    /// Acquires the mutex if nobody has it, runs the body, and releases the mutex. Else the body does not run,
    /// which is no error.
    ///
    /// Completion signature: `void(std::exception_ptr failure, std::optional<T> result)`: empty when the body did
    /// not run; `void(std::exception_ptr failure, bool has_run)` when the body gives nothing.
    /// Errors, as `system_error`: those of every acquisition; `errc::not_ephemeral`: a node is at the path that
    /// nobody's session owns; delete it if it is a left-over, else use another path; `errc::invalid_path`: also
    /// for "/"; `errc::lock_lost`: lost before the body ended, or before a server confirmed the release;
    /// `errc::disconnected`: there is no connection, or it broke meanwhile.
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
    /// Errors, as `system_error`: those of every acquisition; `errc::not_ephemeral`: a node is at the path that
    /// nobody's session owns; delete it if it is a left-over, else use another path; `errc::invalid_path`: also
    /// for "/"; `errc::lock_lost`: lost before the body ended, or before a server confirmed the release;
    /// `errc::disconnected`: there was no connection when the time was over.
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
    /// Errors, as `system_error`: those of every acquisition; `errc::not_ephemeral`: a node is at the path that
    /// nobody's session owns; delete it if it is a left-over, else use another path; `errc::invalid_path`: also
    /// for "/"; `errc::lock_lost`: lost before the body ended, or before a server confirmed the release;
    /// `errc::disconnected`: there was no connection at `deadline`.
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
