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

/// A mutex among all processes that use the same path of the same ensemble, which one may hold exclusively, or
/// many together.
///
/// All of them stand in one queue. One who wants it exclusively waits for all that came before; one who shares
/// it waits for those only that came before and want it exclusively. So nobody starves, and those who share
/// it are let in all at once, as far as the next one who does not.
///
/// Those of one client who share the lock share a node in the queue, too. When somebody else is in the queue the
/// node takes in no more than `lock_options::max_local_grants` and for no longer than
/// `lock_options::max_local_time`; who comes later queues up anew. A node that is shared does not linger.
///
/// **There is no way from a shared lock to the exclusive one**: two who tried would wait for each other for
/// ever. Unlock, lock, and look again whether what you read is still so. One who holds it shared, and waits
/// for the exclusive lock, waits for himself.
///
/// Its names are those of Curator's InterProcessReadWriteLock, which stands in the same queue. It does not exclude a
/// `mutex` on the same path: the client that comes later gets `errc::conflicting_kind`. In everything else it is a
/// `mutex`: what is said there about options, handles, guarantees, thread safety holds here.
class COLOCK_DECL shared_mutex : public detail::basic_lock {
public:
    /// With `curator_shared_layout`.
    shared_mutex(client& c, std::string path);
    /// The layout must have a `layout::shared_marker`.
    shared_mutex(client& c, std::string path, lock_options options);

    // ---- exclusive

    /// Waits for the exclusive lock. As `mutex::async_lock`.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_lock(CompletionToken&& token = CompletionToken())
    {
        return detail::acquire(behind(), std::forward<CompletionToken>(token), detail::never);
    }

    /// Takes the exclusive lock if nobody has the lock or waits for it. As `mutex::async_try_lock`.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock(CompletionToken&& token = CompletionToken())
    {
        return detail::acquire(behind(), std::forward<CompletionToken>(token), detail::at_once);
    }

    /// As `mutex::async_try_lock_for`.
    template <class Rep, class Period, class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock_for(std::chrono::duration<Rep, Period> limit,
                            CompletionToken&& token = CompletionToken())
    {
        return detail::acquire(behind(), std::forward<CompletionToken>(token), limit);
    }

    /// As `mutex::async_try_lock_until`.
    template <class Duration, class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock_until(std::chrono::time_point<std::chrono::steady_clock, Duration> deadline,
                              CompletionToken&& token = CompletionToken())
    {
        return detail::acquire(behind(), std::forward<CompletionToken>(token),
                               detail::at(deadline));
    }

    /// As `mutex::async_with_lock`.
    template <class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_with_lock(F&& body, CompletionToken&& token = CompletionToken())
    {
        return detail::with_lock<unique_lock>(behind(), std::forward<F>(body),
                                              std::forward<CompletionToken>(token));
    }

    /// As `async_with_lock`, if the lock can be had at once: nobody has it or waits for it. Else the body does not run.
    ///
    /// Completion signature: `void(std::exception_ptr, std::optional<T>)`, or `void(std::exception_ptr, bool)` when the
    /// body gives nothing: what the body gave, or `true`; an empty optional, or `false`, when the lock was not
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

    // ---- shared

    /// Waits for the lock, together with others who share it.
    ///
    /// Completion signature: `void(error_code, shared_lock)`.
    /// Errors, cancellation and executor: as for `mutex::async_lock`.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_lock_shared(CompletionToken&& token = CompletionToken())
    {
        return detail::acquire<shared_lock>(sharing(), std::forward<CompletionToken>(token),
                                            detail::never);
    }

    /// Takes the lock, together with others, if nobody has it exclusively or waits for that; else completes with
    /// an empty guard and no error. As `mutex::async_try_lock`.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock_shared(CompletionToken&& token = CompletionToken())
    {
        return detail::acquire<shared_lock>(sharing(), std::forward<CompletionToken>(token),
                                            detail::at_once);
    }

    /// As `mutex::async_try_lock_for`.
    template <class Rep, class Period, class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock_shared_for(std::chrono::duration<Rep, Period> limit,
                                   CompletionToken&& token = CompletionToken())
    {
        return detail::acquire<shared_lock>(sharing(), std::forward<CompletionToken>(token), limit);
    }

    /// As `mutex::async_try_lock_until`.
    template <class Duration, class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock_shared_until(
        std::chrono::time_point<std::chrono::steady_clock, Duration> deadline,
        CompletionToken&& token = CompletionToken())
    {
        return detail::acquire<shared_lock>(sharing(), std::forward<CompletionToken>(token),
                                            detail::at(deadline));
    }

    /// Exchanges the exclusive lock for a shared one, without anybody else having it in between: in Curator's way,
    /// with the place in the queue that it had. One round trip.
    ///
    /// The guard that is passed in is empty from the initiation on. The token of the new guard is no smaller.
    /// When there is an error the lock is not held any more, and is released in the background. While there is
    /// no connection the operation waits for one, until `held_lock::safe_until` of the old guard at the latest; then
    /// it completes with `errc::safe_until_passed`.
    ///
    /// Completion signature: `void(error_code, shared_lock)`.
    /// Errors: `errc::not_held` the guard is empty; `errc::conflicting_use` it is that of another lock; why the
    /// lock was lost; an error of the server; `errc::client_closed`; `operation_aborted` cancelled.
    /// Cancellation: terminal and partial complete at once; total alone is ignored.
    /// Executor: the handler's associated one, by default the client's. Never inline.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_downgrade(unique_lock held, CompletionToken&& token = CompletionToken())
    {
        return detail::acquire<shared_lock>(sharing(), std::forward<CompletionToken>(token),
                                            std::move(held));
    }

    /// Acquires the lock together with others, runs the body, releases the lock, and gives what the body gave. As
    /// `mutex::async_with_lock`, with a body that takes a `const shared_lock&`.
    template <class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_with_lock_shared(F&& body, CompletionToken&& token = CompletionToken())
    {
        return detail::with_lock<shared_lock>(sharing(), std::forward<F>(body),
                                              std::forward<CompletionToken>(token));
    }

    /// As `async_with_lock_shared`, if the lock can be had at once: nobody has it exclusively or waits for that. Else the body does not run.
    ///
    /// Completion signature: `void(std::exception_ptr, std::optional<T>)`, or `void(std::exception_ptr, bool)` when the
    /// body gives nothing: what the body gave, or `true`; an empty optional, or `false`, when the lock was not
    /// acquired, which is no error. T need not be default-constructible.
    /// Errors, as `system_error`: `errc::disconnected` there is no connection, or it broke meanwhile; those of
    /// `async_with_lock_shared`. Cancellation, executor and token: as for `async_with_lock_shared`.
    template <class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_try_with_lock_shared(F&& body, CompletionToken&& token = CompletionToken())
    {
        return detail::try_with_lock<shared_lock>(sharing(), std::forward<F>(body), detail::at_once,
                                                  std::forward<CompletionToken>(token));
    }

    /// The same, for so long at most: one limit for the whole wait, from the initiation on. The body may go on for
    /// longer. Zero and negative durations wait for nothing; what is too long for the clock has no end.
    template <class Rep, class Period, class F,
              class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_try_with_lock_shared_for(std::chrono::duration<Rep, Period> limit, F&& body,
                                        CompletionToken&& token = CompletionToken())
    {
        return detail::try_with_lock<shared_lock>(sharing(), std::forward<F>(body), limit,
                                                  std::forward<CompletionToken>(token));
    }

    /// The same until a point in time.
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
