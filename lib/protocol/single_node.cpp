#include "single_node.hpp"

#include <limits>
#include <utility>

namespace colock::protocol {

namespace {

bool no_node(const error_code& ec) noexcept
{
    return ec == zookeeper_errc::no_node;
}

// Of a container servers say that nobody owns it; older ones, that the smallest number does.
bool is_ephemeral(const node_identity& node) noexcept
{
    return node.owner != 0 && node.owner != std::numeric_limits<std::int64_t>::min();
}

} // namespace

// ---- intentions

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

void single_node::watch_own_node(commands& out)
{
    if (state_ == state::granted && connected_ && watch_ == watch_state::none) {
        arm(out);
    }
}

void single_node::proved(commands& out)
{
    if (!std::exchange(proving_, false)) {
        return;
    }
    // The own node may have been deleted meanwhile, unless its watch is set and silent.
    if (watch_ == watch_state::armed) {
        grant(out);
    } else if (watch_ == watch_state::none) {
        arm(out); // watched() goes on
    }
}

// ---- the connection

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

void single_node::suspended()
{
    forget_connection();
}

void single_node::expired(commands& out)
{
    forget_connection();
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
        if (!settings_.rejoin_on_expiry) {
            fail(errc::session_expired, out);
        }
        break;
    case state::idle:
    case state::probing:
    case state::making: break;
    }
}

// The watch does not outlive a connection.
void single_node::forget_connection() noexcept
{
    connected_ = false;
    proving_ = false;
    watch_ = watch_state::none;
}

// ---- answers

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

void single_node::created(const error_code& ec, std::string_view, node_identity identity,
                          commands& out)
{
    const bool leaving = state_ == state::leaving;
    if (outcome_unknown(ec)) {
        state_ = leaving ? state::leaving : state::lost_track;
    } else if (leaving) {
        identity_ = identity;
        ec ? finish({}, out) : start_leaving(out);
    } else if (!ec) {
        own(identity, out);
    } else if (ec == zookeeper_errc::node_exists) {
        if (try_only_) {
            report_busy(out);
        } else {
            state_ = state::waiting;
            arm(out);
        }
    } else if (no_node(ec)) {
        state_ = state::making;
        out.push_back({command::kind::make_directory});
    } else if (is_retryable(ec)) {
        create(out);
    } else {
        state_ = state::idle; // no node was made
        fail(ec, out);
    }
}

void single_node::looked(const error_code& ec, node_identity identity, bool spoken_for,
                         commands& out)
{
    const bool asked =
        state_ == state::probing || state_ == state::lost_track || state_ == state::leaving;
    if (!asked) {
        return;
    }
    if (outcome_unknown(ec)) {
        if (state_ == state::probing) {
            state_ = state::idle;
        }
        return; // looks again after the reconnection
    }
    if (ec && !no_node(ec)) {
        if (is_retryable(ec)) {
            out.push_back({command::kind::look});
        } else if (state_ == state::leaving) {
            finish(ec, out);
        } else {
            fail(ec, out);
        }
        return;
    }
    if (state_ == state::leaving) {
        settle_leaving(!ec, identity, spoken_for, out);
    } else if (state_ == state::lost_track) {
        recover(!ec, identity, spoken_for, out);
    } else if (ec) {
        create(out);
    } else {
        met(identity, out);
    }
}

// What became of a create whose answer was lost.
void single_node::recover(bool exists, node_identity identity, bool spoken_for, commands& out)
{
    if (exists && identity.owner == session_ && !spoken_for) {
        own(identity, out);
    } else if (exists) {
        met(identity, out);
    } else {
        create(out);
    }
}

// The same, or of a remove.
void single_node::settle_leaving(bool exists, node_identity identity, bool spoken_for,
                                 commands& out)
{
    const bool mine =
        exists && (has_node() ? identity == identity_ : identity.owner == session_ && !spoken_for);
    if (mine) {
        identity_ = identity;
        out.push_back({command::kind::remove});
        return;
    }
    if (held_ && !remove_lost_) {
        out.push_back({command::kind::lost, {}, errc::node_deleted});
    }
    finish({}, out);
}

