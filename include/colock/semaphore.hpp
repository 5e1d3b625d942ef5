// A distributed semaphore.
#ifndef COLOCK_SEMAPHORE_HPP
#define COLOCK_SEMAPHORE_HPP

#include <colock/client.hpp>
#include <colock/detail/access.hpp>
#include <colock/detail/deadline.hpp>
#include <colock/detail/initiate.hpp>
#include <colock/detail/with_lock.hpp>
#include <colock/lock_options.hpp>
#include <colock/permit.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace colock {

/// The number of permits of a `semaphore` that is kept in a node, as Curator's SharedCount has it: four bytes,
/// the highest first. It may change at any time: permits are granted only if there are so many when the server
/// creates them; permits that are held stay when the number falls. Do not delete and create the node to change it.
///
/// ```cpp
/// colock::permit one = co_await colock::semaphore{zk, path, colock::counter_node{"/limit"}}.async_acquire();
/// ```
struct counter_node {
    // With a constructor, because GCC 12 would destroy an aggregate twice within a co_await expression.
    explicit counter_node(std::string node) : path{std::move(node)} {}

    std::string path;
};

/// A number of permits among all processes that use the same path of the same ensemble.
///
/// Those who acquire stand in a queue (a `mutex` at `path/locks`); the first one takes his permits, all of them at
/// once, when there are as many (nodes in `path/leases`), and holds the others up until then: so one who wants
/// many does not starve. Two who want two of two never hold one each. Free, it takes two round trips, or three when
/// this client expected to be the only one and is not; those who wait on one client share a node in the queue.
///
/// The layout is that of Curator's InterProcessSemaphoreV2, which takes its permits one by one.
///
/// A `semaphore` is a handle, as `mutex` is: what is said there about objects, options, and thread safety holds
/// here. `lock_options::layout`, `linger`, `max_linger` and `cancel_when_revoked` have no meaning here, and are refused
/// with `errc::invalid_option`, if they are set.
class COLOCK_DECL semaphore : public detail::face_of<const detail::semaphore_path> {
public:
    using executor_type = boost::asio::any_io_executor;

    /// With so many permits, at least one. All who use the path have to give the same number.
    semaphore(client& c, std::string path, std::int64_t permits);
    semaphore(client& c, std::string path, std::int64_t permits, lock_options options);
    /// With as many as the node says.
    semaphore(client& c, std::string path, counter_node permits);
    semaphore(client& c, std::string path, counter_node permits, lock_options options);

    [[nodiscard]] executor_type get_executor() const noexcept;
    [[nodiscard]] const std::string& path() const noexcept;

    /// Waits for so many permits; completes when all of them are held.
    ///
    /// Completion signature: `void(error_code, permit)`.
    /// Errors: `errc::invalid_path`; `errc::invalid_option` no or negative permits, of the semaphore or to be
    /// acquired, or more than fit into one request (`client_options::max_request_size`: some thousands, and fewer
    /// with long `lock_options::owner_data`), or see `mutex::async_lock`; `errc::too_many_permits` more than there
    /// are, if their number is fixed; `errc::conflicting_use` another object of this client uses the path with
    /// another number or as another kind of lock, `errc::conflicting_kind` another client does the latter;
    /// `errc::conflicting_maximum` other clients have another number;
    /// `errc::invalid_counter` the node of a `counter_node` holds no number; `zookeeper_errc::no_node` it does not
    /// exist; those of `mutex::async_lock`.
    /// Cancellation: terminal and partial complete at once, and what was begun is undone in the background;
    /// total alone completes when no trace is left, which may take until the connection is back. If the mutex
    /// of the semaphore was held by then, it completes at the `safe_until` of that mutex at the latest. After
    /// the grant it is too late.
    /// Executor: the handler's associated one, by default the client's. Never inline.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_acquire(std::int64_t count, CompletionToken&& token = CompletionToken())
    {
        return start(count, std::forward<CompletionToken>(token), detail::never);
    }
    /// Waits for one permit.
    template <class CompletionToken = boost::asio::deferred_t>
        requires(!std::convertible_to<CompletionToken, std::int64_t>)
    auto async_acquire(CompletionToken&& token = CompletionToken())
    {
        return start(1, std::forward<CompletionToken>(token), detail::never);
    }

