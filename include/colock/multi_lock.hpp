// Several locks, all or nothing.
#ifndef COLOCK_MULTI_LOCK_HPP
#define COLOCK_MULTI_LOCK_HPP

#include <colock/detail/access.hpp>
#include <colock/detail/deadline.hpp>
#include <colock/detail/initiate.hpp>
#include <colock/detail/start_operation.hpp>
#include <colock/detail/with_lock.hpp>
#include <colock/fwd.hpp>
#include <colock/multi_guard.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace colock {

/// That a `shared_mutex` is wanted together with others: `{prices, for_reading}`.
struct for_reading_t {
    explicit for_reading_t() = default;
};
/// The only value of its type.
inline constexpr for_reading_t for_reading{};

/// One lock that a `multi_lock` names. Refers to none of the objects that it is made from.
class COLOCK_DECL lock_entry : public detail::face_of<const detail::lock_target> {
public:
    /// The mutex.
    lock_entry(const mutex& lock);
    /// The exclusive lock.
    lock_entry(const shared_mutex& lock);
    /// The shared lock.
    lock_entry(const shared_mutex& lock, for_reading_t);
    /// So many of its permits, which take one round trip more than a lock.
    lock_entry(const semaphore& of, std::int64_t count = 1);
    /// For this owner: granted at once when it holds the mutex already.
    lock_entry(const recursive_mutex& lock, lock_owner& owner);
    /// The mutex.
    lock_entry(const single_node_mutex& lock);
};

/// Several locks of one client, of any kinds, that are taken together: all or nothing. Use it by `async_with_lock`,
/// which runs a body under all locks, and cancels the body when one is lost:
///
/// ```cpp
/// colock::multi_lock both{orders, {prices, colock::for_reading}};
/// co_await both.async_with_lock([&](const colock::multi_guard& together) -> asio::awaitable<void> {
///     co_await write(together.token(0), text); // the token of `orders`
/// });
/// ```
///
/// A `multi_lock` needs no name: `co_await colock::multi_lock{orders, prices}.async_with_lock(body)` takes both
/// exclusively.
///
/// **Order.** Absolute paths are those that the servers see, chroot included, compared byte by byte. Locks that are
/// free are held after one round trip, however many they are. A semaphore takes one more, and the locks with later
/// paths wait for it. The same is true of a lock whose uncontended fast path meets remote contenders. When one of the
/// locks is not held after that, the multi_lock gives up its places in the queues of all later locks. It then takes
/// the locks one after the other, in the order of their absolute paths. So it never waits for one lock while it keeps
/// a place in a later one, for longer than that round trip.
///
/// It **cannot deadlock** with callers that take several locks by a multi_lock, too, or one by one in the order of
/// their absolute paths. A caller that holds other locks already counts as one that takes them one by one: their
/// paths should come before these.
///
/// **Errors** of every acquisition and body, with what to do. docs/locks.md has the rest of them, which are rare.
///
/// | code | what it means, and what to do |
/// |---|---|
/// | `errc::invalid_path`, `errc::invalid_option` | Correct what the diagnostics name (`bind_diagnostics`). |
/// | `errc::not_connected` | Call `client::async_connect` first. |
/// | `errc::conflicting_use` | Lock objects of one client and path need one kind and equal options. |
/// | `errc::conflicting_kind` | Another client uses the path as another kind of lock. Use another path. |
/// | `errc::nothing_to_lock` | It names no lock. |
/// | `errc::path_twice` | It names a path twice, and would wait for itself. |
/// | `errc::several_clients` | The locks belong to several clients. Make them of one. |
/// | any error of one of the locks | No lock is held then. Its own class says what to do. |
/// | `errc::session_expired` | `lock_options::rejoin_on_expiry` is false. Acquire again. |
/// | `zookeeper_errc::no_auth` | Add credentials, or change the access control list. |
/// | `errc::client_closed` | The client was closed. |
/// | `operation_aborted` | The operation was cancelled, or the client was destroyed. |
/// | `errc::lock_lost` | Of bodies: a lock was lost before the body ended, or before a server confirmed |
/// | | the release; or the client was closed. Do not rely on what the body did. |
/// | `errc::revoked` | Of bodies: a client asked for the lock, see `lock_options::cancel_when_revoked`. |
///
/// docs/locks.md also says what a body may be, and what it completes with. For all functions of this class:
///
/// **Cancellation** of an acquisition: terminal and partial complete it at once, and what was taken is released in
/// the background. Total completes it when no trace of it is left, which may take until there is a connection. After
/// the grant a cancellation comes too late, and the guard is delivered. While a body runs, any type is passed on to
/// the body, and the operation completes when the body has ended.
///
/// **Executor**: a handler runs on its associated executor, by default the client's; never within the function that
/// starts the operation.
///
/// **Thread safety**: all functions of one object may be called from several threads at once, except assigning and
/// destroying it.
///
/// **Lifetime**: an object is a handle. Making it does no I/O and does not throw for a bad path. It may be destroyed
/// while its operations are under way; they go on. The locks that it was made of need not live on. Copies are cheap.
class COLOCK_DECL multi_lock {
public:
    using executor_type = boost::asio::any_io_executor;

