#include "drain.hpp"

#include "protocol/names/blocking_rule.hpp"
#include "protocol/names/contender_name.hpp"
#include "protocol/planted.hpp"
#include "stage.hpp"

namespace colock::protocol::queue {

drain::drain(place me, watched_node last) noexcept : me_{std::move(me)}, last_{std::move(last)}
{
}

drain drain::begin(place me, std::optional<predecessors> before, const std::vector<entry>& listing,
                   commands& out)
{
    me.watch.drop(out);
    out.push_back({command::kind::remove, me.name});
    auto watched = std::move(before).value_or(predecessors{});
    watched.watch_only(std::string{last_to_stay(listing).name}, out);
    return drain{std::move(me), watched.next_in_line()};
}

transition drain::leave(context&, commands& out)
{
    last_.drop(out);
    if (!me_ || planted("draining node forgotten")) {
        return finish({}, out);
    }
    return queue::leave{std::move(*me_)};
}

transition drain::connected(context& c, commands& out)
{
    if (me_) {
        out.push_back({command::kind::remove, me_->name});
    } else {
        c.listings.send(out);
    }
    return stay();
}

void drain::suspended() noexcept
{
    last_.forget();
}

transition drain::expired(context& c, commands& out)
{
    return join::in_another_session(c, out);
}

// Lists when both are gone, the own node and the watched one.
transition drain::look_again(context& c, commands& out)
{
    if (!me_ && !last_ && !planted("waits behind nobody")) {
        c.listings.send(out);
    }
    return stay();
}

transition drain::listed(context& c, const error_code& ec, const listing& l, commands& out)
{
    if (me_ || outcome_unknown(ec)) {
        return stay(); // listed when the own node is gone; or again behind the reconnection
    }
    if (ec == zookeeper_errc::no_node) {
        return join::make_directory(out);
    }
    if (is_retryable(ec)) {
        c.listings.send(out);
        return stay();
    }
    if (ec) {
        return failed(c, ec, out);
    }
    const auto queue = contenders(c.options.layout, l.children);
    if (!is_draining(queue) || planted("joins while it drains") ||
        queue.size() != l.children.size()) {
        return join::again(c, out);
    }
    const auto last = last_to_stay(queue).name;
    if (!last_.is(last)) {
        last_.drop(out);
        last_.arm(std::string{last}, out);
    }
    return stay();
}

transition drain::removed(context& c, const error_code& ec, commands& out)
{
    if (!me_ || outcome_unknown(ec)) {
        return stay(); // repeated behind the reconnection
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

transition drain::watched(context& c, std::string_view name, const error_code& ec, node_identity,
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
        return stay(); // listed behind the reconnection
    }
    if (is_retryable(ec)) {
        last_.arm(std::string{name}, out);
        return stay();
    }
    return failed(c, ec, out);
}

transition drain::fired(context& c, std::string_view name, bool deleted, commands& out)
{
    if (!last_.is(name) || !last_.is_armed()) {
        return stay();
    }
    if (!deleted) {
        last_.arm(std::string{name}, out);
        return stay();
    }
    last_.forget();
    return look_again(c, out);
}

transition drain::failed(context& c, const error_code& ec, commands& out)
{
    out.push_back({command::kind::failed, {}, ec});
    return me_ ? transition{leave::begin(c, std::move(*me_), false, out)} : finish({}, out);
}

} // namespace colock::protocol::queue
