// A distributed semaphore.
#ifndef COLOCK_SEMAPHORE_HPP
#define COLOCK_SEMAPHORE_HPP

#include <colock/client.hpp>
#include <colock/detail/access.hpp>
#include <colock/detail/deadline.hpp>
#include <colock/detail/initiate.hpp>
#include <colock/detail/start_operation.hpp>
#include <colock/detail/with_lock.hpp>
#include <colock/lock_options.hpp>
#include <colock/permit.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace colock {

namespace detail {

// Any thread.
COLOCK_DECL void acquire_permits(std::shared_ptr<const semaphore_path> of,
                                 operation_ptr<error_code, permit> op, std::int64_t count,
                                 deadline until, bool for_body);

} // namespace detail

/// Reads the number of permits of a `semaphore` from a node, like Curator's SharedCount: four bytes, the highest
/// first. The number may change at any time. The servers create a permit only within the number of that moment;
/// when the number falls, permits that are held stay. Write the node's data: do not delete and create it again.
///
/// ```cpp
/// colock::permit one = co_await colock::semaphore{zk, path, colock::counter_node{"/limit"}}.async_acquire();
/// ```
struct counter_node {
    // With a constructor, because GCC 12 would destroy an aggregate twice within a co_await expression.
    /// The node at this path, which has to exist.
    explicit counter_node(std::string node) : path{std::move(node)} {}

    std::string path; ///< The path of the node.
};

/// A number of permits among all processes that use the same path of the same ensemble. Use it by
/// `async_with_permits`, which runs a body under its permits, and cancels the body when they are lost:
///
/// ```cpp
/// co_await pool.async_with_permits(2, [&](const colock::permit&) -> asio::awaitable<void> {
///     co_await work();
/// });
/// ```
///
/// Acquisitions queue (for a `mutex` at `path/locks`). The first one takes its permits (nodes in
/// `path/leases`) when there are enough, all of them at once. The others wait for it until then. So an
/// acquisition of many permits does not starve, and two that want two of two never hold one each. When permits are
/// free, an acquisition takes two round trips.
/// Waiters on one client share a node in the queue.
///
/// Never nest a lock's path below another lock's path, and check names that come from outside; see `mutex`.
///
/// The layout is that of Curator's InterProcessSemaphoreV2, which takes its permits one by one.
///
/// `lock_options::layout`, `linger`, `max_linger` and `cancel_when_revoked` have no meaning here, and are refused
/// with `errc::invalid_option` if they are set.
///
/// **Errors** of every acquisition and body, with what to do. docs/locks.md has the rest of them, which are rare.
///
/// | code | what it means, and what to do |
/// |---|---|
/// | `errc::invalid_path`, `errc::invalid_option` | Correct what the diagnostics name (`bind_diagnostics`). |
/// | `errc::not_connected` | Call `client::async_connect` first. |
/// | `errc::conflicting_use` | Lock objects of one client and path need one kind and equal options. |
/// | `errc::conflicting_kind` | Another client uses the path as another kind of lock. Use another path. |
/// | `errc::too_many_permits` | There are fewer permits, and their number is fixed. Ask for fewer. |
/// | `errc::invalid_option` | `count`, or the number of permits, is not positive; or `count` does not fit into one |
/// | | request (some thousands, fewer with long `lock_options::owner_data`): take portions. |
/// | `errc::conflicting_maximum` | Others have permits, and another number of them. Make the numbers agree. |
/// | `errc::invalid_counter` | The node of the `counter_node` holds no number of four bytes. Write one. |
/// | `zookeeper_errc::no_node` | The node of the `counter_node` does not exist. Create it. |
/// | `errc::session_expired` | `lock_options::rejoin_on_expiry` is false. Acquire again. |
/// | `condition::lock_lost` | It was granted, and lost before its handler ran. Acquire it again. |
/// | `errc::no_answer` | Of tries with a time: no answer had come at its end. Try again later. |
/// | `zookeeper_errc::no_auth` | Add credentials, or change the access control list. |
/// | `errc::client_closed` | The client was closed. |
/// | `operation_aborted` | The operation was cancelled, or the client was destroyed. |
/// | `errc::lock_lost` | Of bodies: the permits were lost before the body ended, or before a server confirmed |
/// | | the release; or the client was closed. Do not rely on what the body did. |
///
/// For all functions of this class; docs/locks.md also says what a body may be, and what it completes with.
///
/// **Count**: a function without a count is the one with a count of one permit.
///
/// **Acquisitions** (`async_acquire`, `async_try_acquire…`): Completion signature: `void(error_code, permit held)`. `held`
/// has all permits, or is empty when a try has not obtained them, which is no error. A try that does not wait completes with
/// `errc::disconnected` where there is no connection, or it breaks meanwhile; one with a time, where there is no connection
/// at its end: try again later. When there are too few permits, a try that does not wait costs one read and no write; with
/// a `counter_node`, one more read.
///
/// **Bodies** (`async_with_permits`, `async_try_with_permits…`): acquire permits, run `body(const permit&)`, release them,
/// and return what the body returned. The body is cancelled as soon as they can no longer be trusted. When a try has not obtained
/// them, the body does not run, which is no error. Completion signature: `void(std::exception_ptr failure, T result)`, and
/// `void(std::exception_ptr failure)` when the body gives nothing; of a try, `void(std::exception_ptr failure,
/// std::optional<T> result)`, empty when the body did not run, and `void(std::exception_ptr failure, bool has_run)` when it
/// gives nothing. Errors come as `system_error`. An exception of the body takes precedence, unless it comes of
/// the cancellation. Token: by default `use_awaitable`. A lambda that is written within a `co_await` expression must
/// capture by reference: GCC 12 destroys twice what it captures by value. A body with a name may capture in any way; it is
/// copied.
///
/// **Times** limit the wait, from the initiation on; a body may take longer. Zero and negative times and a deadline
/// that has passed wait for nothing; a time that is too long for the clock is no limit.
///
/// **Cancellation** of an acquisition: terminal and partial complete it at once, and what has begun is undone in the
/// background. Total completes it when no trace of it is left, which may take until there is a connection. After the
/// grant a cancellation comes too late, and the guard is delivered. While a body runs, any type is passed on to the
/// body, and the operation completes when the body has ended.
/// If the mutex of the queue was held when a total cancellation came, the operation completes at the `safe_until()`
/// of that mutex at the latest.
///
/// **Executor**: a handler runs on its associated executor, by default the client's; never within the function that
/// starts the operation.
///
/// **Thread safety**: all functions of one object may be called from several threads at once, except assigning and
/// destroying it.
///
/// **Lifetime**: an object is a handle; one that was moved from may only be assigned or destroyed. Making it does no
/// I/O and does not throw for a bad path. It may be destroyed while its operations are under way; they continue.
/// Objects of one client and path must have the same number of permits and equal options
/// (`errc::conflicting_use`), see `lock_options`.
class COLOCK_DECL semaphore : public detail::face_of<const detail::semaphore_path> {
public:
    using executor_type = boost::asio::any_io_executor;

