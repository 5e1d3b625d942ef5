#include "draining.hpp"

#include "protocol/names/contender_name.hpp"
#include "protocol/planted.hpp"
#include "protocol/queue/blocking_rule.hpp"
#include "stage.hpp"

namespace colock::protocol::queue {

draining::draining(place me, watched_node last) noexcept
    : me_{std::move(me)}, last_{std::move(last)}
{
}

draining draining::begin(place me, std::optional<predecessors> before,
                         const std::vector<entry>& listing, commands& out)
{
    me.watch.drop(out);
    out.push_back({command::kind::remove, me.name});
    auto watched = std::move(before).value_or(predecessors{});
    watched.watch_only(last_to_stay(listing).name, out);
    return draining{std::move(me), watched.next_in_line()};
}

transition draining::leave(context&, commands& out)
{
    last_.drop(out);
    if (!me_ || planted("draining node forgotten")) {
        return finish({}, out);
    }
    return queue::leaving{std::move(*me_)};
}

transition draining::connected(context& c, commands& out)
{
    if (me_) {
        out.push_back({command::kind::remove, me_->name});
    } else {
        c.listings.send(out);
    }
    return stay();
}

void draining::suspended() noexcept
{
    last_.forget();
}

transition draining::expired(context& c, commands& out)
{
    return joining::in_another_session(c, out);
}

// Lists when both are gone, the own node and the watched one.
transition draining::look_again(context& c, commands& out)
{
    if (!me_ && !last_ && !planted("waits behind nobody")) {
        c.listings.send(out);
    }
    return stay();
}

transition draining::listed(context& c, const error_code& ec, const listing& l, commands& out)
{
    if (me_ || outcome_unknown(ec)) {
        return stay(); // look_again() lists when the own node is gone; connected() lists or removes again
    }
    if (ec == zookeeper_errc::no_node) {
        return joining::make_directory(out);
    }
    if (is_retryable(ec)) {
        c.listings.send(out);
        return stay();
    }
    if (ec) {
        return failed(c, ec, out);
    }
    const auto& queue = l.queue(c.options.layout);
    if (!is_draining(queue) || planted("joins while it drains") ||
        queue.size() != l.children.size()) {
        return joining::again(c, out);
    }
    const auto last = last_to_stay(queue).name;
    if (!last_.is(last)) {
        last_.drop(out);
        last_.arm(last, out);
    }
    return stay();
}

transition draining::removed(context& c, const error_code& ec, commands& out)
{
    if (!me_ || outcome_unknown(ec)) {
        return stay(); // connected() removes again
    }
    if (!ec || ec == zookeeper_errc::no_node) {
        me_.reset();
        return look_again(c, out);
    }
    if (is_retryable(ec)) {
        out.push_back({command::kind::remove, me_->name});
        return stay();
    }
    out.push_back({command::kind::failed, {}, ec});
    last_.drop(out);
    return finish(ec, out);
}

transition draining::watched(context& c, std::string_view name, const error_code& ec, node_identity,
                             commands& out)
{
    if (!last_.is(name)) {
        return stay();
    }
    if (!ec) {
        last_.armed();
        return stay();
    }
    last_.forget();
    if (ec == zookeeper_errc::no_node) {
        return look_again(c, out);
    }
    if (outcome_unknown(ec)) {
        return stay(); // connected() lists or removes again
    }
    if (is_retryable(ec)) {
        last_.arm(name, out);
        return stay();
    }
    return failed(c, ec, out);
}

transition draining::fired(context& c, std::string_view name, bool deleted, commands& out)
{
    if (!last_.is(name) || !last_.is_armed()) {
        return stay();
    }
    if (!deleted) {
        last_.arm(name, out);
        return stay();
    }
    last_.forget();
    return look_again(c, out);
}

transition draining::failed(context& c, const error_code& ec, commands& out)
{
    out.push_back({command::kind::failed, {}, ec});
    return me_ ? transition{leaving::begin(c, std::move(*me_), false, out)} : finish({}, out);
}

} // namespace colock::protocol::queue
