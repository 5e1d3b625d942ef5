// Notification of a change of a node.
#ifndef COLOCK_WATCH_HPP
#define COLOCK_WATCH_HPP

#include <colock/detail/initiate.hpp>
#include <colock/error.hpp>
#include <colock/fwd.hpp>
#include <colock/node.hpp>

#include <memory>

namespace colock {

/// A one-shot watch on a node, which `client::async_watch`, `async_watch_exists` or `async_watch_children` has set.
///
/// **Thread safety**: distinct objects may be used from several threads at once, one object may not.
///
/// **Lifetime**: destroying the object removes the watch from the servers, and completes a wait with
/// `operation_aborted`. The object may outlive its client.
class [[nodiscard]] COLOCK_DECL watch {
public:
    using executor_type = boost::asio::any_io_executor;

    /// An empty object, which watches nothing.
    watch() noexcept = default;

    /// Waits for the event of the watch: at completion the node has changed since it was read. The event may have come
    /// before the wait began. A watch has one event.
    ///
    /// A disconnection is no event: the client sets the watch again when it is connected again, and reports a change in
    /// between. A watch for a node's existence misses a node that is created and deleted while the connection is down.
    ///
    /// Completion signature: `void(error_code, watch_event event)`.
    /// Errors:
    ///  - `errc::not_held`: the object is empty, its event was taken already (read and watch the node again), or
    ///    another wait on this object is under way.
    ///  - `errc::client_closed`: the client was closed.
    ///  - `zookeeper_errc::no_auth` or another code of the servers: the watch could not be set again after a
    ///    disconnection. There is no watch any more.
    ///  - `operation_aborted`: the wait was cancelled, or the object or the client was destroyed.
    ///
    /// Cancellation: terminal, partial, total: completes at once. The watch stays, and may be waited for again.
    /// Executor: the handler's associated one, by default the client's; never within this function.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_wait(CompletionToken&& token = CompletionToken())
    {
        return detail::start<CompletionToken>(core(), token, &start_wait, state_);
    }

    /// The client's executor; that of the system, which has threads of its own, of an empty object.
    [[nodiscard]] executor_type get_executor() const noexcept;

private:
    friend struct detail::access;

    // Set once the read has succeeded; its last copy removes the watch.
    explicit watch(std::shared_ptr<void> handle,
                   std::shared_ptr<detail::watch_state> state) noexcept;

    [[nodiscard]] std::shared_ptr<detail::client_core> core() const noexcept;
    static void start_wait(const std::shared_ptr<detail::client_core>& core,
                           detail::operation_ptr<error_code, watch_event> op,
                           std::shared_ptr<detail::watch_state> state);

    std::shared_ptr<void> handle_;
    std::shared_ptr<detail::watch_state> state_;
};

/// The result of a watched read, and the watch that it set.
template <class Result>
struct [[nodiscard]] watched {
    Result value;  ///< What was read.
    watch changes; ///< Of what was read.
};

} // namespace colock

#endif
