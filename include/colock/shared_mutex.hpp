// A distributed mutex that readers share.
#ifndef COLOCK_SHARED_MUTEX_HPP
#define COLOCK_SHARED_MUTEX_HPP

#include <colock/client.hpp>
#include <colock/detail/lock_functions.hpp>
#include <colock/lock_options.hpp>
#include <colock/shared_lock.hpp>
#include <colock/unique_lock.hpp>

#include <chrono>
#include <string>
#include <utility>

namespace colock {

/// A mutex among all processes that use the same path of the same ensemble. One writer may hold it exclusively, or
/// many readers together. Use it by `async_with_lock` and `async_with_lock_shared`, which run a body under the lock,
/// and cancel the body when the lock is lost:
///
/// ```cpp
/// co_await prices.async_with_lock_shared([&](const colock::shared_lock&) -> asio::awaitable<void> {
///     co_await work();
/// });
/// ```
///
/// All contenders share one queue. A writer wants the lock exclusively, and waits for all its predecessors. A
/// reader shares the lock, and waits for the writers among them. So no contender starves, and all readers before the
/// next writer are granted it at once. A disconnection does not cost the place in the queue as long as the session lives.
/// `async_lock` and the other functions of a `mutex` are about the exclusive lock; those with `_shared` in their names
/// differ from them only as documented here.
///
/// The readers of one client share a node in the queue, too. When a remote contender is in the queue, the node takes
/// in no more than `lock_options::max_local_grants` readers, and for no longer than `lock_options::max_local_time`. A
/// later reader queues up anew. A node that is shared does not linger.
///
/// **There is no way from the shared lock to the exclusive one**: two readers who tried would deadlock.
/// Unlock, lock, and check again what you read. A reader that waits for the exclusive lock without unlocking
/// waits for itself. So may a reader that asks for the shared lock a second time: when a writer has
/// queued meanwhile, the second request waits for the writer, and the writer for the first.
///
/// The nodes have the names of Curator's InterProcessReadWriteLock, which shares the queue. A `shared_mutex`
/// does not exclude a `mutex` on the same path: the client that comes later gets `errc::conflicting_kind`.
///
/// Never nest a lock's path below another lock's path, and check names that come from outside; see `mutex`.
///
/// **What is guaranteed**: among live sessions at most one holds the exclusive lock, and none the shared one
/// meanwhile, unless an operator deletes nodes. **What is not**: a process that is paused for longer than its
/// session may go on without knowing that it lost the lock; see `held_lock::token`.
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
/// | `errc::lock_lost` | Of bodies: the lock was lost before the body ended, or before a server confirmed |
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
/// Objects of one client and path must have equal options (`errc::conflicting_use`), see `lock_options`.
class COLOCK_DECL shared_mutex : public detail::exclusive_lock {
public:
    /// The mutex at `path`, with the default options and `curator_shared_layout`.
    shared_mutex(client& zk, std::string path) : shared_mutex{zk, std::move(path), {}} {}
    /// The mutex at `path`. A layout must have a `layout::shared_marker`. Operations refuse options that make no sense
    /// (`errc::invalid_option`).
    shared_mutex(client& zk, std::string path, lock_options options);

    // ---- shared

    /// Waits for the shared lock, as `async_lock` does for the exclusive one. At completion `held` holds it.
    ///
    /// Completion signature: `void(error_code, shared_lock held)`.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_lock_shared(CompletionToken&& token = CompletionToken())
    {
        return sharing().async_lock(detail::never, std::forward<CompletionToken>(token));
    }

    /// Takes the shared lock if nobody has the lock exclusively or waits for that; else as `async_try_lock`.
    ///
    /// Completion signature: `void(error_code, shared_lock held)`.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock_shared(CompletionToken&& token = CompletionToken())
    {
        return sharing().async_lock(detail::at_once, std::forward<CompletionToken>(token));
    }

