// A distributed mutex that its owner may lock again.
#ifndef COLOCK_RECURSIVE_MUTEX_HPP
#define COLOCK_RECURSIVE_MUTEX_HPP

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
/// The guards of one owner share the lock, its token and its fate; `unique_lock::depth` tells how many there
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
    /// Completion signature: `void(error_code, unique_lock)`.
    /// Errors: those of `mutex::async_lock`; `errc::owner_waits` this owner waits for it already; when the
    /// owner holds it and it was lost, why it was lost.
    /// Cancellation and executor: as for `mutex::async_lock`.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_lock(lock_owner& owner, CompletionToken&& token = CompletionToken())
    {
        return detail::acquire(by(owner), std::forward<CompletionToken>(token), detail::never);
    }

    /// Takes the mutex if the owner has it, or nobody; else completes with an empty guard and no error.
    /// As `mutex::async_try_lock`.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock(lock_owner& owner, CompletionToken&& token = CompletionToken())
    {
        return detail::acquire(by(owner), std::forward<CompletionToken>(token), detail::at_once);
    }

    /// The same as async_lock, for so long at most. As `mutex::async_try_lock_for`.
    template <class Rep, class Period, class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock_for(lock_owner& owner, std::chrono::duration<Rep, Period> limit,
                            CompletionToken&& token = CompletionToken())
    {
        return detail::acquire(by(owner), std::forward<CompletionToken>(token), limit);
    }

    /// The same until a point in time.
    template <class Duration, class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock_until(lock_owner& owner,
                              std::chrono::time_point<std::chrono::steady_clock, Duration> deadline,
                              CompletionToken&& token = CompletionToken())
    {
        return detail::acquire(by(owner), std::forward<CompletionToken>(token),
                               detail::at(deadline));
    }

    /// Acquires the mutex, runs the body, releases the mutex, and gives what the body gave. As
    /// `mutex::async_with_lock`.
    template <class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_with_lock(lock_owner& owner, F&& body, CompletionToken&& token = CompletionToken())
    {
        return detail::with_lock(detail::lockable{by(owner)}, std::forward<F>(body),
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
