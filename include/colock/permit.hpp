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

/// So many permits of a semaphore, as `semaphore::async_acquire` grants them.
///
/// Movable. Destroying it releases them in the background; it neither blocks nor keeps `run()` from returning. It
/// may outlive the semaphore object and the client. Permits can be lost like a lock, see `held_lock`; those of one
/// object are lost together. There is no fencing token: several hold permits at the same time.
///
/// **Thread safety**: distinct objects may be used from several threads. Of one object, the const members may
/// be called from several threads at once.
class [[nodiscard]] COLOCK_DECL permit {
public:
    using executor_type = boost::asio::any_io_executor;

    /// Holds none.
    permit() noexcept = default;
    permit(permit&& other) noexcept = default;
    permit& operator=(permit&& other) noexcept;
    /// Releases what is held in the background, as `held_lock` does.
    ~permit();

    /// True when permits are held, and not known to be lost.
    [[nodiscard]] explicit operator bool() const noexcept;

    /// How many are held; those that are lost count until they are released.
    [[nodiscard]] std::size_t count() const noexcept { return nodes_.size(); }

    /// Where they are on their way, as `held_lock::state`.
    [[nodiscard]] lock_state state() const noexcept;

    /// Why they were lost, as `held_lock::loss_reason`.
    [[nodiscard]] error_code loss_reason() const noexcept;

    /// As those of `held_lock`.
    [[nodiscard]] std::chrono::steady_clock::time_point safe_until() const noexcept;
    [[nodiscard]] std::chrono::steady_clock::duration remaining() const noexcept;

    /// The path of the semaphore; empty when none are held.
    [[nodiscard]] std::string path() const;
    /// The paths of their nodes.
    [[nodiscard]] const std::vector<std::string>& nodes() const noexcept { return nodes_; }

    /// As `held_lock::guarded`: with a condition for each permit.
    [[nodiscard]] std::vector<transaction_op> guarded(std::vector<transaction_op> ops) const;
    template <std::same_as<transaction_op> Op, std::same_as<transaction_op>... More>
    [[nodiscard]] std::vector<transaction_op> guarded(Op first, More... more) const
    {
        return guarded(detail::steps(std::move(first), std::move(more)...));
    }

    /// Splits off so many, which can be lost with the others, and released apart from them. Precondition: there are
    /// as many.
    [[nodiscard]] permit split(std::size_t count);

    /// Waits until they are lost. As `held_lock::async_wait_lost`. What was split off before has a wait of its own;
    /// what is split off meanwhile has no part in this one.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_wait_lost(CompletionToken&& token = CompletionToken()) const
    {
        return boost::asio::async_initiate<CompletionToken, void(error_code, error_code)>(
            detail::initiate<error_code, error_code>{core_}, token, &start_wait_lost, held_,
            nodes_.empty() ? std::string{} : nodes_.front());
    }

    /// Releases them; completes when the server has confirmed that their nodes are gone. As
    /// `held_lock::async_unlock`: this object is empty from the initiation on, and the operation ends at
    /// `safe_until()` at the latest.
    ///
    /// Completion signature: `void(error_code)`.
    /// Errors: `errc::not_held` none were held; the reason of a loss before or during the release, which then goes
    /// on in the background; an error of the server for which a node remains until the session ends;
    /// `errc::client_closed`; `operation_aborted` cancelled.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_release(CompletionToken&& token = CompletionToken())
    {
        return boost::asio::async_initiate<CompletionToken, void(error_code)>(
            detail::initiate<error_code>{core_}, token, &start_release,
            permit{core_, std::move(held_), std::exchange(nodes_, {})});
    }

    /// The client's executor, also when the permits were released; that of the system, which has threads of its
    /// own, when this object never held anything or was moved from.
    [[nodiscard]] executor_type get_executor() const noexcept;

    void swap(permit& other) noexcept;

private:
    friend struct detail::access;

    explicit permit(std::shared_ptr<detail::client_core> core,
                    std::shared_ptr<detail::held_nodes> held = nullptr,
                    std::vector<std::string> nodes = {}) noexcept;

    static void start_wait_lost(const std::shared_ptr<detail::client_core>& core,
                                detail::operation_ptr<error_code, error_code> op,
                                std::shared_ptr<detail::held_nodes> held, std::string node);
    static void start_release(const std::shared_ptr<detail::client_core>& core,
                              detail::operation_ptr<error_code> op, permit held);

    std::shared_ptr<detail::client_core> core_;
    std::shared_ptr<detail::held_nodes> held_;
    std::vector<std::string> nodes_;
};

inline void swap(permit& a, permit& b) noexcept
{
    a.swap(b);
}

} // namespace colock

#endif
