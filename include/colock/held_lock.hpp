// A held lock, whatever kind of lock it is.
#ifndef COLOCK_HELD_LOCK_HPP
#define COLOCK_HELD_LOCK_HPP

#include <colock/detail/access.hpp>
#include <colock/detail/initiate.hpp>
#include <colock/error.hpp>
#include <colock/fencing_token.hpp>
#include <colock/fwd.hpp>
#include <colock/node.hpp>
#include <colock/transaction.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace colock {

namespace detail {

// Of a recursive_mutex: the guards that share a turn, and which of them one is.
struct recursion_level {
    std::shared_ptr<detail::recursion> recursion;
    std::size_t level = 0;
};

// The turn of one user on the node that a client's users share. Small: a guard is moved a dozen times on its way
// to its user.
struct grant {
    std::shared_ptr<contender_driver> driver;
    std::uint64_t turn = 0; // counts those of the local queue
    std::unique_ptr<recursion_level> level = {};
};

// A likely mistake within a body, in words. The compiler has nothing else to say of the awaitable.
template <class CompletionToken>
[[nodiscard]] boost::asio::awaitable<void> refuse_release()
{
    static_assert(std::is_void_v<CompletionToken>,
                  "The guard that a body gets is const: async_with_lock and its like release it "
                  "when the body ends. To release it earlier, end the body (co_return)");
    return {};
}

} // namespace detail

/// What a guard knows of its lock.
enum class lock_state {
    /// The guard is empty.
    not_held,
    /// It is held, and there is a connection.
    held,
    /// It is held, and there is no connection; it will be lost at `held_lock::safe_until`, unless there
    /// is one again.
    suspended,
    /// It was lost.
    lost,
};

/// The name of the value, such as "lost"; "unknown" of a number that is none of them.
[[nodiscard]] constexpr std::string_view to_string(lock_state value) noexcept
{
    switch (value) {
    case lock_state::not_held: return "not_held";
    case lock_state::held: return "held";
    case lock_state::suspended: return "suspended";
    case lock_state::lost: return "lost";
    }
    return "unknown";
}

/// What `unique_lock` and `shared_lock` have in common: a held lock.
///
/// Movable. Destroying it releases the lock in the background, however long that takes. That neither blocks nor keeps
/// `run()` from returning. So `co_await m.async_lock();` drops the lock at once. Guards are `[[nodiscard]]`, and
/// clang warns of it. GCC 12 does not, because it checks nothing after a `co_await`. A guard may outlive the lock
/// object and the client; when the client is closed or destroyed the lock is lost.
///
/// **A lock can be lost** while it is held:
///
/// | `loss_reason()` | what has happened |
/// |---|---|
/// | `errc::session_expired` | The servers have ended the session. |
/// | `errc::node_deleted` | An operator has deleted the node of the lock, or ended the session. |
/// | `errc::safe_until_passed` | No server had answered by `safe_until()`: the servers may have ended the session. |
/// | `errc::client_closed` | This program has closed or destroyed the client. |
/// | `errc::forked` | This object is the copy of a forked child. The parent has the lock. |
///
/// All but `errc::client_closed` are `condition::lock_lost`: stop, destroy this object, and acquire the lock again.
/// `errc::session_expired` belongs to two conditions: as the error of a write it is `condition::outcome_unknown`, and it
/// compares equal to both.
///
/// `loss_reason()` and `async_wait_lost()` report a loss as soon as this client knows. Under a partition, and if the
/// clocks run at about the same rate, that is before the servers can grant the lock to another client. Lost is final,
/// and the first reason stays. As long as the session and the node live, the lock keeps its place in the queue until
/// this object is destroyed or unlocked. So no other client is granted it while the holder is still stopping. A suspended
/// process learns of the loss when it resumes: what such a late-comer must not damage has to check `token()`, or be
/// written by `guarded()`.
///
/// **Executor**: a handler runs on its associated executor, by default the client's; never within the function that
/// starts the operation.
///
/// **Thread safety**: distinct objects may be used from several threads. Of one object, the const members may be
/// called from several threads at once; they look at the clock themselves.
class [[nodiscard]] COLOCK_DECL held_lock {
public:
    using executor_type = boost::asio::any_io_executor;

    /// Holds nothing.
    held_lock() noexcept = default;

    /// From a guard of either kind, which holds nothing afterwards.
    held_lock(held_lock&& other) noexcept = default;
    /// From a guard of either kind, which holds nothing afterwards. What this object held is released in the
    /// background.
    held_lock& operator=(held_lock&& other) noexcept;

