// Several held locks in one.
#ifndef COLOCK_MULTI_GUARD_HPP
#define COLOCK_MULTI_GUARD_HPP

#include <colock/detail/initiate.hpp>
#include <colock/error.hpp>
#include <colock/fencing_token.hpp>
#include <colock/fwd.hpp>
#include <colock/held_lock.hpp>
#include <colock/node.hpp>
#include <colock/permit.hpp>
#include <colock/transaction.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace colock {

namespace detail {

using guard_part = std::variant<held_lock, permit>;

// What a wait for the loss needs of a guard: it must not keep the lock.
struct watched_turn {
    std::shared_ptr<contender_driver> driver;
    std::uint64_t turn;
};
struct watched_leases {
    std::shared_ptr<permit_lease> nodes;
    std::string one_of_them;
};
using watched_part = std::variant<watched_turn, watched_leases>;
struct watched_parts {
    std::vector<watched_part> parts;
    std::shared_ptr<first_loss> loss;
};

} // namespace detail

/// Several locks that are held together, as `multi_lock::async_lock` grants them: all of them, or none.
///
/// Movable. Destroying it releases all locks in the background; it neither blocks nor keeps `run()` from returning.
/// It may outlive the lock objects and the client. The loss of one lock is the loss of all: this object then counts
/// as lost. It keeps the other locks, and their places, until it is destroyed or unlocked. So no other client is
/// granted them while the holder is still stopping. `held_lock` names the reasons of a loss. Lost is final.
///
/// **Executor**: a handler runs on its associated executor, by default the client's; never within the function that
/// starts the operation.
///
/// **Thread safety**: distinct objects may be used from several threads. Of one object, the const members may be
/// called from several threads at once; they look at the clock themselves.
class [[nodiscard]] COLOCK_DECL multi_guard {
public:
    using executor_type = boost::asio::any_io_executor;

    /// Holds nothing.
    multi_guard() noexcept = default;

    /// `other` holds nothing afterwards.
    multi_guard(multi_guard&& other) noexcept = default;
    /// `other` holds nothing afterwards. What this object held is released in the background.
    multi_guard& operator=(multi_guard&& other) noexcept;

    /// Releases all locks in the background.
    ~multi_guard() = default;

    /// True when the locks were granted, and neither were released nor is any of them known to be lost.
    [[nodiscard]] explicit operator bool() const noexcept;

    /// The state of the locks now: `lost` when one of them is.
    [[nodiscard]] lock_state state() const noexcept;

    /// Why the first of them was lost that was known to be: `errc::session_expired`, `errc::node_deleted`,
    /// `errc::safe_until_passed`, `errc::forked` (these are `condition::lock_lost`), or `errc::client_closed`. No
    /// error while all are held; `errc::not_held` when this object holds nothing.
    [[nodiscard]] error_code loss_reason() const noexcept;

    /// The earliest `safe_until()` of all: this object counts as lost from this time on, unless a server answers
    /// before. `held_lock::safe_until` says what that assumes. `time_point::min()` when it holds nothing, or one
    /// was lost.
    ///
    /// Ask again instead of keeping it: `steady_clock` stands still while the machine sleeps, and the bound does
    /// not.
    [[nodiscard]] std::chrono::steady_clock::time_point safe_until() const noexcept;

    /// The time until `safe_until()`; zero when it has passed, when one was lost, or when this object is empty.
    [[nodiscard]] std::chrono::steady_clock::duration remaining() const noexcept;

    /// How many locks it holds: as many as the `multi_lock` names, or 0.
    [[nodiscard]] std::size_t size() const noexcept { return parts_.size(); }

    /// One of them, in the order in which the `multi_lock` names them: for its path, its node, its state. Refers
    /// into this object. An empty guard where the `multi_lock` names a semaphore.
    ///
    /// Preconditions: `i < size()`.
    [[nodiscard]] const held_lock& operator[](std::size_t i) const noexcept;

    /// The permits of a semaphore, in the order in which the `multi_lock` names them. Refers into this object. An
    /// empty permit where the `multi_lock` names a lock.
    ///
    /// Preconditions: `i < size()`.
    [[nodiscard]] const permit& permits(std::size_t i) const noexcept;

    /// The token of one of them; the default token where the `multi_lock` names a semaphore.
    ///
    /// Preconditions: `i < size()`.
    [[nodiscard]] fencing_token token(std::size_t i) const noexcept { return (*this)[i].token(); }

