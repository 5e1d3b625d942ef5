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

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
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
    std::uint64_t turn = 0; // counts those of the client
    std::unique_ptr<recursion_level> level = {};
};

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

/// What `unique_lock` and `shared_lock` have in common.
///
/// Movable. Destroying it releases the lock in the background, however long that takes; it neither blocks
/// nor keeps `run()` from returning. So `co_await m.async_lock();` drops the lock at once. Guards are `[[nodiscard]]`,
/// and clang warns of it; GCC 12 does not, because it looks at nothing behind a `co_await`. A guard may outlive the lock
/// object and the client; when the client is closed or destroyed the lock is lost.
///
/// **A lock can be lost** while it is held: the session expires, somebody deletes its node, or the servers
/// have not been heard of for so long that they may have ended the session (`safe_until()`). `loss_reason()`
/// and `async_wait_lost()` say so as soon as this client knows, and before the servers can grant the lock to
/// somebody else, as long as the clocks run at about the same rate. Lost is final. As long as the session
/// lives the lock's place in the queue is kept until this object is destroyed or unlocked, so that nobody is
/// let in while its holder is still stopping what he did. A process that is paused knows nothing: what must
/// not be damaged by such a late-comer has to check `token()`, or be written by `guarded()`.
///
/// **Thread safety**: distinct objects may be used from several threads. Of one object, the const members
/// may be called from several threads at once; they look at the clock themselves.
class [[nodiscard]] COLOCK_DECL held_lock {
public:
    using executor_type = boost::asio::any_io_executor;

    /// Holds nothing.
    held_lock() noexcept = default;

    /// From a guard of either kind.
    held_lock(held_lock&& other) noexcept = default;
    held_lock& operator=(held_lock&& other) noexcept;

    /// Releases the lock in the background, if it is held: until the server confirms that the node is
    /// gone, or the session is over. While there is no connection it waits for one.
    ~held_lock()
    {
        if (held_.driver) { // moved about, most of them are empty
            release_in_background();
        }
    }

    /// True when the lock was granted and is neither released nor known to be lost.
    [[nodiscard]] explicit operator bool() const noexcept;

    [[nodiscard]] lock_state state() const noexcept;

    /// Why the lock was lost: `errc::session_expired`, `errc::node_deleted`, `errc::safe_until_passed` (these are
    /// `condition::lock_lost`), or `errc::client_closed`. No error while it is held; `errc::not_held` when this object
    /// holds nothing. Lost is final, and the first reason stays.
    [[nodiscard]] error_code loss_reason() const noexcept;

    /// The lock counts as lost from then on, unless the servers are heard of before. The servers grant it to
    /// no other client before this time plus `lock_options::safety_margin`. That assumes that
    /// `client_options::tick` is right, and that the leader of the servers sends its pings on time. The time
    /// moves on by itself while there is a connection. It is `time_point::min()` when this object holds
    /// nothing, or the lock was lost.
    [[nodiscard]] std::chrono::steady_clock::time_point safe_until() const noexcept;

    /// The time until then; zero when it has passed, when the lock was lost, or when this object is empty.
    [[nodiscard]] std::chrono::steady_clock::duration remaining() const noexcept;

    /// Greater than the token of every earlier grant of this lock that conflicts with this one. The default
    /// token when empty.
    [[nodiscard]] fencing_token token() const noexcept;

    /// The path of the lock; empty when this object holds nothing.
    [[nodiscard]] std::string path() const;

    /// The path of the node in the lock's queue; empty when this object holds nothing.
    [[nodiscard]] std::string node() const;

