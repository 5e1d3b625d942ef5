// Several locks, all or nothing.
#ifndef COLOCK_MULTI_LOCK_HPP
#define COLOCK_MULTI_LOCK_HPP

#include <colock/detail/access.hpp>
#include <colock/detail/deadline.hpp>
#include <colock/detail/initiate.hpp>
#include <colock/detail/lock_functions.hpp>
#include <colock/detail/start_operation.hpp>
#include <colock/fwd.hpp>
#include <colock/multi_guard.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace colock {

/// Requests a `shared_mutex` for reading: `{prices, for_reading}`.
struct for_reading_t {
    explicit for_reading_t() = default;
};
/// The only value of its type.
inline constexpr for_reading_t for_reading{};

/// One lock that a `multi_lock` names. Refers to none of the objects that it is made from.
class COLOCK_DECL lock_entry : public detail::face_of<const detail::lock_target> {
public:
    /// The exclusive lock of a `mutex`, `shared_mutex` or `single_node_mutex`.
    lock_entry(const detail::exclusive_lock& lock);
    /// The shared lock.
    lock_entry(const shared_mutex& lock, for_reading_t);
    /// This many of its permits, which take one round trip more than a lock.
    lock_entry(const semaphore& of, std::int64_t count = 1);
    /// For this owner: granted at once when it holds the mutex already.
    lock_entry(const recursive_mutex& lock, lock_owner& owner);
};

namespace detail {

// All the locks; see supervised_lock.hpp.
class COLOCK_DECL lockables {
public:
    using guard_type = multi_guard;

    explicit lockables(std::shared_ptr<const lock_list> of) noexcept : of_{std::move(of)} {}

    [[nodiscard]] const asio::any_io_executor& get_executor() const noexcept;
    [[nodiscard]] std::chrono::milliseconds body_grace() const noexcept;
    [[nodiscard]] std::optional<std::chrono::milliseconds> max_hold() const noexcept;
    template <class Visit>
    void each_revocable(const multi_guard& held, Visit visit) const
    {
        for (std::size_t i = 0; i != held.size(); ++i) {
            if (is_cancelled_when_revoked(i)) {
                visit(held[i]);
            }
        }
    }
    template <class Limit, class CompletionToken>
    auto async_lock(Limit limit, CompletionToken&& token) const
    {
        return start_for(limit, false, std::forward<CompletionToken>(token));
    }
    template <class CompletionToken>
    auto async_lock_for_body(deadline until, CompletionToken&& token) const
    {
        return start_for(until, true, std::forward<CompletionToken>(token));
    }

private:
    template <class Limit, class CompletionToken>
    auto start_for(Limit limit, bool for_body, CompletionToken&& token) const
    {
        return start_operation<CompletionToken, void(error_code, multi_guard)>(
            initiate<error_code, multi_guard>{core()}, token,
            [](const auto&, auto op, auto locks, Limit wait, bool runs) {
                start(std::move(op), std::move(locks), after(wait), runs);
            },
            of_, limit, for_body);
    }
    [[nodiscard]] bool is_cancelled_when_revoked(std::size_t i) const noexcept;
    [[nodiscard]] const std::shared_ptr<client_core>& core() const noexcept;
    static void start(operation_ptr<error_code, multi_guard> op,
                      std::shared_ptr<const lock_list> locks, deadline until, bool for_body);

    std::shared_ptr<const lock_list> of_;
};

using joint_lock = lock_functions<face_of<const lock_list>, lockables>;

} // namespace detail

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
/// free are held after one round trip, however many they are. When one of the locks is not held after that, the
/// multi_lock gives up all later locks: those that it holds, and its places in the queues of others. It then takes the
/// locks one after the other, in the order of their absolute paths. So it never waits for one lock while it keeps a
/// place in a later one, for longer than that round trip. A semaphore is never held after one round trip: it takes one
/// more, and so does each lock with a later path.
///
/// It **cannot deadlock** with callers that take several locks by a multi_lock, too, or one by one in the order of
/// their absolute paths. A caller that holds other locks already counts as one that takes them one by one: their
/// paths should come before these.
///
/// A lock that is lost while the others are waited for is acquired again, together with those after it. A try asks for all
/// locks at the same time: when several callers try at once, possibly none of them succeeds, though no lock was busy before.
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
/// | `condition::lock_lost` | It was granted, and lost before its handler ran. Acquire it again. |
/// | `errc::no_answer` | Of tries with a time: no answer had come at its end. Try again later. |
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
/// **Lifetime**: an object is a handle; one that was moved from may only be assigned or destroyed. Making it does no
/// I/O and does not throw for a bad path. It may be destroyed while its operations are under way; they continue. The
/// locks that it was made of need not live on. Copies are cheap.
class COLOCK_DECL multi_lock : public detail::joint_lock {
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
};

} // namespace colock

#endif
