// Several locks, all or nothing.
#ifndef COLOCK_MULTI_LOCK_HPP
#define COLOCK_MULTI_LOCK_HPP

#include <colock/detail/access.hpp>
#include <colock/detail/deadline.hpp>
#include <colock/detail/initiate.hpp>
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
inline constexpr for_reading_t for_reading{};

/// One lock that a `multi_lock` names. Refers to none of the objects that it is made from.
class COLOCK_DECL lock_entry : public detail::face_of<const detail::lock_target> {
public:
    lock_entry(const mutex& m);
    /// The exclusive lock.
    lock_entry(const shared_mutex& m);
    /// The shared lock.
    lock_entry(const shared_mutex& m, for_reading_t);
    /// So many of its permits, which take one round trip more than a lock.
    lock_entry(const semaphore& s, std::int64_t count = 1);
    /// For this owner: granted at once when he has it.
    lock_entry(const recursive_mutex& m, lock_owner& owner);
    lock_entry(const single_node_mutex& m);
};

/// Several locks of one client, of any kinds, that are taken together: all or nothing.
///
/// ```cpp
/// colock::multi_lock both{orders, {prices, colock::for_reading}};
/// colock::multi_guard together = co_await both.async_lock();
/// co_await write(together.token(0), text); // the token of `orders`
/// ```
///
/// A `multi_lock` needs no name: `co_await colock::multi_lock{orders, prices}.async_lock()` takes both exclusively.
///
/// Locks that are free are held after one round trip, however many they are; a semaphore takes one more, and those
/// whose paths come behind its path wait for it, as do those behind one that this client expected to use alone and
/// whose directory others have used meanwhile. When one of them is not held after that, the places in the
/// queues of those behind it are given up, and the locks are taken one after the other, in the order of their
/// absolute paths. So nobody who uses a multi_lock ever waits for one lock while he keeps a place in a later one,
/// for longer than that round trip; and he **cannot deadlock** with others, as long as those who take several
/// locks use a multi_lock, too, or take them one by one in the order of their absolute paths (those that the
/// servers see, chroot included; compared byte by byte). One who holds other locks already is in their position:
/// they should come before these.
///
/// It names each path once (`errc::path_twice`), at least one (`errc::nothing_to_lock`), and all locks are of one
/// client (`errc::several_clients`); otherwise every operation completes with that error. It does no I/O when it
/// is made, and may be destroyed while its operations are under way; they go on. Neither do the locks it
/// was made of have to live on. Copies are cheap.
///
/// **Thread safety**: distinct objects may be used from several threads; of one object, all functions may
/// be called from several threads at once, except assigning and destroying it.
class COLOCK_DECL multi_lock {
public:
    using executor_type = boost::asio::any_io_executor;

    /// Names no lock: every operation completes with `errc::nothing_to_lock`.
    multi_lock() : multi_lock{std::vector<lock_entry>{}} {}
    explicit multi_lock(lock_entry only) : multi_lock{std::vector{std::move(only)}} {}
    // No constructor takes an initializer list, which GCC 12 refuses within a co_await expression. Single parameters,
    // unlike a parameter pack, take entries in braces: `{prices, for_reading}`.
    multi_lock(lock_entry first, lock_entry second)
        : multi_lock{std::vector{std::move(first), std::move(second)}}
    {
    }
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
    explicit multi_lock(const std::vector<lock_entry>& locks);

    /// The client's; that of the system when no lock is named.
    [[nodiscard]] executor_type get_executor() const noexcept;
    /// How many locks it names.
    [[nodiscard]] std::size_t size() const noexcept;

    /// Waits for all locks; completes when all are held.
    ///
    /// A lock that is lost while others are waited for is taken again, with those behind it. While there is no
    /// connection it waits for one.
    ///
    /// Completion signature: `void(error_code, multi_guard)`.
    /// Errors: those named above; those of the locks, see `mutex::async_lock`, the first that comes, and then
    /// none is held: what was held is released in the background, and what was waited for is given up, whatever
    /// becomes of the connection.
    /// Cancellation: terminal and partial complete at once, and what was taken is released in the background;
    /// total alone completes when no trace is left, which may take until the connection is back. After the
    /// last grant it is too late, and the locks are delivered.
    /// Executor: the handler's associated one, by default the client's. Never inline.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_lock(CompletionToken&& token = CompletionToken())
    {
        return start(std::forward<CompletionToken>(token), detail::never);
    }

    /// Takes all locks if nobody has any of them or waits for it; else completes with an empty guard and no
    /// error.
    ///
    /// All are asked for at the same time. Of several who try that at once none need succeed, though no lock was
    /// busy before.
    ///
    /// Completion signature: `void(error_code, multi_guard)`.
    /// Errors: `errc::disconnected` there is no connection, or it broke meanwhile; those of `async_lock`; why a
    /// lock was lost while the others were asked for.
    /// Cancellation and executor: as for `async_lock`.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock(CompletionToken&& token = CompletionToken())
    {
        return start(std::forward<CompletionToken>(token), detail::at_once);
    }

    /// The same as async_lock, for so long at most: one limit for all locks, from the initiation on.
    ///
    /// Completes with an empty guard and no error when not all were granted in time; none is held then. Zero and
    /// negative durations are `async_try_lock`; what is too long for the clock is `async_lock`.
    ///
    /// Completion signature: `void(error_code, multi_guard)`.
    /// Errors: `errc::disconnected` there was no connection when the time was over; those of `async_lock`.
    /// Cancellation and executor: as for `async_lock`.
    template <class Rep, class Period, class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock_for(std::chrono::duration<Rep, Period> limit,
                            CompletionToken&& token = CompletionToken())
    {
        return start(std::forward<CompletionToken>(token), limit);
    }