    /// Takes the permits if there are as many, and nobody waits before; else completes with an empty object and no
    /// error. When there are too few it costs one read and no write; with a `counter_node`, one more read.
    ///
    /// Errors: `errc::disconnected` there is no connection, or it broke meanwhile; those of `async_acquire`.
    /// Everything else as for `async_acquire`.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_try_acquire(std::int64_t count, CompletionToken&& token = CompletionToken())
    {
        return start(count, std::forward<CompletionToken>(token), detail::at_once);
    }
    /// Takes one permit, likewise.
    template <class CompletionToken = boost::asio::deferred_t>
        requires(!std::convertible_to<CompletionToken, std::int64_t>)
    auto async_try_acquire(CompletionToken&& token = CompletionToken())
    {
        return start(1, std::forward<CompletionToken>(token), detail::at_once);
    }

    /// As async_acquire, for so long at most: an empty object and no error when the time is over, or
    /// `errc::disconnected` when there is no connection then. What was begun is undone in the background.
    /// Zero and negative durations are `async_try_acquire`; what is too long for the clock is `async_acquire`.
    template <class Rep, class Period, class CompletionToken = boost::asio::deferred_t>
    auto async_try_acquire_for(std::int64_t count, std::chrono::duration<Rep, Period> limit,
                               CompletionToken&& token = CompletionToken())
    {
        return start(count, std::forward<CompletionToken>(token), limit);
    }

    /// The same until a point in time.
    template <class Duration, class CompletionToken = boost::asio::deferred_t>
    auto
    async_try_acquire_until(std::int64_t count,
                            std::chrono::time_point<std::chrono::steady_clock, Duration> deadline,
                            CompletionToken&& token = CompletionToken())
    {
        return start(count, std::forward<CompletionToken>(token), detail::at(deadline));
    }

    /// One permit, likewise.
    template <class Rep, class Period, class CompletionToken = boost::asio::deferred_t>
    auto async_try_acquire_for(std::chrono::duration<Rep, Period> limit,
                               CompletionToken&& token = CompletionToken())
    {
        return start(1, std::forward<CompletionToken>(token), limit);
    }
    template <class Duration, class CompletionToken = boost::asio::deferred_t>
    auto
    async_try_acquire_until(std::chrono::time_point<std::chrono::steady_clock, Duration> deadline,
                            CompletionToken&& token = CompletionToken())
    {
        return start(1, std::forward<CompletionToken>(token), detail::at(deadline));
    }

    /// Acquires so many permits, runs the body, releases the permits, and gives what the body gave. The body is
    /// cancelled as soon as the permits can no longer be trusted.
    ///
    /// ```cpp
    /// co_await pool.async_with_permits(2, [&](const colock::permit&) -> asio::awaitable<void> {
    ///     co_await work();
    /// });
    /// ```
    ///
    /// `body(const permit&)` is as that of `mutex::async_with_lock`: it returns an `awaitable<T>`, or an operation that
    /// takes a completion token and gives a T, which is void or default-constructible; it runs on a strand over the
    /// handler's associated executor; it is cancelled, and waited for, when the permits are lost or this operation is
    /// cancelled. It is reported when it goes on for longer than `lock_options::body_grace`. Capture by reference where
    /// you `co_await` this; `mutex::async_with_lock` says why.
    ///
    /// Completion signature: `void(std::exception_ptr, T)`, or `void(std::exception_ptr)`; the permits have been
    /// released when it completes.
    /// Errors, as `system_error`: those of `async_acquire`, without running the body; `errc::lock_lost`, whose text tells
    /// why, when the permits were lost before the body ended, or before a server confirmed the release. An exception of
    /// the body takes precedence, unless it is `operation_aborted`.
    /// Cancellation: until the body runs as for `async_acquire`; then any type is passed on to the body, and the permits
    /// are released in the background.
    /// Executor: the handler's associated one, by default the client's. Never inline.
    /// Token: by default `use_awaitable`; see `mutex::async_with_lock`.
    template <class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_with_permits(std::int64_t count, F&& body,
                            CompletionToken&& token = CompletionToken())
    {
        return detail::with_lock(bodies<false>{behind(), count}, std::forward<F>(body),
                                 detail::never, std::forward<CompletionToken>(token));
    }