    /// Waits for the shared lock for `limit` at most, as `async_try_lock_for` does for the exclusive one.
    ///
    /// Completion signature: `void(error_code, shared_lock held)`.
    template <class Rep, class Period, class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock_shared_for(std::chrono::duration<Rep, Period> limit,
                                   CompletionToken&& token = CompletionToken())
    {
        return sharing().async_lock(limit, std::forward<CompletionToken>(token));
    }

    /// Waits for the shared lock until `deadline` at most, as `async_try_lock_until` does for the exclusive one.
    ///
    /// Completion signature: `void(error_code, shared_lock held)`.
    template <class Duration, class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock_shared_until(
        std::chrono::time_point<std::chrono::steady_clock, Duration> deadline,
        CompletionToken&& token = CompletionToken())
    {
        return sharing().async_lock(detail::at(deadline), std::forward<CompletionToken>(token));
    }

    /// Exchanges the exclusive lock for the shared one, without another holder in between: the place in
    /// the queue stays, as in Curator. At completion `now` holds the shared lock. One round trip.
    ///
    /// The guard that you pass is empty when this function returns. The token of `now` is no smaller. After an error
    /// the lock is no longer held, and is released in the background.
    ///
    /// Completion signature: `void(error_code, shared_lock now)`.
    /// Errors:
    ///  - `errc::not_held`: `held` is empty.
    ///  - `errc::conflicting_use`: `held` is a guard of another lock.
    ///  - `errc::session_expired`, `errc::node_deleted`, `errc::client_closed`: the lock was lost. Acquire it
    ///    again.
    ///  - `errc::safe_until_passed`: no server had answered by `safe_until()` of `held`.
    ///  - `zookeeper_errc::no_auth` or another code of the servers: they refuse it.
    ///  - `operation_aborted`: cancelled, or the client was destroyed.
    ///
    /// Cancellation: terminal, partial: completes at once. Total is ignored.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_downgrade(unique_lock held, CompletionToken&& token = CompletionToken())
    {
        return sharing().async_lock(std::move(held), std::forward<CompletionToken>(token));
    }

    /// Acquires the shared lock, runs `body(const shared_lock&)`, and releases the lock, as `async_with_lock` does for
    /// the exclusive one.
    ///
    /// Completion signature: that of `async_with_lock`.
    template <class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_with_lock_shared(F&& body, CompletionToken&& token = CompletionToken())
    {
        return detail::with_lock<false>(sharing(), std::forward<F>(body), detail::never,
                                        std::forward<CompletionToken>(token));
    }

    /// Runs the body if nobody has the lock exclusively or waits for that; else as `async_try_with_lock`.
    ///
    /// Completion signature: that of `async_try_with_lock`.
    template <class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_try_with_lock_shared(F&& body, CompletionToken&& token = CompletionToken())
    {
        return detail::with_lock<true>(sharing(), std::forward<F>(body), detail::at_once,
                                       std::forward<CompletionToken>(token));
    }

    /// Runs the body under the shared lock, for which it waits for `limit` at most, as `async_try_with_lock_for` does for
    /// the exclusive one.
    ///
    /// Completion signature: that of `async_try_with_lock`.
    template <class Rep, class Period, class F,
              class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_try_with_lock_shared_for(std::chrono::duration<Rep, Period> limit, F&& body,
                                        CompletionToken&& token = CompletionToken())
    {
        return detail::with_lock<true>(sharing(), std::forward<F>(body), limit,
                                       std::forward<CompletionToken>(token));
    }

    /// Runs the body under the shared lock, for which it waits until `deadline` at most, as `async_try_with_lock_until`
    /// does for the exclusive one.
    ///
    /// Completion signature: that of `async_try_with_lock`.
    template <class Duration, class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_try_with_lock_shared_until(
        std::chrono::time_point<std::chrono::steady_clock, Duration> deadline, F&& body,
        CompletionToken&& token = CompletionToken())
    {
        return detail::with_lock<true>(sharing(), std::forward<F>(body), detail::at(deadline),
                                       std::forward<CompletionToken>(token));
    }

private:
    [[nodiscard]] detail::lockable<shared_lock> sharing() const
    {
        return detail::lockable<shared_lock>{behind()};
    }
};

} // namespace colock

#endif
