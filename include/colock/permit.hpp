// Permits of a semaphore that are held.
#ifndef COLOCK_PERMIT_HPP
#define COLOCK_PERMIT_HPP

#include <colock/detail/initiate.hpp>
#include <colock/error.hpp>
#include <colock/fwd.hpp>
#include <colock/held_lock.hpp>
#include <colock/node.hpp>
#include <colock/transaction.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace colock {

/// Permits of a semaphore that are held, as `semaphore::async_acquire` grants them.
///
/// Movable. Destroying it releases them in the background; it neither blocks nor keeps `run()` from returning. It may
/// outlive the semaphore object and the client. Permits can be lost, for the reasons that `held_lock` names. Those of
/// one object are lost together, and lost is final. There is no fencing token: several hold permits at the same time.
///
/// **Executor**: a handler runs on its associated executor, by default the client's; never within the function that
/// starts the operation.
///
/// **Thread safety**: distinct objects may be used from several threads. Of one object, the const members may be
/// called from several threads at once; they look at the clock themselves.
class [[nodiscard]] COLOCK_DECL permit {
public:
    using executor_type = boost::asio::any_io_executor;

    /// Holds none.
    permit() noexcept = default;
    /// `other` holds nothing afterwards.
    permit(permit&& other) noexcept = default;
    /// `other` holds nothing afterwards. What this object held is released in the background.
    permit& operator=(permit&& other) noexcept;
    /// Releases what is held in the background: the client asks the servers until one of them confirms that the
    /// nodes are gone, or the session is over.
    ~permit();

    /// True when permits are held, and not known to be lost.
    [[nodiscard]] explicit operator bool() const noexcept;

    /// How many are held; those that are lost count until they are released.
    [[nodiscard]] std::size_t count() const noexcept { return nodes_.size(); }

    /// The state of the permits; see `held_lock::state`.
    [[nodiscard]] lock_state state() const noexcept;

    /// Why the permits were lost: `errc::session_expired`, `errc::node_deleted`, `errc::safe_until_passed`,
    /// `errc::forked` (these are `condition::lock_lost`), or `errc::client_closed`. No error while they are held; `errc::not_held` when
    /// this object holds none.
    [[nodiscard]] error_code loss_reason() const noexcept;

    /// The permits count as lost from this time on, unless a server answers before: the time moves on by
    /// itself while there is a connection. The servers grant the permits to no other client before this time plus
    /// `lock_options::safety_margin`. That assumes that `client_options::tick` is right, and that the leader of the
    /// servers sends its pings on time. `time_point::min()` when this object holds none, or they were lost.
    ///
    /// Ask again instead of keeping it: `steady_clock` stands still while the machine sleeps, and the bound does
    /// not.
    [[nodiscard]] std::chrono::steady_clock::time_point safe_until() const noexcept;
    /// The time until `safe_until()`; zero when it has passed, when the permits were lost, or when this object
    /// holds none.
    [[nodiscard]] std::chrono::steady_clock::duration remaining() const noexcept;

    /// The path of the semaphore; empty when none are held.
    [[nodiscard]] std::string path() const;
    /// The paths of their nodes, one for each permit.
    [[nodiscard]] const std::vector<std::string>& nodes() const noexcept { return nodes_; }

    /// Puts conditions before the steps of a transaction: that each of these permits is still held.
    /// `client::async_multi` then carries out all steps or none; it completes with `zookeeper_errc::no_node` when
    /// the permits were lost. The results begin with those of the conditions, one for each permit.
    ///
    /// Throws `boost::system::system_error` with `errc::not_held` when this object holds none.
    [[nodiscard]] std::vector<transaction_op> guarded(std::vector<transaction_op> ops) const;
    /// Puts the conditions that these permits are still held before these steps, which are given one by one. Throws
    /// as with a vector.
    template <std::same_as<transaction_op> Op, std::same_as<transaction_op>... More>
    [[nodiscard]] std::vector<transaction_op> guarded(Op first, More... more) const
    {
        return guarded(detail::steps(std::move(first), std::move(more)...));
    }

    /// Splits off `count` permits, which are lost together with the others, but released separately. Splits off all
    /// when `count` is more than this object holds.
    [[nodiscard]] permit split(std::size_t count);

    /// Waits until the permits are lost. At completion `why` is the reason, as `loss_reason()` has it; a loss is
    /// what the caller waits for, and no error. This excludes permits that are split off before or
    /// meanwhile, unless all are. Several waits may be under way at once, and this object may be moved
    /// meanwhile.
    ///
    /// Completion signature: `void(error_code, error_code why)`.
    /// Errors:
    ///  - `errc::not_held`: this object holds none, or they were released before they were lost.
    ///  - `operation_aborted`: the wait was cancelled.
    ///
    /// Cancellation: terminal, partial, total: completes at once.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_wait_lost(CompletionToken&& token = CompletionToken()) const
    {
        return detail::start<CompletionToken>(core_, token, &start_wait_lost, held_,
                                              nodes_.empty() ? std::string{} : nodes_.front());
    }

    /// Releases the permits. At completion without an error a server has confirmed that their nodes are gone.
    ///
    /// This object is empty when this function returns. The operation ends at `safe_until()` at the latest. Whatever
    /// the error, the permits are released: in the background, if a server has not confirmed it yet.
    ///
    /// Completion signature: `void(error_code)`.
    /// Errors:
    ///  - `errc::not_held`: this object holds none.
    ///  - `errc::safe_until_passed`: no server had confirmed the release by `safe_until()`.
    ///  - `errc::session_expired`, `errc::node_deleted`: permits were lost before or during the release.
    ///  - `errc::client_closed`: the client was closed meanwhile.
    ///  - `zookeeper_errc::no_auth` or another code of the servers: a node remains until the session ends.
    ///  - `operation_aborted`: cancelled, or the client was destroyed.
    ///
    /// Cancellation: terminal, partial: completes at once. Total is ignored.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_release(CompletionToken&& token = CompletionToken())
    {
        return detail::start<CompletionToken>(
            core_, token, &start_release,
            permit{core_, std::move(held_), std::exchange(nodes_, {})});
    }
    /// Of the guard that a body gets: does not compile, because the lock is released when the body has ended.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_release(CompletionToken&& = CompletionToken()) const
    {
        return detail::refuse_release<CompletionToken>();
    }

    /// The client's executor, also when the permits were released; that of the system, which has threads of its
    /// own, when this object never held anything or was moved from.
    [[nodiscard]] executor_type get_executor() const noexcept;

    void swap(permit& other) noexcept;

private:
    friend struct detail::access;

    explicit permit(std::shared_ptr<detail::client_core> core,
                    std::shared_ptr<detail::permit_lease> held = nullptr,
                    std::vector<std::string> nodes = {}) noexcept;

    static void start_wait_lost(const std::shared_ptr<detail::client_core>& core,
                                detail::operation_ptr<error_code, error_code> op,
                                std::shared_ptr<detail::permit_lease> held, std::string node);
    static void start_release(const std::shared_ptr<detail::client_core>& core,
                              detail::operation_ptr<error_code> op, permit held);

    std::shared_ptr<detail::client_core> core_;
    std::shared_ptr<detail::permit_lease> held_;
    std::vector<std::string> nodes_;
};

inline void swap(permit& a, permit& b) noexcept
{
    a.swap(b);
}

} // namespace colock

#endif