    /// The semaphore at `path` with so many permits, at least one. All clients must give the same number for the
    /// path. Operations refuse options that make no sense, and those that this kind cannot honour
    /// (`errc::invalid_option`).
    semaphore(client& zk, std::string path, std::int64_t permits, lock_options options);
    /// The same, with the default options.
    semaphore(client& zk, std::string path, std::int64_t permits)
        : semaphore{zk, std::move(path), permits, lock_options{}}
    {
    }
    /// The semaphore at `path` with as many permits as the node says. Operations refuse options as above.
    semaphore(client& zk, std::string path, counter_node permits, lock_options options);
    /// The same, with the default options.
    semaphore(client& zk, std::string path, counter_node permits)
        : semaphore{zk, std::move(path), std::move(permits), lock_options{}}
    {
    }

    /// The executor of the client.
    [[nodiscard]] executor_type get_executor() const noexcept
    {
        return detail::executor_of(core());
    }
    /// The path of the constructor.
    [[nodiscard]] const std::string& path() const noexcept;

    /// Waits for `count` permits.
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

    /// Takes `count` permits if there are as many and nobody waits before.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_try_acquire(std::int64_t count, CompletionToken&& token = CompletionToken())
    {
        return start(count, std::forward<CompletionToken>(token), detail::at_once);
    }
    /// Takes one permit if there is one and nobody waits before.
    template <class CompletionToken = boost::asio::deferred_t>
        requires(!std::convertible_to<CompletionToken, std::int64_t>)
    auto async_try_acquire(CompletionToken&& token = CompletionToken())
    {
        return start(1, std::forward<CompletionToken>(token), detail::at_once);
    }

    /// Waits for `count` permits for `limit` at most.
    template <class Rep, class Period, class CompletionToken = boost::asio::deferred_t>
    auto async_try_acquire_for(std::int64_t count, std::chrono::duration<Rep, Period> limit,
                               CompletionToken&& token = CompletionToken())
    {
        return start(count, std::forward<CompletionToken>(token), limit);
    }
    /// Waits for one permit for `limit` at most.
    template <class Rep, class Period, class CompletionToken = boost::asio::deferred_t>
    auto async_try_acquire_for(std::chrono::duration<Rep, Period> limit,
                               CompletionToken&& token = CompletionToken())
    {
        return start(1, std::forward<CompletionToken>(token), limit);
    }

    /// Waits for `count` permits until `deadline` at most.
    template <class Duration, class CompletionToken = boost::asio::deferred_t>
    auto
    async_try_acquire_until(std::int64_t count,
                            std::chrono::time_point<std::chrono::steady_clock, Duration> deadline,
                            CompletionToken&& token = CompletionToken())
    {
        return start(count, std::forward<CompletionToken>(token), detail::at(deadline));
    }
    /// Waits for one permit until `deadline` at most.
    template <class Duration, class CompletionToken = boost::asio::deferred_t>
    auto
    async_try_acquire_until(std::chrono::time_point<std::chrono::steady_clock, Duration> deadline,
                            CompletionToken&& token = CompletionToken())
    {
        return start(1, std::forward<CompletionToken>(token), detail::at(deadline));
    }