    /// The same until a point in time.
    template <class Duration, class CompletionToken = boost::asio::deferred_t>
    auto async_try_lock_until(std::chrono::time_point<std::chrono::steady_clock, Duration> deadline,
                              CompletionToken&& token = CompletionToken())
    {
        return start(std::forward<CompletionToken>(token), detail::at(deadline));
    }

    /// Acquires all locks, runs the body, releases the locks, and gives what the body gave. The body is cancelled as
    /// soon as one of the locks can no longer be trusted.
    ///
    /// ```cpp
    /// co_await colock::multi_lock{orders, prices}.async_with_lock(
    ///     [&](const colock::multi_guard& together) -> asio::awaitable<void> {
    ///         co_await write(together.token(0), text); // the token of `orders`
    ///     });
    /// ```
    ///
    /// `body(const multi_guard&)` is as that of `mutex::async_with_lock`: it returns an `awaitable<T>`, or an operation
    /// that takes a completion token and gives a T, which is void or default-constructible; it runs on a strand over the
    /// handler's associated executor; it is cancelled, and waited for, when a lock is lost, when this operation is
    /// cancelled, or when somebody asks for a lock that has `lock_options::cancel_when_revoked`. It is reported when it
    /// goes on for longer than the shortest `lock_options::body_grace` of the locks. Capture by reference where you
    /// `co_await` this; `mutex::async_with_lock` says why.
    ///
    /// Completion signature: `void(std::exception_ptr, T)`, or `void(std::exception_ptr)`; the locks have been released
    /// when it completes.
    /// Errors, as `system_error`: those of `async_lock`, without running the body; `errc::lock_lost`, whose text tells
    /// why, when a lock was lost before the body ended, or before a server confirmed the release. An exception of the
    /// body takes precedence, unless it is `operation_aborted`. `errc::revoked` in place of `operation_aborted` when the
    /// body was cancelled because somebody asked for a lock.
    /// Cancellation: until the body runs as for `async_lock`; then any type is passed on to the body, and the locks are
    /// released in the background.
    /// Executor: the handler's associated one, by default the client's. Never inline.
    /// Token: by default `use_awaitable`; see `mutex::async_with_lock`.
    template <class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_with_lock(F&& body, CompletionToken&& token = CompletionToken())
    {
        return detail::with_lock(bodies<false>{*this}, std::forward<F>(body), detail::never,
                                 std::forward<CompletionToken>(token));
    }

    /// As `async_with_lock`, if all locks can be had at once: nobody has any of them or waits for it. Else the body does not run.
    ///
    /// Completion signature: `void(std::exception_ptr, std::optional<T>)`, or `void(std::exception_ptr, bool)` when the
    /// body gives nothing: what the body gave, or `true`; an empty optional, or `false`, when not all locks
    /// were acquired, which is no error. T need not be default-constructible.
    /// Errors, as `system_error`: `errc::disconnected` there is no connection, or it broke meanwhile; those of
    /// `async_with_lock`. Cancellation, executor and token: as for `async_with_lock`.
    template <class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_try_with_lock(F&& body, CompletionToken&& token = CompletionToken())
    {
        return detail::with_lock(bodies<true>{*this}, std::forward<F>(body), detail::at_once,
                                 std::forward<CompletionToken>(token));
    }

    /// The same, for so long at most: one limit for the whole wait, from the initiation on. The body may go on for
    /// longer. Zero and negative durations wait for nothing; what is too long for the clock has no end.
    template <class Rep, class Period, class F,
              class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_try_with_lock_for(std::chrono::duration<Rep, Period> limit, F&& body,
                                 CompletionToken&& token = CompletionToken())
    {
        return detail::with_lock(bodies<true>{*this}, std::forward<F>(body), limit,
                                 std::forward<CompletionToken>(token));
    }

    /// The same until a point in time.
    template <class Duration, class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto
    async_try_with_lock_until(std::chrono::time_point<std::chrono::steady_clock, Duration> deadline,
                              F&& body, CompletionToken&& token = CompletionToken())
    {
        return detail::with_lock(bodies<true>{*this}, std::forward<F>(body), detail::at(deadline),
                                 std::forward<CompletionToken>(token));
    }

private:
    using list = std::shared_ptr<const detail::lock_list>;
    using op = detail::operation_ptr<error_code, multi_guard>;

    // Started with a limit it counts from then on.
    struct starter {
        void operator()(const std::shared_ptr<detail::client_core>&, op o, list l,
                        detail::deadline until) const
        {
            start_lock(std::move(o), std::move(l), until);
        }
        template <class Rep, class Period>
        void operator()(const std::shared_ptr<detail::client_core>&, op o, list l,
                        std::chrono::duration<Rep, Period> limit) const
        {
            start_lock(std::move(o), std::move(l), detail::after(limit));
        }
    };

    template <class CompletionToken, class Limit>
    auto start(CompletionToken&& token, Limit limit)
    {
        return boost::asio::async_initiate<CompletionToken, void(error_code, multi_guard)>(
            detail::initiate<error_code, multi_guard>{core()}, token, starter{}, locks_, limit);
    }

    // See with_lock.hpp.
    template <bool tries_only>
    class bodies {
    public:
        using guard_type = multi_guard;
        static constexpr bool tries = tries_only;

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
    static void start_lock(op o, list l, detail::deadline until);

    list locks_;
};

} // namespace colock

#endif