    /// As `async_with_permits`, if there are as many and nobody waits before. Else the body does not run.
    ///
    /// Completion signature: `void(std::exception_ptr, std::optional<T>)`, or `void(std::exception_ptr, bool)` when the
    /// body gives nothing: what the body gave, or `true`; an empty optional, or `false`, when the permits were
    /// not acquired, which is no error. T need not be default-constructible.
    /// Errors, as `system_error`: `errc::disconnected` there is no connection, or it broke meanwhile; those of
    /// `async_with_permits`. Cancellation, executor and token: as for `async_with_permits`.
    template <class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_try_with_permits(std::int64_t count, F&& body,
                                CompletionToken&& token = CompletionToken())
    {
        return detail::with_lock(bodies<true>{behind(), count}, std::forward<F>(body),
                                 detail::at_once, std::forward<CompletionToken>(token));
    }

    /// The same, for so long at most: one limit for the whole wait, from the initiation on. The body may go on for
    /// longer. Zero and negative durations wait for nothing; what is too long for the clock has no end.
    template <class Rep, class Period, class F,
              class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_try_with_permits_for(std::int64_t count, std::chrono::duration<Rep, Period> limit,
                                    F&& body, CompletionToken&& token = CompletionToken())
    {
        return detail::with_lock(bodies<true>{behind(), count}, std::forward<F>(body), limit,
                                 std::forward<CompletionToken>(token));
    }

    /// The same until a point in time.
    template <class Duration, class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_try_with_permits_until(
        std::int64_t count, std::chrono::time_point<std::chrono::steady_clock, Duration> deadline,
        F&& body, CompletionToken&& token = CompletionToken())
    {
        return detail::with_lock(bodies<true>{behind(), count}, std::forward<F>(body),
                                 detail::at(deadline), std::forward<CompletionToken>(token));
    }

private:
    // From the initiation on.
    struct starter {
        void operator()(const std::shared_ptr<detail::client_core>& core,
                        detail::operation_ptr<error_code, permit> op,
                        std::shared_ptr<const detail::semaphore_path> path, std::int64_t count,
                        detail::deadline until) const
        {
            start_acquire(core, std::move(op), std::move(path), count, until);
        }
        template <class Rep, class Period>
        void operator()(const std::shared_ptr<detail::client_core>& core,
                        detail::operation_ptr<error_code, permit> op,
                        std::shared_ptr<const detail::semaphore_path> path, std::int64_t count,
                        std::chrono::duration<Rep, Period> limit) const
        {
            start_acquire(core, std::move(op), std::move(path), count, detail::after(limit));
        }
    };

    // See with_lock.hpp.
    template <bool tries_only>
    class bodies {
    public:
        using guard_type = permit;
        static constexpr bool tries = tries_only;

        bodies(std::shared_ptr<const detail::semaphore_path> of, std::int64_t count) noexcept
            : of_{std::move(of)}, count_{count}
        {
        }

        [[nodiscard]] executor_type get_executor() const noexcept
        {
            return semaphore{of_}.get_executor();
        }
        [[nodiscard]] std::chrono::milliseconds body_grace() const noexcept
        {
            return semaphore{of_}.body_grace();
        }
        template <class Visit>
        void each_revocable(const permit&, Visit) const noexcept
        {
        }
        template <class CompletionToken>
        auto async_lock(detail::deadline until, CompletionToken&& token) const
        {
            return semaphore{of_}.start(count_, std::forward<CompletionToken>(token), until);
        }

    private:
        std::shared_ptr<const detail::semaphore_path> of_;
        std::int64_t count_;
    };

    explicit semaphore(std::shared_ptr<const detail::semaphore_path> of) noexcept
        : face_of{std::move(of)}
    {
    }
    [[nodiscard]] std::chrono::milliseconds body_grace() const noexcept;

    template <class CompletionToken, class Limit>
    auto start(std::int64_t count, CompletionToken&& token, Limit limit)
    {
        return boost::asio::async_initiate<CompletionToken, void(error_code, permit)>(
            detail::initiate<error_code, permit>{core()}, token, starter{}, behind(), count, limit);
    }
    [[nodiscard]] const std::shared_ptr<detail::client_core>& core() const noexcept;
    static void start_acquire(const std::shared_ptr<detail::client_core>& core,
                              detail::operation_ptr<error_code, permit> op,
                              std::shared_ptr<const detail::semaphore_path> path,
                              std::int64_t count, detail::deadline until);
};

} // namespace colock

#endif
