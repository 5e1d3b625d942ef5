#include "queue/leaving.hpp"

#include "queue/stage.hpp"

namespace colock::protocol::queue {

// The contender does not unwatch its own node: the server drops the watch with the node.
leaving leaving::begin(const context& c, place me, bool held, commands& out)
{
    leaving l{std::move(me)};
    l.held_ = held;
    if (c.connected) {
        l.remove(out);
    }
    return l;
}

leaving leaving::make_way(const context& c, place me, commands& out)
{
    auto l = begin(c, std::move(me), false, out);
    l.makes_way_ = true;
    return l;
}

void leaving::remove(commands& out)
{
    out.push_back({command::kind::remove, me_.name});
    if (me_.directory_replaceable.value_or(false)) {
        out.push_back({command::kind::remove_directory}); // this may be the last contender
    }
}

transition leaving::leave(context&, commands&)
{
    makes_way_ = false;
    return stay();
}

transition leaving::connected(context&, commands& out)
{
    remove(out);
    return stay();
}

transition leaving::expired(context& c, commands& out)
{
    return makes_way_ ? joining::in_another_session(c, out) : finish({}, out);
}

transition leaving::removed(context& c, const error_code& ec, commands& out)
{
    if (outcome_unknown(ec)) {
        remove_lost_ = true; // connected() removes again
        return stay();
    }
    if (ec == zookeeper_errc::no_node && held_ && !remove_lost_) {
        // Another client deleted the node while the lock was held, and before the node was watched.
        out.push_back({command::kind::lost, {}, errc::node_deleted});
    }
    if (ec && ec != zookeeper_errc::no_node) {
        if (is_retryable(ec)) {
            remove(out);
            return stay();
        }
        me_.watch.drop(out);
        if (makes_way_) {
            out.push_back({command::kind::failed, {}, ec});
        }
        return finish(ec, out);
    }
    me_.watch.drop(out);
    return makes_way_ ? transition{joining::stand_by(c, out)} : finish({}, out);
}

transition leaving::watched(context& c, std::string_view name, const error_code& ec,
                            node_identity identity, commands& out)
{
    if (!me_.watch.is(name)) {
        return stay();
    }
    if (ec) {
        me_.watch.forget();
    } else if (identity.owner != c.session) {
        me_.watch.drop(out); // what carries the own name is another client's
    } else {
        me_.watch.armed();
        me_.identity = me_.identity.value_or(identity);
    }
    return stay();
}

transition leaving::fired(context&, std::string_view name, bool, commands&)
{
    if (me_.watch.is(name) && me_.watch.is_armed()) {
        me_.watch.forget();
    }
    return stay();
}

} // namespace colock::protocol::queue