    /// Releases the lock in the background, if it is held: the client asks the servers until one of them confirms
    /// that the node is gone, or the session is over.
    ~held_lock()
    {
        if (held_.driver) { // moved about, most of them are empty
            release_in_background();
        }
    }

    /// True when the lock was granted and is neither released nor known to be lost. An acquisition never delivers a
    /// lock that is known to be lost: it completes with the reason of the loss, and an empty guard.
    ///
    /// Name the guard: `if (auto held = co_await m.async_try_lock())`. Without a name, it releases the lock before the block.
    [[nodiscard]] explicit operator bool() const noexcept;

    /// The state of the lock now. By the clock, also when the connection is silent.
    [[nodiscard]] lock_state state() const noexcept;

    /// Why the lock was lost, see above. No error while it is held; `errc::not_held` when this object holds
    /// nothing.
    [[nodiscard]] error_code loss_reason() const noexcept;

    /// The lock counts as lost from this time on, unless a server answers before: the time moves on by itself
    /// while there is a connection. The servers grant the lock to no other client before this time plus
    /// `lock_options::safety_margin`. That assumes that `client_options::tick` is right, and that the leader of
    /// the servers sends its pings on time. `time_point::min()` when this object holds nothing, or the lock was
    /// lost.
    ///
    /// Ask again instead of keeping it: `steady_clock` stands still while the machine sleeps, and the bound does
    /// not.
    [[nodiscard]] std::chrono::steady_clock::time_point safe_until() const noexcept;

    /// The time until `safe_until()`; zero when it has passed, when the lock was lost, or when this object is
    /// empty.
    [[nodiscard]] std::chrono::steady_clock::duration remaining() const noexcept;

    /// Greater than the token of every earlier grant of this lock that conflicts with this one. The default token
    /// when this object holds nothing.
    [[nodiscard]] fencing_token token() const noexcept;

    /// The path of the lock; empty when this object holds nothing.
    [[nodiscard]] std::string path() const;

    /// The path of the lock's node; empty when this object holds nothing.
    [[nodiscard]] std::string node() const;

    /// Puts a condition before the steps of a transaction: that this lock is still held.
    ///
    /// ```cpp
    /// co_await zk.async_multi(held.guarded(colock::transaction{}.set("/orders/state", text)));
    /// ```
    ///
    /// `client::async_multi` then carries out all steps or none. It completes with `zookeeper_errc::no_node` when
    /// the lock was lost, whether this process knows it already or not; `fence::code_of` tells that from a node
    /// that is missing. The results begin with that of the condition.
    ///
    /// Throws `boost::system::system_error` with `errc::not_held` when this object holds nothing, and with
    /// `errc::cannot_guard` when the lock is a `single_node_mutex`: use `token()` there.
    [[nodiscard]] std::vector<transaction_op> guarded(std::vector<transaction_op> ops) const;
    /// Puts the condition that this lock is still held before these steps, which are given one by one:
    /// `held.guarded(colock::set_op(path, text))`. Throws as with a vector.
    template <std::same_as<transaction_op> Op, std::same_as<transaction_op>... More>
    [[nodiscard]] std::vector<transaction_op> guarded(Op first, More... more) const
    {
        return guarded(detail::steps(std::move(first), std::move(more)...));
    }

    /// Waits until the lock is lost. At completion `why` is the reason, as `loss_reason()` has it; a loss is what the
    /// caller waits for, and no error.
    ///
    /// Work that has to stop when the lock is lost belongs in `async_with_lock`. If you have a guard instead, run
    /// the work and this wait in a parallel group, on one thread or on a strand. The group ends with the first
    /// of the two, whether that succeeds or fails, and cancels the other:
    ///
    /// ```cpp
    /// const auto executor = co_await asio::this_coro::executor;
    /// auto [order, failure, ec, why] =
    ///     co_await asio::experimental::make_parallel_group(
    ///         asio::co_spawn(executor, work(), asio::deferred), held.async_wait_lost(asio::deferred))
    ///         .async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
    /// if (order[0] == 0 && failure) {
    ///     std::rethrow_exception(failure); // what work() has thrown
    /// }
    /// if (order[0] == 1) { // the lock was lost, or `ec` says why nobody can wait for that
    ///     throw boost::system::system_error{ec ? ec : why, "the lock is not held"};
    /// }
    /// ```
    ///
    /// Do not use `work() || held.async_wait_lost(use_awaitable)`, with Asio's awaitable_operators, for this. That
    /// ends with the first of the two that *succeeds*: when work() throws it continues to wait for a loss, and then
    /// drops the exception.
    ///
    /// Several waits may be under way at once, and this object may be moved meanwhile.
    ///
    /// Completion signature: `void(error_code, error_code why)`.
    /// Errors:
    ///  - `errc::not_held`: this object is empty, or the lock was released before it was lost.
    ///  - `operation_aborted`: the wait was cancelled.
    ///
    /// Cancellation: terminal, partial, total: completes at once.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_wait_lost(CompletionToken&& token = CompletionToken()) const
    {
        return detail::start<CompletionToken>(core_, token, &start_wait_lost, held_.driver,
                                              held_.turn);
    }