    /// Names no lock: every operation completes with `errc::nothing_to_lock`.
    multi_lock() : multi_lock{std::vector<lock_entry>{}} {}
    /// One lock.
    explicit multi_lock(lock_entry only) : multi_lock{std::vector{std::move(only)}} {}
    // No constructor takes an initializer list, which GCC 12 refuses within a co_await expression. Single parameters,
    // unlike a parameter pack, take entries in braces: `{prices, for_reading}`.
    /// Two locks.
    multi_lock(lock_entry first, lock_entry second)
        : multi_lock{std::vector{std::move(first), std::move(second)}}
    {
    }
    /// Three locks.
    multi_lock(lock_entry first, lock_entry second, lock_entry third)
        : multi_lock{std::vector{std::move(first), std::move(second), std::move(third)}}
    {
    }
    /// Any number of locks. From the fifth on, an entry in braces needs its type: `lock_entry{prices, for_reading}`.
    template <std::convertible_to<lock_entry>... More>
    multi_lock(lock_entry first, lock_entry second, lock_entry third, lock_entry fourth,
               const More&... more)
        : multi_lock{std::vector<lock_entry>{std::move(first), std::move(second), std::move(third),
                                             std::move(fourth), more...}}
    {
    }
    /// As many locks as the vector has.
    explicit multi_lock(const std::vector<lock_entry>& locks);

    /// The executor of the client; that of the system when no lock is named.
    [[nodiscard]] executor_type get_executor() const noexcept;
    /// How many locks it names.
    [[nodiscard]] std::size_t size() const noexcept;

    /// Waits for all locks. At completion `held` holds all of them.
    ///
    /// A lock that is lost while others are waited for is taken again, with those behind it.
    ///
    /// Completion signature: `void(error_code, multi_guard held)`.
    /// Errors: the table of the class.
    /// Cancellation: terminal, partial: completes at once. Total: completes when no trace is left.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_lock(CompletionToken&& token = CompletionToken())
    {
        return start(std::forward<CompletionToken>(token), detail::never);
    }

    /// Takes all locks if nobody has any of them or waits for it. At completion `held` is empty if that is not so,
    /// which is no error. All are asked for at the same time. When several callers try at once,
    /// possibly none of them succeeds, though no lock was busy before.
    ///
    /// Completion signature: `void(error_code, multi_guard held)`.
    /// Errors: the table of the class. Why a lock was lost while the others were asked for. `errc::disconnected`:
    /// there is no connection, or it broke meanwhile; try again later.
    /// Cancellation: terminal, partial: completes at once. Total: completes when no trace is left.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock(CompletionToken&& token = CompletionToken())
    {
        return start(std::forward<CompletionToken>(token), detail::at_once);
    }

    /// Waits for all locks for `limit` at most, from the initiation on. At completion `held` holds all of them, or
    /// is empty if it was not granted in time, which is no error. Zero and negative times wait for nothing; a time
    /// that is too long for the clock is no limit.
    ///
    /// Completion signature: `void(error_code, multi_guard held)`.
    /// Errors: the table of the class. `errc::disconnected`: there was no connection when the time was over; try
    /// again later.
    /// Cancellation: terminal, partial: completes at once. Total: completes when no trace is left.
    template <class Rep, class Period, class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock_for(std::chrono::duration<Rep, Period> limit,
                            CompletionToken&& token = CompletionToken())
    {
        return start(std::forward<CompletionToken>(token), limit);
    }

