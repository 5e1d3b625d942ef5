#include "leaving.hpp"

#include "low_water_mark.hpp"
#include "protocol/planted.hpp"
#include "stage.hpp"

namespace colock::protocol::queue {

// The contender does not unwatch its own node: the server drops the watch with the node.
leaving leaving::begin(const context& c, place me, bool held, commands& out)
{
    leaving l{std::move(me)};
    l.held_ = held;
    if (c.connected) {
        l.remove(c, out);
    }
    return l;
}

void leaving::remove(const context& c, commands& out)
{
    if (planted("directory before the node") && me_.newcomers_drain(c)) {
        out.push_back({command::kind::remove_directory});
    }
    marking_ = marks(c);
    if (marking_) {
        out.push_back(
            {.type = command::kind::remove_and_mark, .name = me_.name, .number = me_.number});
    } else {
        out.push_back({command::kind::remove, me_.name});
    }
    if (me_.newcomers_drain(c) && !planted("directory before the node")) {
        out.push_back({command::kind::remove_directory}); // this may be the last contender
    }
}

bool leaving::marks(const context& c) const
{
    return (held_ || planted("mark without a hold")) && !may_not_write_ && may_write_mark(c, me_);
}

transition leaving::connected(context& c, commands& out)
{
    if (!planted("remove not repeated")) {
        remove(c, out);
    }
    return stay();
}

transition leaving::expired(context&, commands& out)
{
    return finish({}, out);
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
        if (!is_retryable(ec) && (!marking_ || planted("node kept with the mark"))) {
            me_.watch.drop(out);
            return finish(ec, out);
        }
        // If the server refused the mark, the node is still there: the contender removes it without one.
        may_not_write_ |= !is_retryable(ec);
        remove(c, out);
        return stay();
    }
    me_.watch.drop(out);
    return finish({}, out);
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
