#include "queue/single_node.hpp"

#include "queue/making_directory.hpp"

#include <utility>

namespace colock::protocol {

void single_node::join(bool connected, std::int64_t session, commands& out)
{
    begun_ = true;
    connected_ = connected;
    session_ = session;
    if (connected_) {
        begin(out);
    }
}

void single_node::try_join(bool connected, std::int64_t session, commands& out)
{
    try_only_ = true;
    join(connected, session, out);
}

void single_node::leave(commands& out)
{
    switch (state_) {
    case state::idle:
    case state::probing:
    case state::making:
    case state::waiting: finish({}, out); break;
    case state::creating:   // created() goes on
    case state::lost_track: // looked() does, now or after the reconnection
        state_ = state::leaving;
        break;
    case state::owning:
    case state::granted: start_leaving(out); break;
    case state::leaving:
    case state::gone: break;
    }
}

void single_node::connected(std::int64_t session, commands& out)
{
    connected_ = true;
    session_ = session;
    switch (state_) {
    case state::idle:
        if (begun_) {
            begin(out);
        }
        break;
    case state::waiting:
    case state::owning:
    case state::granted: arm(out); break;
    case state::lost_track:
    case state::leaving: out.push_back({command::kind::look}); break;
    case state::probing:
    case state::making:
    case state::creating:
    case state::gone: break;
    }
}

// The watch does not outlive a connection.
void single_node::suspended()
{
    connected_ = false;
    proving_ = false;
    watch_ = watch_state::none;
}

void single_node::expired(commands& out)
{
    suspended();
    switch (std::exchange(state_, state::idle)) {
    case state::granted:
        out.push_back({command::kind::lost, {}, errc::session_expired});
        finish({}, out);
        break;
    case state::leaving: finish({}, out); break;
    case state::gone: state_ = state::gone; break;
    case state::creating:
    case state::lost_track:
    case state::waiting:
    case state::owning:
        identity_ = {};
        if (!rejoins_) {
            fail(errc::session_expired, out);
        }
        break;
    case state::idle:
    case state::probing:
    case state::making: break;
    }
}

void single_node::directory_made(std::span<const error_code> of_each, commands& out)
{
    if (state_ != state::making) {
        return;
    }
    const auto ec = outcome_of_making(of_each);
    if (!ec) {
        begin(out);
    } else if (outcome_unknown(ec)) {
        state_ = state::idle;
    } else if (is_retryable(ec)) {
        out.push_back({command::kind::make_directory});
    } else {
        fail(ec, out);
    }
}

void single_node::begin(commands& out)
{
    if (try_only_) {
        state_ = state::probing;
        out.push_back({command::kind::look});
    } else if (std::exchange(yields_turn_, false)) {
        state_ = state::waiting;
        arm(out);
    } else {
        create(out);
    }
}

void single_node::create(commands& out)
{
    state_ = state::creating;
    out.push_back({command::kind::create});
}

void single_node::report_busy(commands& out)
{
    out.push_back({command::kind::busy});
    finish({}, out);
}

void single_node::fail(const error_code& ec, commands& out)
{
    out.push_back({command::kind::failed, {}, ec});
    if (has_node()) {
        start_leaving(out);
    } else {
        // When a create's outcome cannot be found out, its node may remain until the session ends.
        const bool not_ours = ec == errc::not_ephemeral || ec == errc::conflicting_kind;
        finish(state_ == state::lost_track && !not_ours ? ec : error_code{}, out);
    }
}

void single_node::start_leaving(commands& out)
{
    state_ = state::leaving;
    proving_ = false;
    // The watch goes with the node, at no cost.
    if (connected_) {
        out.push_back({command::kind::remove});
    }
}

void single_node::finish(const error_code& ec, commands& out)
{
    drop_watch(out);
    identity_ = {};
    state_ = state::gone;
    out.push_back({command::kind::gone, {}, ec});
}

} // namespace colock::protocol