    /// Waits for all locks until `deadline` at most. At completion `held` holds all of them, or is empty if the
    /// deadline came first, which is no error. A deadline that has passed waits for nothing.
    ///
    /// Completion signature: `void(error_code, multi_guard held)`.
    /// Errors: the table of the class. `errc::disconnected`: there was no connection at `deadline`; try again later.
    /// Cancellation: terminal, partial: completes at once. Total: completes when no trace is left.
    template <class Duration, class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock_until(std::chrono::time_point<std::chrono::steady_clock, Duration> deadline,
                              CompletionToken&& token = CompletionToken())
    {
        return start(std::forward<CompletionToken>(token), detail::at(deadline));
    }

    /// Acquires all locks, runs `body(const multi_guard&)`, releases all locks, and gives what the body gave. The
    /// body is cancelled as soon as all locks can no longer be trusted.
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
        return detail::with_lock(bodies{*this}, std::forward<F>(body),
                                 std::forward<CompletionToken>(token));
    }

    /// Acquires all locks if nobody has any of them or waits for it, runs the body, and releases all locks. Else the
    /// body does not run, which is no error.
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
        return detail::try_with_lock(bodies{*this}, std::forward<F>(body), detail::at_once,
                                     std::forward<CompletionToken>(token));
    }

    /// Acquires all locks within `limit`, runs the body, and releases all locks. Else the body does not run, which
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
        return detail::try_with_lock(bodies{*this}, std::forward<F>(body), limit,
                                     std::forward<CompletionToken>(token));
    }

    /// Acquires all locks before `deadline`, runs the body, and releases all locks. Else the body does not run,
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
        return detail::try_with_lock(bodies{*this}, std::forward<F>(body), detail::at(deadline),
                                     std::forward<CompletionToken>(token));
    }

private:
    using list = std::shared_ptr<const detail::lock_list>;
    using op = detail::operation_ptr<error_code, multi_guard>;

    // Started with a limit it counts from then on.
    struct starter {
        void operator()(const std::shared_ptr<detail::client_core>&, op o, list locks,
                        detail::deadline until) const
        {
            start_lock(std::move(o), std::move(locks), until);
        }
        template <class Rep, class Period>
        void operator()(const std::shared_ptr<detail::client_core>&, op o, list locks,
                        std::chrono::duration<Rep, Period> limit) const
        {
            start_lock(std::move(o), std::move(locks), detail::after(limit));
        }
    };

    template <class CompletionToken, class Limit>
    auto start(CompletionToken&& token, Limit limit)
    {
        return detail::start_operation<CompletionToken, void(error_code, multi_guard)>(
            detail::initiate<error_code, multi_guard>{core()}, token, starter{}, locks_, limit);
    }

    // See supervised_lock.hpp.
    class bodies {
    public:
        using guard_type = multi_guard;

        explicit bodies(const multi_lock& of) : locks_{of.locks_} {}

        [[nodiscard]] executor_type get_executor() const noexcept { return of().get_executor(); }
        [[nodiscard]] std::chrono::milliseconds body_grace() const { return of().body_grace(); }
        template <class Visit>
        void each_revocable(const multi_guard& held, Visit visit) const
        {
            for (std::size_t i = 0; i != held.size(); ++i) {
                if (of().is_cancelled_when_revoked(i)) {
                    visit(held[i]);
                }
            }
        }
        template <class CompletionToken>
        auto async_lock(detail::deadline until, CompletionToken&& token) const
        {
            return of().start(std::forward<CompletionToken>(token), until);
        }

    private:
        [[nodiscard]] multi_lock of() const noexcept { return multi_lock{locks_}; }

        list locks_;
    };

    explicit multi_lock(list locks) noexcept : locks_{std::move(locks)} {}

    [[nodiscard]] std::chrono::milliseconds body_grace() const noexcept;
    [[nodiscard]] bool is_cancelled_when_revoked(std::size_t i) const noexcept;
    [[nodiscard]] const std::shared_ptr<detail::client_core>& core() const noexcept;
    static void start_lock(op o, list locks, detail::deadline until);

    list locks_;
};

} // namespace colock

#endif