    /// Puts a condition before the steps of a transaction: that this lock is still held.
    ///
    /// ```cpp
    /// co_await zk.async_multi(held.guarded(colock::transaction{}.set("/orders/state", text)));
    /// ```
    ///
    /// `client::async_multi` then carries out all steps or none. It completes with `zookeeper_errc::no_node`
    /// when the lock was lost, whether this process knows it already or not.
    /// The results begin with that of the condition. Throws `system_error` with `errc::not_held` when this
    /// object holds nothing, and with `errc::cannot_guard` when the lock is a `single_node_mutex`.
    [[nodiscard]] std::vector<transaction_op> guarded(std::vector<transaction_op> ops) const;
    /// The same with the steps one by one, also within `co_await`: `held.guarded(colock::set_op(path, text))`.
    template <std::same_as<transaction_op> Op, std::same_as<transaction_op>... More>
    [[nodiscard]] std::vector<transaction_op> guarded(Op first, More... more) const
    {
        return guarded(detail::steps(std::move(first), std::move(more)...));
    }

    /// Waits until the lock is lost; completes with the reason, as `loss_reason()` has it.
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
    /// ends with the first of the two that *succeeds*: when work() throws it goes on waiting for a loss, and then
    /// drops the exception.
    ///
    /// Completion signature: `void(error_code, error_code why)`. A loss is what the caller waits for, and no error.
    /// Errors: `errc::not_held` this object is empty, or the lock was released; `operation_aborted`
    /// cancelled.
    /// Cancellation: any type completes at once.
    /// Executor: the handler's associated one, by default the client's. Never inline.
    /// May be called several times; this object may be moved meanwhile.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_wait_lost(CompletionToken&& token = CompletionToken()) const
    {
        return boost::asio::async_initiate<CompletionToken, void(error_code, error_code)>(
            detail::initiate<error_code, error_code>{core_}, token, &start_wait_lost, held_.driver,
            held_.turn);
    }

    /// Waits until somebody asks for the lock: by `async_revoke`, or by `Revoker.attemptRevoke` of Apache Curator.
    /// Nothing happens to the lock; whoever holds it is expected to release it soon. All who share the node
    /// on this client are asked together, and nobody else is let in on it here.
    ///
    /// Completes at once when somebody has asked before, also while the lock was still waited for.
    ///
    /// Completion signature: `void(error_code)`.
    /// Errors: `errc::not_held` this object is empty, or the lock was released; when it was lost, the reason, as
    /// `loss_reason()` has it; `operation_aborted` cancelled.
    /// Cancellation: any type completes at once.
    /// Executor: the handler's associated one, by default the client's. Never inline.
    /// May be called several times; this object may be moved meanwhile.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_wait_revoked(CompletionToken&& token = CompletionToken()) const
    {
        return boost::asio::async_initiate<CompletionToken, void(error_code)>(
            detail::initiate<error_code>{core_}, token, &start_wait_revoked, held_.driver,
            held_.turn);
    }

    /// Releases the lock; completes when the server has confirmed that its node is gone, or at once when the node goes
    /// on to be used on this client: by the next one who waits (`lock_options::max_local_grants`), by others who share
    /// it, by the outer guard of a `recursive_mutex`, or by nobody for a while (`lock_options::linger`).
    ///
    /// This object is empty as soon as the operation is initiated. The operation ends at `safe_until()` at the
    /// latest. If no server has confirmed the release by then, it completes with `errc::safe_until_passed`, and
    /// the release goes on in the background.
    ///
    /// Completion signature: `void(error_code)`.
    /// Errors: `errc::not_held` this object is empty, as it is when it was unlocked before;
    /// `errc::unlock_out_of_order`, see `recursive_mutex`; the reason of a loss before or during the release,
    /// also when the loss shows only now (`errc::node_deleted`: the node was not there any more); an error of
    /// the server for which the node remains until the session ends; `errc::client_closed`;
    /// `operation_aborted` cancelled.
    /// Cancellation: terminal and partial complete at once, and the release goes on in the background;
    /// total alone is ignored.
    /// Executor: the handler's associated one, by default the client's. Never inline.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_unlock(CompletionToken&& token = CompletionToken())
    {
        return boost::asio::async_initiate<CompletionToken, void(error_code)>(
            detail::initiate<error_code>{core_}, token, &start_release,
            held_lock{nullptr, std::move(held_)}); // which releases it, too, if that never starts
    }

    /// The client's executor, also when the lock was unlocked or released. That of the system, which has
    /// threads of its own, when this object never held anything or was moved from.
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