    /// Puts conditions before the steps of a transaction: that every one of these locks is still held.
    /// `client::async_multi` then carries out all steps or none; it completes with `zookeeper_errc::no_node` when
    /// one of them was lost. The results begin with those of the conditions, one for each lock and each permit,
    /// in their order.
    ///
    /// Throws `boost::system::system_error` with `errc::not_held` when this object holds nothing, and with
    /// `errc::cannot_guard` when it holds a `single_node_mutex`.
    [[nodiscard]] std::vector<transaction_op> guarded(std::vector<transaction_op> ops) const;
    /// Puts the conditions that these locks are still held before these steps, which are given one by one. Throws as
    /// with a vector.
    template <std::same_as<transaction_op> Op, std::same_as<transaction_op>... More>
    [[nodiscard]] std::vector<transaction_op> guarded(Op first, More... more) const
    {
        return guarded(detail::steps(std::move(first), std::move(more)...));
    }

    /// Waits until one of the locks is lost. At completion `why` is the reason, as `loss_reason()` has it; a loss
    /// is what the caller waits for, and no error. Several waits may be under way at once, and this object may be
    /// moved meanwhile.
    ///
    /// Completion signature: `void(error_code, error_code why)`.
    /// Errors:
    ///  - `errc::not_held`: this object is empty, or the locks were released before one was lost.
    ///  - `operation_aborted`: the wait was cancelled.
    ///
    /// Cancellation: terminal, partial, total: completes at once.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_wait_lost(CompletionToken&& token = CompletionToken()) const
    {
        return detail::start<CompletionToken>(core_, token, &start_wait_lost, watched());
    }

    /// Releases all locks at the same time. At completion without an error a server has confirmed that their
    /// nodes are gone, or the client keeps a node for what `held_lock::async_unlock` lists.
    ///
    /// This object is empty when this function returns. The release of each lock ends at the `safe_until()` of that
    /// lock at the latest, and the operation with the last one. Whatever the error, all locks are released: in
    /// the background, if a server has not confirmed it yet.
    ///
    /// Completion signature: `void(error_code)`.
    /// Errors: the first that the release of a lock gives.
    ///  - `errc::not_held`: this object is empty.
    ///  - `errc::safe_until_passed`: no server has confirmed a release in time.
    ///  - `errc::session_expired`, `errc::node_deleted`: a lock was lost before or during its release.
    ///  - `errc::client_closed`: the client was closed meanwhile.
    ///  - `zookeeper_errc::no_auth` or another code of the servers: a node remains until the session ends.
    ///  - `operation_aborted`: cancelled, or the client was destroyed.
    ///
    /// Cancellation: terminal, partial: completes at once. Total is ignored.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_unlock(CompletionToken&& token = CompletionToken())
    {
        return detail::start<CompletionToken>(
            core_, token, &start_unlock,
            std::exchange(parts_, {})); // released, too, if that never starts
    }
    /// Of the guard that a body gets: does not compile, because the lock is released when the body has ended.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_unlock(CompletionToken&& = CompletionToken()) const
    {
        return detail::refuse_release<CompletionToken>();
    }

    /// The client's executor, also when the locks were unlocked. That of the system, which has threads of its
    /// own, when this object never held anything or was moved from.
    [[nodiscard]] executor_type get_executor() const noexcept;

    void swap(multi_guard& other) noexcept
    {
        core_.swap(other.core_);
        parts_.swap(other.parts_);
        loss_.swap(other.loss_);
    }

private:
    friend struct detail::access;

    using part = detail::guard_part;

    // May hold nothing.
    explicit multi_guard(std::shared_ptr<detail::client_core> core, std::vector<part> parts = {});

    [[nodiscard]] detail::watched_parts watched() const;
    static void start_wait_lost(const std::shared_ptr<detail::client_core>& core,
                                detail::operation_ptr<error_code, error_code> op,
                                detail::watched_parts watched);
    static void start_unlock(const std::shared_ptr<detail::client_core>& core,
                             detail::operation_ptr<error_code> op, std::vector<part> parts);

    std::shared_ptr<detail::client_core> core_; // stays when the locks go, for its executor
    std::vector<part> parts_;
    std::shared_ptr<detail::first_loss> loss_; // there is one when there are locks
};

inline void swap(multi_guard& a, multi_guard& b) noexcept
{
    a.swap(b);
}

} // namespace colock

#endif
