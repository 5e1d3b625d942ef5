// Several locks, all or nothing.
#ifndef COLOCK_MULTI_LOCK_HPP
#define COLOCK_MULTI_LOCK_HPP

#include <colock/detail/access.hpp>
#include <colock/detail/deadline.hpp>
#include <colock/detail/initiate.hpp>
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

/// That a `shared_mutex` is wanted together with others: `{prices, share_lock}`.
struct share_lock_t {
    explicit share_lock_t() = default;
};
inline constexpr share_lock_t share_lock{};

/// One lock that a `multi_lock` names. Refers to none of the objects that it is made from.
class COLOCK_DECL lock_entry : public detail::face_of<const detail::lock_target> {
public:
    lock_entry(const mutex& m);
    /// The exclusive lock.
    lock_entry(const shared_mutex& m);
    /// The lock that is shared.
    lock_entry(const shared_mutex& m, share_lock_t);
    /// So many of its permits, which take one round trip more than a lock.
    lock_entry(const semaphore& s, std::int64_t count = 1);
    /// For this owner: granted at once when he has it.
    lock_entry(const recursive_mutex& m, lock_owner& owner);
    lock_entry(const single_node_mutex& m);
};

/// Several locks of one client, of any kinds, that are taken together: all or nothing.
///
/// ```cpp
/// colock::multi_lock both{orders, {prices, colock::share_lock}};
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
    // unlike a parameter pack, take entries in braces: `{prices, share_lock}`.
    multi_lock(lock_entry first, lock_entry second)
        : multi_lock{std::vector{std::move(first), std::move(second)}}
    {
    }
    multi_lock(lock_entry first, lock_entry second, lock_entry third)
        : multi_lock{std::vector{std::move(first), std::move(second), std::move(third)}}
    {
    }
    /// Any number of locks. From the fifth on, an entry in braces needs its type: `lock_entry{prices, share_lock}`.
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

    [[nodiscard]] const std::shared_ptr<detail::client_core>& core() const noexcept;
    static void start_lock(op o, list l, detail::deadline until);

    list locks_;
};

} // namespace colock

#endif