    /// Acquires `count` permits for a body.
    template <class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_with_permits(std::int64_t count, F&& body,
                            CompletionToken&& token = CompletionToken())
    {
        return detail::with_lock<false>(bodies{behind(), count}, std::forward<F>(body),
                                        detail::never, std::forward<CompletionToken>(token));
    }
    /// Acquires one permit for a body.
    template <class F, class CompletionToken = boost::asio::use_awaitable_t<>>
        requires(!std::convertible_to<F, std::int64_t>)
    auto async_with_permits(F&& body, CompletionToken&& token = CompletionToken())
    {
        return async_with_permits(1, std::forward<F>(body), std::forward<CompletionToken>(token));
    }

    /// Acquires `count` permits for a body if there are as many and nobody waits before.
    template <class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_try_with_permits(std::int64_t count, F&& body,
                                CompletionToken&& token = CompletionToken())
    {
        return detail::with_lock<true>(bodies{behind(), count}, std::forward<F>(body),
                                       detail::at_once, std::forward<CompletionToken>(token));
    }
    /// Acquires one permit for a body if there is one and nobody waits before.
    template <class F, class CompletionToken = boost::asio::use_awaitable_t<>>
        requires(!std::convertible_to<F, std::int64_t>)
    auto async_try_with_permits(F&& body, CompletionToken&& token = CompletionToken())
    {
        return async_try_with_permits(1, std::forward<F>(body),
                                      std::forward<CompletionToken>(token));
    }

    /// Acquires `count` permits for a body within `limit`.
    template <class Rep, class Period, class F,
              class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_try_with_permits_for(std::int64_t count, std::chrono::duration<Rep, Period> limit,
                                    F&& body, CompletionToken&& token = CompletionToken())
    {
        return detail::with_lock<true>(bodies{behind(), count}, std::forward<F>(body), limit,
                                       std::forward<CompletionToken>(token));
    }
    /// Acquires one permit for a body within `limit`.
    template <class Rep, class Period, class F,
              class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_try_with_permits_for(std::chrono::duration<Rep, Period> limit, F&& body,
                                    CompletionToken&& token = CompletionToken())
    {
        return async_try_with_permits_for(1, limit, std::forward<F>(body),
                                          std::forward<CompletionToken>(token));
    }

    /// Acquires `count` permits for a body before `deadline`.
    template <class Duration, class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_try_with_permits_until(
        std::int64_t count, std::chrono::time_point<std::chrono::steady_clock, Duration> deadline,
        F&& body, CompletionToken&& token = CompletionToken())
    {
        return detail::with_lock<true>(bodies{behind(), count}, std::forward<F>(body),
                                       detail::at(deadline), std::forward<CompletionToken>(token));
    }
    /// Acquires one permit for a body before `deadline`.
    template <class Duration, class F, class CompletionToken = boost::asio::use_awaitable_t<>>
    auto async_try_with_permits_until(
        std::chrono::time_point<std::chrono::steady_clock, Duration> deadline, F&& body,
        CompletionToken&& token = CompletionToken())
    {
        return async_try_with_permits_until(1, deadline, std::forward<F>(body),
                                            std::forward<CompletionToken>(token));
    }

private:
    // See supervised_lock.hpp.
    struct bodies {
        using guard_type = permit;

        [[nodiscard]] executor_type get_executor() const noexcept
        {
            return semaphore{of}.get_executor();
        }
        [[nodiscard]] std::chrono::milliseconds body_grace() const noexcept
        {
            return semaphore{of}.options().body_grace;
        }
        [[nodiscard]] std::optional<std::chrono::milliseconds> max_hold() const noexcept
        {
            return semaphore{of}.options().max_hold;
        }
        template <class Visit>
        void each_revocable(const permit&, Visit) const noexcept
        {
        }
        template <class CompletionToken>
        auto async_lock_for_body(detail::deadline until, CompletionToken&& token) const
        {
            return semaphore{of}.start(count, std::forward<CompletionToken>(token), until, true);
        }

        std::shared_ptr<const detail::semaphore_path> of;
        std::int64_t count;
    };

    explicit semaphore(std::shared_ptr<const detail::semaphore_path> of) noexcept
        : face_of{std::move(of)}
    {
    }
    [[nodiscard]] const lock_options& options() const noexcept;

    // `limit`: a deadline, or a time from the initiation on.
    template <class CompletionToken, class Limit>
    auto start(std::int64_t count, CompletionToken&& token, Limit limit, bool for_body = false)
    {
        const auto acquire = [](const auto&, auto op, auto of, auto n, auto until, bool runs) {
            detail::acquire_permits(std::move(of), std::move(op), n, detail::after(until), runs);
        };
        return detail::start_operation<CompletionToken, void(error_code, permit)>(
            detail::initiate<error_code, permit>{core()}, token, acquire, behind(), count, limit,
            for_body);
    }
    [[nodiscard]] const std::shared_ptr<detail::client_core>& core() const noexcept;
};

} // namespace colock

#endif
