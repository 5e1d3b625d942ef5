// A distributed mutex that its owner may lock again.
#ifndef COLOCK_RECURSIVE_MUTEX_HPP
#define COLOCK_RECURSIVE_MUTEX_HPP

#include <colock/client.hpp>
#include <colock/detail/basic_lock.hpp>
#include <colock/detail/initiate_lock.hpp>
#include <colock/detail/with_lock.hpp>
#include <colock/lock_options.hpp>
#include <colock/recursive_lock.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace colock {

/// One who locks: what a thread is to `std::recursive_mutex`. Coroutines move between threads, and so an owner
/// is an object: make one for each flow of control that locks, and hand it down to what it calls.
///
/// One owner may lock several mutexes. It may be destroyed before the guards. Movable, not copyable; one that
/// was moved from may only be destroyed or assigned to.
///
/// **Thread safety**: one object may be used from several threads at once, except moving, assigning and
/// destroying it.
class COLOCK_DECL lock_owner : public detail::face_of<detail::owner_state> {
public:
    lock_owner();
    lock_owner(lock_owner&&) noexcept = default;
    lock_owner& operator=(lock_owner&&) noexcept = default;
    lock_owner(const lock_owner&) = delete;
    lock_owner& operator=(const lock_owner&) = delete;
    ~lock_owner() = default;
};

/// A `mutex` that its owner may lock again: that is granted at once, without asking a server.
///
/// The guards of one owner share the lock, its token and its fate; `recursive_lock::depth` tells how many there
/// are. It is released with the last of them. They are to be unlocked in the reverse order of locking:
/// `async_unlock` of one that was locked before another that is still held completes with
/// `errc::unlock_out_of_order`, and that guard is given up nevertheless. Destroying them in any order is fine.
/// `async_wait_lost` of any of them ends with the last one, at the latest.
///
/// In everything else it is a `mutex`: what is said there about options, cancellation, errors, executors and
/// thread safety holds here. A `mutex` and a `recursive_mutex` of one client cannot use the same path
/// (`errc::conflicting_use`); those of different clients exclude each other.
class COLOCK_DECL recursive_mutex : public detail::basic_lock {
public:
    recursive_mutex(client& c, std::string path);
    recursive_mutex(client& c, std::string path, lock_options options);

    /// Waits for the mutex; completes when the owner holds it, or holds it once more.
    ///
    /// Completion signature: `void(error_code, recursive_lock)`.
    /// Errors: those of `mutex::async_lock`; `errc::owner_waits` this owner waits for it already; when the
    /// owner holds it and it was lost, why it was lost.
    /// Cancellation and executor: as for `mutex::async_lock`.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_lock(lock_owner& owner, CompletionToken&& token = CompletionToken())
    {
        return detail::acquire<recursive_lock>(by(owner), std::forward<CompletionToken>(token),
                                               detail::never);
    }

    /// Takes the mutex if the owner has it, or nobody; else completes with an empty guard and no error.
    /// As `mutex::async_try_lock`.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock(lock_owner& owner, CompletionToken&& token = CompletionToken())
    {
        return detail::acquire<recursive_lock>(by(owner), std::forward<CompletionToken>(token),
                                               detail::at_once);
    }

    /// The same as async_lock, for so long at most. As `mutex::async_try_lock_for`.
    template <class Rep, class Period, class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock_for(lock_owner& owner, std::chrono::duration<Rep, Period> limit,
                            CompletionToken&& token = CompletionToken())
    {
        return detail::acquire<recursive_lock>(by(owner), std::forward<CompletionToken>(token),
                                               limit);
    }

    /// The same until a point in time.
    template <class Duration, class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock_until(lock_owner& owner,
                              std::chrono::time_point<std::chrono::steady_clock, Duration> deadline,
                              CompletionToken&& token = CompletionToken())
    {
        return detail::acquire<recursive_lock>(by(owner), std::forward<CompletionToken>(token),
                                               detail::at(deadline));
    }

    /// Acquires the mutex, runs the body, releases the mutex, and gives what the body gave. As
    /// `mutex::async_with_lock`, with a body that takes a `const recursive_lock&`, or a `const unique_lock&`.
    template <class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_with_lock(lock_owner& owner, F&& body, CompletionToken&& token = CompletionToken())
    {
        return detail::with_lock<recursive_lock>(by(owner), std::forward<F>(body),
                                                 std::forward<CompletionToken>(token));
    }

    /// As `async_with_lock`, if the mutex can be had at once: the owner has it, or nobody. Else the body does not run.
    ///
    /// Completion signature: `void(std::exception_ptr, std::optional<T>)`, or `void(std::exception_ptr, bool)` when the
    /// body gives nothing: what the body gave, or `true`; an empty optional, or `false`, when the mutex was not
    /// acquired, which is no error. T need not be default-constructible.
    /// Errors, as `system_error`: `errc::disconnected` there is no connection, or it broke meanwhile; those of
    /// `async_with_lock`. Cancellation, executor and token: as for `async_with_lock`.
    template <class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_try_with_lock(lock_owner& owner, F&& body,
                             CompletionToken&& token = CompletionToken())
    {
        return detail::try_with_lock<recursive_lock>(by(owner), std::forward<F>(body),
                                                     detail::at_once,
                                                     std::forward<CompletionToken>(token));
    }

    /// The same, for so long at most: one limit for the whole wait, from the initiation on. The body may go on for
    /// longer. Zero and negative durations wait for nothing; what is too long for the clock has no end.
    template <class Rep, class Period, class F,
              class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_try_with_lock_for(lock_owner& owner, std::chrono::duration<Rep, Period> limit,
                                 F&& body, CompletionToken&& token = CompletionToken())
    {
        return detail::try_with_lock<recursive_lock>(by(owner), std::forward<F>(body), limit,
                                                     std::forward<CompletionToken>(token));
    }

    /// The same until a point in time.
    template <class Duration, class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto
    async_try_with_lock_until(lock_owner& owner,
                              std::chrono::time_point<std::chrono::steady_clock, Duration> deadline,
                              F&& body, CompletionToken&& token = CompletionToken())
    {
        return detail::try_with_lock<recursive_lock>(by(owner), std::forward<F>(body),
                                                     detail::at(deadline),
                                                     std::forward<CompletionToken>(token));
    }

private:
    [[nodiscard]] detail::acquire_request by(const lock_owner& owner) const noexcept
    {
        return {behind(), detail::acquire_request::mode::exclusive, detail::access::behind(owner)};
    }
};

} // namespace colock

#endif