    /// Waits until a client asks for the lock: by `async_revoke` or `async_revoke_holders`, or by
    /// `Revoker.attemptRevoke` of Apache Curator. `single_node_mutex` says how to ask its holder. The lock itself does
    /// not change; its holder is expected to release it soon. All holders of the node on this client are asked together,
    /// and no other waiter of this client is granted the lock by it.
    ///
    /// Completes at once when a client has asked before, also while the lock was still waited for. Several waits
    /// may be under way at once, and this object may be moved meanwhile.
    ///
    /// Completion signature: `void(error_code)`.
    /// Errors:
    ///  - `errc::not_held`: this object is empty, or the lock was released.
    ///  - that of `loss_reason()`: the lock was lost.
    ///  - `operation_aborted`: the wait was cancelled.
    ///
    /// Cancellation: terminal, partial, total: completes at once.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_wait_revoked(CompletionToken&& token = CompletionToken()) const
    {
        return detail::start<CompletionToken>(core_, token, &start_wait_revoked, held_.driver,
                                              held_.turn);
    }

    /// Releases the lock. At completion without an error a server has confirmed that its node is gone, or the client
    /// keeps the node: for the next waiter (`lock_options::max_local_grants`), for other holders, for the outer guard
    /// of a `recursive_mutex`, or for a while (`lock_options::linger`).
    ///
    /// This object is empty when this function returns. The operation ends at `safe_until()` at the latest. Whatever
    /// the error, the lock is released: in the background, if a server has not confirmed it yet.
    ///
    /// Completion signature: `void(error_code)`.
    /// Errors:
    ///  - `errc::not_held`: this object is empty.
    ///  - `errc::safe_until_passed`: no server had confirmed the release by `safe_until()`.
    ///  - `errc::session_expired`, `errc::node_deleted`: the lock was lost before or during the release, or it
    ///    shows only now that its node was not there any more. Do not rely on what was done under it.
    ///  - `errc::unlock_out_of_order`: an outer guard of a `recursive_mutex` was unlocked before an inner one.
    ///  - `errc::client_closed`: the client was closed meanwhile.
    ///  - `zookeeper_errc::no_auth` or another code of the servers: the node remains until the session ends.
    ///  - `operation_aborted`: cancelled, or the client was destroyed.
    ///
    /// Cancellation: terminal, partial: completes at once. Total is ignored.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_unlock(CompletionToken&& token = CompletionToken())
    {
        return detail::start<CompletionToken>(
            core_, token, &start_release,
            held_lock{nullptr, std::move(held_)}); // which releases it, too, if that never starts
    }
    /// Of the guard that a body gets: does not compile, because the lock is released when the body has ended.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_unlock(CompletionToken&& = CompletionToken()) const
    {
        return detail::refuse_release<CompletionToken>();
    }

    /// The client's executor, also when the lock was released. That of the system, which has threads of its own,
    /// when this object never held anything or was moved from.
    [[nodiscard]] executor_type get_executor() const noexcept;

protected:
    // May hold nothing. Without a client it has no executor, but is released all the same.
    explicit held_lock(std::shared_ptr<detail::client_core> core, detail::grant held = {}) noexcept
        : core_{std::move(core)}, held_{std::move(held)}
    {
    }

    void swap(held_lock& other) noexcept
    {
        core_.swap(other.core_);
        std::swap(held_, other.held_);
    }

    std::shared_ptr<detail::client_core> core_; // stays when the lock goes, for its executor
    detail::grant held_;

private:
    friend struct detail::access;

    void release_in_background() noexcept;
    static void start_wait_lost(const std::shared_ptr<detail::client_core>& core,
                                detail::operation_ptr<error_code, error_code> op,
                                std::shared_ptr<detail::contender_driver> driver,
                                std::uint64_t turn);
    static void start_wait_revoked(const std::shared_ptr<detail::client_core>& core,
                                   detail::operation_ptr<error_code> op,
                                   std::shared_ptr<detail::contender_driver> driver,
                                   std::uint64_t turn);
    static void start_release(const std::shared_ptr<detail::client_core>& core,
                              detail::operation_ptr<error_code> op, held_lock held);
};

} // namespace colock

#endif
