#include "session/session_state.hpp"

#include "zk/secret.hpp"

#include <utility>

namespace colock::detail {

session_state::~session_state()
{
    zk::wipe(identity_);
}

std::string session_state::password() const
{
    const std::lock_guard lock{mutex_};
    return identity_.id != 0 ? std::string(identity_.password.begin(), identity_.password.end())
                             : std::string{};
}

void session_state::assign(const zk::session_identity& identity, std::chrono::milliseconds timeout)
{
    id_ = identity.id;
    timeout_ = timeout.count();
    const std::lock_guard lock{mutex_};
    identity_ = identity;
}

void session_state::set(connection_state state)
{
    if (state_.exchange(state) == state) {
        return;
    }
    for (auto at = waiters_.begin(); at != waiters_.end();) {
        const auto here = at++;
        if (here->seen != state) {
            auto op = std::move(here->op);
            waiters_.erase(here);
            op.complete({}, state);
        }
    }
}

void session_state::wait_change(connection_state seen,
                                operation_ptr<error_code, connection_state> op)
{
    if (state_ != seen) {
        op.complete({}, state_);
        return;
    }
    if (seen == connection_state::closed) {
        op.complete(errc::client_closed, seen); // there is no way out of it
        return;
    }
    const auto at = waiters_.insert(waiters_.end(), {seen, std::move(op)});
    if (const auto& link = at->op.cancellation()) {
        link->bind([this, at](asio::cancellation_type) {
            auto cancelled = std::move(at->op);
            waiters_.erase(at);
            cancelled.complete(asio::error::operation_aborted, state_);
        });
    }
}

void session_state::abort_waits()
{
    for (auto& each : std::exchange(waiters_, {})) {
        each.op.complete(asio::error::operation_aborted, state_);
    }
}

void session_state::discard() noexcept
{
    const auto discarded = std::exchange(waiters_, {});
}

} // namespace colock::detail
