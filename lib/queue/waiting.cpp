#include "queue/waiting.hpp"

#include "names/contender_name.hpp"
#include "queue/blocking_rule.hpp"
#include "queue/stage.hpp"

namespace colock::protocol::queue {

// ---- the caller, and the connection

transition waiting::leave(context& c, commands& out)
{
    before_.drop(out);
    return leaving::begin(c, std::move(me_), false, out);
}

transition waiting::proved(context& c, commands& out)
{
    if (!std::exchange(proving_, false)) {
        return stay();
    }
    if (me_.watch.is_armed()) {
        return granted(c, out);
    }
    c.listings.send(out); // the own node may have been deleted meanwhile
    return stay();
}

transition waiting::connected(context& c, commands& out)
{
    c.listings.send(out);
    return stay();
}

// Watches and answers do not outlive a connection.
void waiting::suspended() noexcept
{
    me_.suspended();
    before_ = {};
    proving_ = false;
}

transition waiting::expired(context& c, commands& out)
{
    return joining::in_another_session(c, out);
}

// ---- listings

transition waiting::listed(context& c, const error_code& ec, const listing& l, commands& out)
{
    if (outcome_unknown(ec)) {
        return stay(); // connected() lists again
    }
    if (!ec || ec == zookeeper_errc::no_node) {
        return evaluate(c, l, out);
    }
    if (is_retryable(ec)) {
        c.listings.send(out);
        return stay();
    }
    return failed(c, ec, out);
}

transition waiting::evaluate(context& c, const listing& l, commands& out)
{
    if (me_.is_late() && !me_.directory_replaceable) {
        // Before the grant: a lock that is released at once has to know it, too.
        out.push_back({command::kind::read_directory, me_.name});
        c.listings.send(out);
        return stay();
    }
    const auto queue = contenders(c.options.layout, l.children);
    me_.met_others = queue.size() > 1;
    if (const auto ec = me_.obstacle(c, l, queue)) {
        return failed(c, ec, out);
    }
    const auto own = me_.find_in(queue);
    if (own == queue.end()) {
        return own_node_vanished(c, out);
    }
    const auto index = static_cast<std::size_t>(own - queue.begin());
    const auto b = blockers_of(queue, index, c.options.holders);
    // The numbers are nearly used up: the contender lets the queue become empty, so that the directory, and with it the numbers,
    // can begin anew. A reader makes way for readers, too: otherwise readers that come and go would keep the queue going. In each
    // directory a contender makes way once, and so has its turn.
    const bool makes_way = me_.is_late() && index != 0 && c.made_way_in != l.directory;
    if (c.try_only && (b.count != 0 || makes_way)) {
        out.push_back({command::kind::busy});
        return leave(c, out);
    }
    if (makes_way) {
        c.made_way_in = l.directory;
        c.polls = 0;
        before_.drop(out);
        return leaving::make_way(c, std::move(me_), out);
    }
    if (b.count == 0 && me_.identity) {
        before_.none_left();
        return granted(c, out);
    }
    // Watch the own node first. Then its watch is already set when a predecessor's event comes.
    if (!me_.watch) {
        me_.watch.arm(me_.name, out);
    }
    before_.update(b, out);
    return stay();
}

// ---- the end of waiting

// No predecessor is left, and the own node is there.
transition waiting::granted(context& c, commands& out)
{
    if (!c.safe) {
        if (!std::exchange(proving_, true)) {
            out.push_back({command::kind::prove});
        }
        return stay();
    }
    before_.drop(out);
    out.push_back({command::kind::granted});
    return holding{std::move(me_)};
}

// No predecessor is left. No round trip is needed when the own watch tells that the own node is there.
transition waiting::granted_if_there(context& c, commands& out)
{
    if (me_.watch.is_armed() && me_.identity) {
        return granted(c, out);
    }
    if (!c.listings) {
        c.listings.send(out);
    }
    return stay();
}

transition waiting::own_node_vanished(context& c, commands& out)
{
    me_.watch.drop(out);
    before_.drop(out);
    return joining::again(c, out);
}

transition waiting::failed(context& c, const error_code& ec, commands& out)
{
    out.push_back({command::kind::failed, {}, ec});
    return leave(c, out);
}

} // namespace colock::protocol::queue
