// A held lock.
#ifndef COLOCK_UNIQUE_LOCK_HPP
#define COLOCK_UNIQUE_LOCK_HPP

#include <colock/detail/initiate.hpp>
#include <colock/error.hpp>
#include <colock/fencing_token.hpp>
#include <colock/fwd.hpp>

#include <memory>
#include <string>
#include <utility>

namespace colock {

/// Exclusive ownership of a lock, as `mutex::async_lock` grants it.
///
/// Movable. Destroying it releases the lock in the background, however long that takes; it neither blocks
/// nor keeps `run()` from returning. It may outlive the lock object and the client; when the client is
/// closed or destroyed the lock is lost.
///
/// **A lock can be lost** while it is held: the session expires, or somebody deletes its node. `lost()`
/// says so as soon as this client knows. A process that was paused does not know yet: what must not be
/// damaged by such a late-comer has to check `token()`.
///
/// **Thread safety**: distinct objects may be used from several threads. Of one object, the const members
/// may be called from several threads at once.
class COLOCK_DECL unique_lock {
public:
    using executor_type = boost::asio::any_io_executor;

    /// Holds nothing.
    unique_lock() noexcept = default;

    unique_lock(unique_lock&& other) noexcept = default;
    unique_lock& operator=(unique_lock&& other) noexcept;

    /// Releases the lock in the background, if it is held.
    ~unique_lock();

    /// True when the lock was granted and is neither released nor known to be lost.
    [[nodiscard]] explicit operator bool() const noexcept;

    /// Why the lock was lost: `errc::session_expired`, `errc::node_deleted`, `errc::client_closed`.
    /// No error while it is held; `errc::not_held` when this object holds nothing. Lost is final.
    [[nodiscard]] error_code lost() const noexcept;

    /// Greater than the token of every earlier grant of this lock. The default token when empty.
    [[nodiscard]] fencing_token token() const noexcept;

    /// The path of the lock; empty when this object holds nothing.
    [[nodiscard]] std::string path() const;

    /// The path of the node in the lock's queue; empty when this object holds nothing.
    [[nodiscard]] std::string node() const;

    /// Releases the lock; completes when the server has confirmed that its node is gone.
    ///
    /// This object is empty as soon as the operation is initiated. While there is no connection it waits
    /// for one, or for the end of the session.
    ///
    /// Completion signature: `void(error_code)`.
    /// Errors: `errc::not_held` this object is empty; why it was lost, when it was lost before, also when
    /// that shows only now (`errc::node_deleted`: the node was not there any more); an error
    /// of the server for which the node remains until the session ends; `errc::client_closed`;
    /// `operation_aborted` cancelled.
    /// Cancellation: terminal and partial complete at once, and the release goes on in the background;
    /// total alone is ignored.
    /// Executor: the handler's associated one, by default the client's. Never inline.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_unlock(CompletionToken&& token = CompletionToken())
    {
        auto executor = get_executor();
        auto core = this->core();
        return boost::asio::async_initiate<CompletionToken, void(error_code)>(
            detail::initiate<error_code>{std::move(executor), std::move(core)}, token,
            &start_unlock, std::move(*this));
    }

    /// The client's executor; that of the system when this object is empty.
    [[nodiscard]] executor_type get_executor() const noexcept;

    void swap(unique_lock& other) noexcept { member_.swap(other.member_); }
    friend void swap(unique_lock& a, unique_lock& b) noexcept { a.swap(b); }

private:
    friend class detail::queue_member;

    explicit unique_lock(std::shared_ptr<detail::queue_member> member) noexcept
        : member_{std::move(member)}
    {
    }

    [[nodiscard]] std::shared_ptr<detail::client_core> core() const noexcept;
    static void start_unlock(const std::shared_ptr<detail::client_core>& core,
                             detail::operation_ptr<error_code> op, unique_lock held);

    std::shared_ptr<detail::queue_member> member_;
};

} // namespace colock

#endif
