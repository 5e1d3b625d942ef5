#include "queue/holding.hpp"

#include "names/contender_name.hpp"
#include "queue/stage.hpp"

#include <algorithm>

namespace colock::protocol::queue {

transition holding::leave(context& c, commands& out)
{
    if (stepping_down_) {
        abandoned_ = true;
        return stay();
    }
    return leaving::begin(c, std::move(me_), true, out);
}

transition holding::step_down(context& c, commands& out)
{
    if (stepping_down_) {
        return stay();
    }
    stepping_down_ = true;
    me_.watch.drop(out);
    if (c.connected) {
        out.push_back({command::kind::step_down, readers_name(c)});
    }
    return stay();
}

transition holding::watch_own_node(context& c, commands& out)
{
    if (!stepping_down_ && c.connected && !me_.watch) {
        me_.watch.arm(me_.name, out);
    }
    return stay();
}

transition holding::connected(context& c, commands& out)
{
    if (stepping_down_) {
        c.listings.send(out);
    } else {
        me_.watch.arm(me_.name, out);
    }
    return stay();
}

transition holding::expired(context&, commands& out)
{
    if (!abandoned_) {
        out.push_back({command::kind::lost, {}, errc::session_expired});
    }
    return finish({}, out);
}

// The answer to the step-down was lost. The listing tells which node is there.
transition holding::listed(context& c, const error_code& ec, const listing& l, commands& out)
{
    if (!stepping_down_ || outcome_unknown(ec)) {
        return stay(); // connected() lists again
    }
    if (ec && ec != zookeeper_errc::no_node) {
        if (is_retryable(ec)) {
            c.listings.send(out);
            return stay();
        }
        // A transaction is refused where an earlier one was carried out, so its answer tells as well.
        unlisted_ = true;
        out.push_back({command::kind::step_down, readers_name(c)});
        return stay();
    }
    unlisted_ = false;
    const auto is_there = [&](std::string_view name) {
        return std::ranges::find(l.children, name) != l.children.end();
    };
    // Both are there when another client has made the reader's: the writer's name tells everybody the guid.
    if (is_there(readers_name(c)) && !is_there(me_.name)) {
        return became_reader(c, out);
    }
    out.push_back({command::kind::step_down, readers_name(c)});
    return stay();
}

transition holding::stepped_down(context& c, const error_code& ec, commands& out)
{
    if (!stepping_down_ || outcome_unknown(ec)) {
        return stay(); // connected() lists, and the listing tells
    }
    // A node that is there is its own only where an earlier transaction may have made it.
    if (!ec || (unlisted_ && ec == zookeeper_errc::node_exists)) {
        return became_reader(c, out);
    }
    if (is_retryable(ec)) {
        out.push_back({command::kind::step_down, readers_name(c)});
        return stay();
    }
    stepping_down_ = false;
    if (unlisted_ && ec != zookeeper_errc::no_node) {
        if (!abandoned_) {
            out.push_back({command::kind::shared, {}, ec});
        }
        return finish(ec, out);
    }
    if (abandoned_) {
        return leave(c, out);
    }
    if (ec == zookeeper_errc::no_node) {
        return own_node_vanished(out);
    }
    out.push_back({command::kind::shared, {}, ec});
    return stay();
}

transition holding::became_reader(context& c, commands& out)
{
    me_.name = readers_name(c);
    c.is_reader = true;
    stepping_down_ = false;
    if (abandoned_) {
        return leave(c, out);
    }
    out.push_back({command::kind::shared});
    return watch_own_node(c, out);
}

// The reader's node gets the same ten digits.
std::string holding::readers_name(const context& c) const
{
    return name_prefix(c.options.layout, c.own_guid, true) +
           std::string_view{me_.name}.substr(me_.name.size() - number_digits);
}

transition holding::watched(context& c, std::string_view name, const error_code& ec,
                            node_identity identity, commands& out)
{
    if (!me_.watch.is(name)) {
        return stay();
    }
    if (!ec) {
        me_.watch.armed();
        return identity.owner != c.session ? own_node_vanished(out) : stay();
    }
    me_.watch.forget();
    if (ec == zookeeper_errc::no_node) {
        return own_node_vanished(out);
    }
    if (is_retryable(ec) && !outcome_unknown(ec)) {
        me_.watch.arm(me_.name, out); // else the caller would not be told when the node is deleted
    }
    return stay();
}

transition holding::fired(context&, std::string_view name, bool deleted, commands& out)
{
    if (!me_.watch.is(name) || !me_.watch.is_armed()) {
        return stay();
    }
    if (!deleted) {
        me_.watch.arm(me_.name, out);
        return stay();
    }
    me_.watch.forget();
    return own_node_vanished(out);
}

transition holding::own_node_vanished(commands& out)
{
    me_.watch.drop(out);
    out.push_back({command::kind::lost, {}, errc::node_deleted});
    return finish({}, out);
}

} // namespace colock::protocol::queue
