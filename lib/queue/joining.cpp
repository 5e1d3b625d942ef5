#include "queue/joining.hpp"

#include "names/contender_name.hpp"
#include "names/path_text.hpp"
#include "queue/blocking_rule.hpp"
#include "queue/stage.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace colock::protocol::queue {

joining joining::begin(context& c, commands& out)
{
    if (c.try_only) {
        c.list_to_join(out);
        return joining{step::probing};
    }
    out.push_back({command::kind::create, c.name_prefix()});
    c.list_to_join(out);
    return joining{step::creating};
}

joining joining::again(context& c, commands& out)
{
    c.own_guid.next();
    return c.connected ? begin(c, out) : offline();
}

transition joining::in_another_session(context& c, commands& out)
{
    if (!c.options.rejoin_on_expiry) {
        out.push_back({command::kind::failed, {}, errc::session_expired});
        return finish({}, out);
    }
    c.own_guid.next();
    return offline();
}

joining joining::make_directory(commands& out)
{
    out.push_back({command::kind::make_directory});
    return joining{step::making_directory};
}

joining joining::stand_by(context& c, commands& out)
{
    ++c.polls;
    c.listings.send(out, command::kind::list_again);
    return joining{step::standing_by};
}

transition joining::leave(context&, commands& out)
{
    if (at_ == step::creating || at_ == step::lost_track) {
        abandoned_ = true;
        return stay();
    }
    return finish({}, out);
}

transition joining::connected(context& c, commands& out)
{
    if (at_ == step::offline) {
        return begin(c, out);
    }
    if (at_ == step::standing_by) {
        return stand_by(c, out);
    }
    if (at_ == step::lost_track) {
        has_swept_ = false;
        c.list_to_join(out);
    }
    return stay();
}

transition joining::expired(context& c, commands& out)
{
    if (abandoned_) {
        return finish({}, out);
    }
    if (at_ == step::not_begun || at_ == step::standing_by) {
        return stay();
    }
    if (at_ != step::creating && at_ != step::lost_track) {
        return offline();
    }
    return in_another_session(c, out); // the session took the node along
}

transition joining::directory_made(context& c, const error_code& ec, commands& out)
{
    if (at_ != step::making_directory) {
        return stay();
    }
    if (!ec) {
        return again(c, out);
    }
    if (outcome_unknown(ec)) {
        return offline();
    }
    if (is_retryable(ec)) {
        return make_directory(out);
    }
    return fail(ec, out);
}

transition joining::created(context& c, const error_code& ec, std::string_view name,
                            node_identity identity, commands& out)
{
    if (!ec) {
        place me{c, name};
        me.identity = identity;
        if (abandoned_) {
            return leaving::begin(c, std::move(me), false, out);
        }
        return waiting{std::move(me)};
    }
    if (outcome_unknown(ec)) {
        at_ = step::lost_track;
        return stay();
    }
    if (abandoned_) {
        return finish({}, out);
    }
    if (ec == zookeeper_errc::no_node) {
        return make_directory(out);
    }
    if (is_retryable(ec)) {
        return again(c, out);
    }
    // The directory itself is the node of a single_node_mutex, or of another ephemeral one.
    const bool is_a_node = ec == zookeeper_errc::no_children_for_ephemerals;
    return fail(is_a_node ? errc::conflicting_kind : ec, out);
}

transition joining::listed(context& c, const error_code& ec, const listing& l, commands& out)
{
    if (at_ != step::probing && at_ != step::lost_track && at_ != step::standing_by) {
        return stay();
    }
    if (outcome_unknown(ec)) {
        return at_ == step::probing ? transition{offline()} : stay(); // connected() lists again
    }
    if (ec && ec != zookeeper_errc::no_node) {
        if (is_retryable(ec)) {
            if (at_ == step::standing_by) {
                return stand_by(c, out);
            }
            c.list_to_join(out);
            return stay();
        }
        return abandoned_ ? finish(ec, out) : fail(ec, out);
    }
    if (at_ == step::lost_track) {
        return recover(c, l, out);
    }
    if (ec) {
        return make_directory(out);
    }
    return at_ == step::standing_by ? stood_by(c, l, out) : probed(c, l, out);
}

// Whether a try would be granted.
transition joining::probed(context& c, const listing& l, commands& out)
{
    const colock::layout& layout = c.options.layout;
    if (is_of_another_kind(layout, l.children, std::numeric_limits<std::int64_t>::max())) {
        return fail(errc::conflicting_kind, out);
    }
    if (blocks_newcomer(contenders(layout, l.children), c.is_reader, c.options.holders)) {
        out.push_back({command::kind::busy});
        return finish({}, out);
    }
    out.push_back({command::kind::create, c.name_prefix()});
    c.list_to_join(out);
    return joining{step::creating};
}

// Those that keep their places go in their order, and newcomers make way: so the queue empties. Where it does not, because others
// make no way or come too soon, the contender has its turn all the same.
transition joining::stood_by(context& c, const listing& l, commands& out)
{
    constexpr unsigned most_polls = 600; // once a second at the most: ten minutes
    const bool another = l.directory != c.made_way_in;
    if (another || contenders(c.options.layout, l.children).empty() || c.polls >= most_polls) {
        return again(c, out);
    }
    return stand_by(c, out);
}

// Whether a create whose answer was lost has made a node. A directory that does not exist has no children.
transition joining::recover(context& c, const listing& l, commands& out)
{
    const std::string prefix{c.name_prefix()};
    std::vector<std::string> own;
    std::ranges::copy_if(l.children, std::back_inserter(own), [&](std::string_view child) {
        return child.starts_with(prefix) && detail::is_appended_number(child.substr(prefix.size()));
    });
    if (own.empty()) {
        return abandoned_ ? finish({}, out) : again(c, out);
    }
    // Somebody else has used this guid, too, and a list does not tell whose node is whose. None of them may stay. A client that
    // may not delete them lists twice on a connection, and no more.
    if (own.size() > 1 && !std::exchange(has_swept_, true)) {
        for (const auto& each : own) {
            out.push_back({command::kind::remove, each});
        }
        c.listings.send(out, command::kind::list_again);
        return stay();
    }
    place me{c, own.front()};
    if (abandoned_) {
        return leaving::begin(c, std::move(me), false, out);
    }
    waiting present{std::move(me)};
    auto next = present.evaluate(c, l, out);
    return next ? std::move(next) : transition{std::move(present)};
}

transition joining::removed(context&, const error_code& ec, commands&)
{
    // Answered before the listing that follows, which tries again after its pause.
    has_swept_ = has_swept_ && !(is_retryable(ec) && !outcome_unknown(ec));
    return stay();
}

// When a create's outcome cannot be found out, its node may remain until the session ends.
transition joining::fail(const error_code& ec, commands& out) const
{
    out.push_back({command::kind::failed, {}, ec});
    return finish(at_ == step::lost_track ? ec : error_code{}, out);
}

} // namespace colock::protocol::queue
