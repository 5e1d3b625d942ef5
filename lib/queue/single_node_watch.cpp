// How the watch on the node, and the proof that the session is safe, lead to grants and losses.
#include "queue/single_node.hpp"

#include <utility>

namespace colock::protocol {

void single_node::watch_own_node(commands& out)
{
    if (state_ == state::granted && connected_ && watch_ == watch_state::none) {
        arm(out);
    }
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
    if (own && (ec == zookeeper_errc::no_node || (!ec && identity != identity_))) {
        own_node_vanished(out); // what is there is somebody else's
    } else if (ec == zookeeper_errc::no_node) {
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
    held_ = true;
    out.push_back({command::kind::granted});
}

} // namespace colock::protocol
