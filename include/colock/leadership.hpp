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
    /// Holds nothing.
    leadership() noexcept = default;

    leadership(leadership&& other) noexcept = default;
    leadership& operator=(leadership&& other) noexcept = default;
    ~leadership() = default;

    /// Replaces the identity by which the others know this leader, until the end of the term: what
    /// `election::async_leader` gives, and what `election::async_wait_change` waits for. Two round trips.
    ///
    /// When it completes, the servers have the new identity. While there is no connection it waits for one, and is sent
    /// again when the connection breaks, which makes no difference.
    ///
    /// Completion signature: `void(error_code)`.
    /// Errors: `errc::not_held` this object is empty; why the leadership was lost, as `loss_reason()` has it, also when
    /// that shows only now (`errc::node_deleted`); `errc::revoked` somebody has asked for the leadership, and the
    /// identity stays as it is: resign; `errc::invalid_option` for `revocation_request`, which asks the leader to resign; `errc::request_too_large`; `zookeeper_errc::no_auth` the node may not be written;
    /// `errc::client_closed`; `operation_aborted` cancelled.
    /// Cancellation: any type completes at once; a request that was sent may be carried out.
    /// Executor: the handler's associated one, by default the client's. Never inline.
    /// May be called several times; this object may be moved meanwhile.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_proclaim(std::string identity, CompletionToken&& token = CompletionToken()) const
    {
        return boost::asio::async_initiate<CompletionToken, void(error_code)>(
            detail::initiate<error_code>{core_}, token, &start_proclaim, held_.driver,
            std::move(identity));
    }

    /// Steps down: makes way for the next candidate; completes when the server has confirmed that the node is gone.
    /// The same as `async_unlock`, with its errors and cancellation; this object is empty from the initiation on.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_resign(CompletionToken&& token = CompletionToken())
    {
        return async_unlock(std::forward<CompletionToken>(token));
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
