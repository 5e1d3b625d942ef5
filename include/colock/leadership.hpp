// A term of office of an elected leader.
#ifndef COLOCK_LEADERSHIP_HPP
#define COLOCK_LEADERSHIP_HPP

#include <colock/detail/initiate.hpp>
#include <colock/unique_lock.hpp>

#include <memory>
#include <string>
#include <utility>

namespace colock {

/// A term of office, as `election::async_campaign` grants it and as a body of `election::async_lead` is given it: a
/// `unique_lock` on the election. Destroying it resigns in the background.
class [[nodiscard]] COLOCK_DECL leadership : public unique_lock {
public:
    /// Replaces the identity by which the others know this leader, until the end of the term: what
    /// `election::async_leader` returns, and what `election::async_wait_change` waits for. At completion without an
    /// error the servers have the new identity. Two round trips.
    ///
    /// While there is no connection it waits for one, and is sent again when the connection breaks, which
    /// is harmless. Several may be under way at once, and this object may be moved meanwhile.
    ///
    /// Completion signature: `void(error_code)`.
    /// Errors:
    ///  - `errc::not_held`: this object is empty.
    ///  - that of `loss_reason()`: the leadership was lost, also when that shows only now (`errc::node_deleted`).
    ///  - `errc::revoked`: a client has asked for the leadership, and the identity stays as it is. Resign.
    ///  - `errc::invalid_option`: `identity` is `revocation_request`, or its last line is, which asks the leader to resign.
    ///  - `errc::request_too_large`: `identity` does not fit into a request.
    ///  - `zookeeper_errc::no_auth`: an access control list does not allow to write the node.
    ///  - `errc::client_closed`, or `operation_aborted`: the client was closed; cancelled, or the client was
    ///    destroyed.
    ///
    /// Cancellation: terminal, partial, total: completes at once; a request that was sent may be carried out.
    /// Executor: the handler's associated one, by default the client's; never within this function.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_proclaim(std::string identity, CompletionToken&& token = CompletionToken()) const
    {
        return detail::start<CompletionToken>(core_, token, &start_proclaim, held_.driver,
                                              std::move(identity));
    }

    /// Steps down: releases the leadership, so that the next candidate leads. At completion without an error a server
    /// has confirmed that the candidate's node is gone. Another name of `held_lock::async_unlock`.
    ///
    /// This object is empty when this function returns. The operation ends at `safe_until()` at the latest. Whatever
    /// the error, this candidate steps down: in the background, if a server has not confirmed it yet.
    ///
    /// Completion signature: `void(error_code)`.
    /// Errors:
    ///  - `errc::not_held`: this object is empty.
    ///  - `errc::safe_until_passed`: no server had confirmed it by `safe_until()`.
    ///  - `errc::session_expired`, `errc::node_deleted`: the leadership was lost before or meanwhile. Do not rely on
    ///    what was done under it.
    ///  - `errc::client_closed`: the client was closed meanwhile.
    ///  - `zookeeper_errc::no_auth` or another code of the servers: the node remains until the session ends.
    ///  - `operation_aborted`: cancelled, or the client was destroyed.
    ///
    /// Cancellation: terminal, partial: completes at once. Total is ignored.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_resign(CompletionToken&& token = CompletionToken())
    {
        return async_unlock(std::forward<CompletionToken>(token));
    }
    /// Of the guard that a body gets: does not compile, because the lock is released when the body has ended.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_resign(CompletionToken&& = CompletionToken()) const
    {
        return detail::refuse_release<CompletionToken>();
    }

    void swap(leadership& other) noexcept { held_lock::swap(other); }

private:
    using unique_lock::unique_lock;

    static void start_proclaim(const std::shared_ptr<detail::client_core>& core,
                               detail::operation_ptr<error_code> op,
                               std::shared_ptr<detail::contender_driver> driver,
                               std::string identity);
};

inline void swap(leadership& a, leadership& b) noexcept
{
    a.swap(b);
}

} // namespace colock

#endif
