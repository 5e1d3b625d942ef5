// A contender learns from the answers to its create, look and remove whether the node is its own.
#include "names/node_owner.hpp"
#include "queue/single_node.hpp"

namespace colock::protocol {

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
    } else if (ec == zookeeper_errc::no_node) {
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
    if (ec && ec != zookeeper_errc::no_node) {
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

// The answer to the create was lost: is the node there?
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

// Somebody else has the node.
void single_node::met(node_identity other, commands& out)
{
    if (!detail::is_of_session(other.owner)) {
        fail(other.has_children ? errc::conflicting_kind : errc::not_ephemeral, out);
    } else if (try_only_) {
        report_busy(out);
    } else if (watch_ == watch_state::none) {
        state_ = state::waiting;
        arm(out);
    }
}

void single_node::own(node_identity identity, commands& out)
{
    identity_ = identity;
    state_ = state::owning;
    grant(out);
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
    if (ec == zookeeper_errc::no_node && held_ && !remove_lost_) {
        // Somebody else deleted it, while the lock was held and its node not watched yet.
        out.push_back({command::kind::lost, {}, errc::node_deleted});
    }
    if (!ec || ec == zookeeper_errc::no_node) {
        finish({}, out);
    } else if (is_retryable(ec)) {
        out.push_back({command::kind::remove});
    } else {
        finish(ec, out);
    }
}

} // namespace colock::protocol
