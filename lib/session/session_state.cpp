#include "session/session_state.hpp"

#include "zk/secret.hpp"

#include <utility>

namespace colock::detail {

session_state::~session_state()
{
    zk::wipe(identity_);
}

void session_state::assign(const zk::session_identity& identity, std::chrono::milliseconds timeout)
{
    id_ = identity.id;
    timeout_ = timeout.count();
    identity_ = identity;
}

void session_state::set(connection_state state)
{
    if (state_.exchange(state) != state) {
        waiters_.complete_all({}, state);
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
    waiters_.add(
        std::move(op), [] {}, seen);
}

} // namespace colock::detail
