// The functions of every lock.
#ifndef COLOCK_DETAIL_LOCK_FUNCTIONS_HPP
#define COLOCK_DETAIL_LOCK_FUNCTIONS_HPP

#include <colock/detail/access.hpp>
#include <colock/detail/basic_lock.hpp>
#include <colock/detail/deadline.hpp>
#include <colock/detail/initiate_lock.hpp>
#include <colock/detail/with_lock.hpp>
#include <colock/recursive_lock.hpp>
#include <colock/unique_lock.hpp>

#include <boost/asio/deferred.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <utility>

namespace colock::detail {

// Lockable (supervised_lock.hpp) is made of what Face shares with its copies, and of the owner where the lock is recursive.
// Guard stands for Lockable::guard_type. The reference shows these functions in each class, with its guard and its owner:
// tools/docs/comments.awk.
template <class Face, class Lockable, class... Owner>
class lock_functions : public Face {
public:
    /// Waits for the lock. At completion `held` holds it.
    ///
    /// Give the guard a name: `co_await m.async_lock();` releases the lock at once, and GCC 12 does not warn of it.
    ///
    /// Completion signature: `void(error_code, Guard held)`.
    /// Errors: the table of the class.
    /// Cancellation: terminal, partial: completes at once. Total: completes when no trace is left.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_lock(Owner... owner, CompletionToken&& token = CompletionToken())
    {
        return of(owner...).async_lock(never, std::forward<CompletionToken>(token));
    }

    /// Takes the lock if nobody has it or waits for it. At completion `held` is empty if that is not so, which is no
    /// error. A busy lock costs one read and no write.
    ///
    /// Completion signature: `void(error_code, Guard held)`.
    /// Errors: the table of the class. `errc::disconnected`: there is no connection, or it broke meanwhile; try
    /// again later.
    /// Cancellation: terminal, partial: completes at once. Total: completes when no trace is left.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock(Owner... owner, CompletionToken&& token = CompletionToken())
    {
        return of(owner...).async_lock(at_once, std::forward<CompletionToken>(token));
    }

    /// Waits for the lock for `limit` at most, from the initiation on. At completion `held` holds it, or is empty
    /// if it was not granted in time, which is no error. Zero and negative times wait for nothing; a time that is
    /// too long for the clock is no limit.
    ///
    /// Completion signature: `void(error_code, Guard held)`.
    /// Errors: the table of the class. `errc::disconnected`: there was no connection when the time was over; try
    /// again later.
    /// Cancellation: terminal, partial: completes at once. Total: completes when no trace is left.
    template <class Rep, class Period, class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock_for(Owner... owner, std::chrono::duration<Rep, Period> limit,
                            CompletionToken&& token = CompletionToken())
    {
        return of(owner...).async_lock(limit, std::forward<CompletionToken>(token));
    }

    /// Waits for the lock until `when` at most. At completion `held` holds it, or is empty if that came
    /// first, which is no error. A time that has passed waits for nothing.
    ///
    /// Completion signature: `void(error_code, Guard held)`.
    /// Errors: the table of the class. `errc::disconnected`: there was no connection at `when`; try again later.
    /// Cancellation: terminal, partial: completes at once. Total: completes when no trace is left.
    template <class Duration, class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock_until(Owner... owner,
                              std::chrono::time_point<std::chrono::steady_clock, Duration> when,
                              CompletionToken&& token = CompletionToken())
    {
        return of(owner...).async_lock(at(when), std::forward<CompletionToken>(token));
    }

    /// Acquires the lock, runs `body(const Guard&)`, releases the lock, and returns what the body returned. The body is
    /// cancelled as soon as the lock can no longer be trusted.
    ///
    /// A lambda that is written within a `co_await` expression must capture by reference: GCC 12 destroys twice what
    /// it captures by value. A body with a name may capture in any way; it is copied.
    ///
    /// Completion signature: `void(std::exception_ptr failure, T result)`; `void(std::exception_ptr failure)` when
    /// the body gives nothing.
    /// Errors, as `system_error`: the table of the class, also `errc::lock_lost` and `errc::revoked`. An exception
    /// of the body takes precedence over both, unless it comes of the cancellation.
    /// Cancellation: before the body runs, terminal and partial complete at once, and total completes when no trace
    /// is left. Then any type is passed on to the body, and the operation completes when the body has ended.
    /// Token: by default `use_awaitable`.
    template <class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_with_lock(Owner... owner, F&& body, CompletionToken&& token = CompletionToken())
    {
        return detail::with_lock<false>(of(owner...), std::forward<F>(body), detail::never,
                                        std::forward<CompletionToken>(token));
    }

    /// Acquires the lock if nobody has it or waits for it, runs the body, and releases the lock. Else the body does
    /// not run, which is no error.
    ///
    /// Completion signature: `void(std::exception_ptr failure, std::optional<T> result)`: empty when the body did
    /// not run; `void(std::exception_ptr failure, bool has_run)` when the body gives nothing.
    /// Errors, as `system_error`: those of `async_with_lock`. `errc::disconnected`: there is no connection, or it broke
    /// meanwhile; try again later.
    /// Cancellation: as `async_with_lock`.
    /// Token: by default `use_awaitable`.
    template <class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_try_with_lock(Owner... owner, F&& body, CompletionToken&& token = CompletionToken())
    {
        return detail::with_lock<true>(of(owner...), std::forward<F>(body), at_once,
                                       std::forward<CompletionToken>(token));
    }

    /// Acquires the lock within `limit`, runs the body, and releases the lock. Else the body does not run, which is
    /// no error. The time is a limit for the wait, from the initiation on; the body may take longer. Zero and
    /// negative times wait for nothing; a time that is too long for the clock is no limit.
    ///
    /// Completion signature: that of `async_try_with_lock`.
    /// Errors, as `system_error`: those of `async_with_lock`. `errc::disconnected`: there was no connection when the
    /// time was over; try again later.
    /// Cancellation: as `async_with_lock`.
    /// Token: by default `use_awaitable`.
    template <class Rep, class Period, class F,
              class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_try_with_lock_for(Owner... owner, std::chrono::duration<Rep, Period> limit, F&& body,
                                 CompletionToken&& token = CompletionToken())
    {
        return detail::with_lock<true>(of(owner...), std::forward<F>(body), limit,
                                       std::forward<CompletionToken>(token));
    }

    /// Acquires the lock before `when`, runs the body, and releases the lock. Else the body does not run, which
    /// is no error. A time that has passed waits for nothing.
    ///
    /// Completion signature: that of `async_try_with_lock`.
    /// Errors, as `system_error`: those of `async_with_lock`. `errc::disconnected`: there was no connection at
    /// `when`; try again later.
    /// Cancellation: as `async_with_lock`.
    /// Token: by default `use_awaitable`.
    template <class Duration, class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto
    async_try_with_lock_until(Owner... owner,
                              std::chrono::time_point<std::chrono::steady_clock, Duration> when,
                              F&& body, CompletionToken&& token = CompletionToken())
    {
        return detail::with_lock<true>(of(owner...), std::forward<F>(body), at(when),
                                       std::forward<CompletionToken>(token));
    }

protected:
    using Face::Face;

private:
    [[nodiscard]] Lockable of(Owner... owner) const
    {
        return Lockable{this->behind(), access::behind(owner)...};
    }
};

using exclusive_lock = lock_functions<basic_lock, lockable<unique_lock>>;
using owned_lock = lock_functions<basic_lock, lockable<recursive_lock>, lock_owner&>;

} // namespace colock::detail

#endif