void single_node::watched(std::string_view, const error_code& ec, node_identity identity,
                          commands& out)
{
    if (watch_ != watch_state::arming) {
        return;
    }
    const bool own = state_ == state::owning || state_ == state::granted;
    watch_ = ec ? watch_state::none : watch_state::armed;
    if (outcome_unknown(ec) || state_ == state::leaving) {
        return; // armed again after the reconnection; or removed() tells
    }
    if (own && (no_node(ec) || (!ec && identity != identity_))) {
        own_node_vanished(out); // what is there is somebody else's
    } else if (no_node(ec)) {
        create(out);
    } else if (ec && is_retryable(ec)) {
        arm(out);
    } else if (ec && state_ != state::granted) {
        fail(ec, out);
    } else if (!ec && state_ == state::waiting) {
        met(identity, out);
    } else if (!ec && state_ == state::owning) {
        grant(out);
    }
}

void single_node::fired(std::string_view, bool deleted, commands& out)
{
    if (watch_ != watch_state::armed) {
        return;
    }
    watch_ = watch_state::none;
    if (state_ == state::leaving) {
        return; // removed() tells
    }
    if (!deleted) {
        arm(out);
    } else if (state_ == state::waiting) {
        create(out);
    } else {
        own_node_vanished(out);
    }
}

void single_node::removed(const error_code& ec, commands& out)
{
    if (state_ != state::leaving) {
        return;
    }
    if (outcome_unknown(ec)) {
        remove_lost_ = true;
        return; // looked() goes on, after the reconnection
    }
    if (no_node(ec) && held_ && !remove_lost_) {
        // Somebody else deleted it, while the lock was held and its node not watched yet.
        out.push_back({command::kind::lost, {}, errc::node_deleted});
    }
    if (!ec || no_node(ec)) {
        finish({}, out);
    } else if (is_retryable(ec)) {
        out.push_back({command::kind::remove});
    } else {
        finish(ec, out);
    }
}

// ---- what follows

void single_node::begin(commands& out)
{
    if (try_only_) {
        state_ = state::probing;
        out.push_back({command::kind::look});
    } else if (std::exchange(stands_back_, false)) {
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

// Somebody else has the node.
void single_node::met(node_identity other, commands& out)
{
    if (!is_ephemeral(other)) {
        fail(errc::not_ephemeral, out);
    } else if (try_only_) {
        report_busy(out);
    } else if (watch_ == watch_state::none) {
        state_ = state::waiting;
        arm(out);
    }
}

void single_node::report_busy(commands& out)
{
    reported_ = true;
    out.push_back({command::kind::busy});
    finish({}, out);
}

void single_node::arm(commands& out)
{
    watch_ = watch_state::arming;
    out.push_back({command::kind::watch});
}

void single_node::drop_watch(commands& out)
{
    if (std::exchange(watch_, watch_state::none) != watch_state::none) {
        out.push_back({command::kind::unwatch});
    }
}

void single_node::own(node_identity identity, commands& out)
{
    identity_ = identity;
    state_ = state::owning;
    grant(out);
}

void single_node::own_node_vanished(commands& out)
{
    drop_watch(out); // it may be that of the next one's node
    if (state_ == state::granted) {
        out.push_back({command::kind::lost, {}, errc::node_deleted});
        finish({}, out);
    } else {
        identity_ = {};
        proving_ = false;
        create(out);
    }
}

void single_node::grant(commands& out)
{
    if (!safe_) {
        if (!std::exchange(proving_, true)) {
            out.push_back({command::kind::prove});
        }
        return;
    }
    proving_ = false; // the session may be known to be safe before the proof is reported
    state_ = state::granted;
    reported_ = held_ = true;
    out.push_back({command::kind::granted});
}

void single_node::fail(const error_code& ec, commands& out)
{
    if (!reported_) {
        reported_ = true;
        out.push_back({command::kind::failed, {}, ec});
    }
    if (has_node()) {
        start_leaving(out);
    } else {
        // When a create's outcome cannot be found out, its node may remain until the session ends.
        finish(state_ == state::lost_track && ec != errc::not_ephemeral ? ec : error_code{}, out);
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
