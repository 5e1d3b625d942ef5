#include "waiting.hpp"

#include "protocol/names/contender_name.hpp"
#include "protocol/planted.hpp"
#include "protocol/queue/blocking_rule.hpp"
#include "stage.hpp"

#include <algorithm>

namespace colock::protocol::queue {

// ---- the caller, and the connection

transition waiting::leave(context& c, commands& out)
{
    if (before_) {
        before_->drop(out);
    }
    return leaving::begin(c, std::move(me_), false, out);
}

transition waiting::proved(context& c, commands& out)
{
    if (!std::exchange(proving_, false)) {
        return stay();
    }
    if (me_.watch.is_armed() || planted("proof proves the node")) {
        return granted(c, out);
    }
    if (planted("proof forgotten")) {
        return stay();
    }
    c.listings.send(out); // the own node may have been deleted meanwhile
    return stay();
}

transition waiting::connected(context& c, commands& out)
{
    if (planted("no list when connected again")) {
        return stay();
    }
    c.listings.send(out);
    return stay();
}

// Watches and answers do not outlive a connection.
void waiting::suspended() noexcept
{
    me_.watch.forget();
    before_.reset();
    if (!planted("mark of an earlier connection awaited")) {
        asked_.forget();
    }
    proving_ = false;
}

transition waiting::expired(context& c, commands& out)
{
    return joining::in_another_session(c, out);
}

// ---- listings

transition waiting::counted(context& c, bool alone, commands& out)
{
    // Fast path. A late contender lists all the same, because obstacle() judges by a listing.
    me_.counted_siblings = !alone;
    if ((!alone && !planted("the only child")) ||
        (me_.is_late() && !planted("counts near the end"))) {
        if (!planted("no list beside others")) {
            c.listings.send(out);
        }
        return stay();
    }
    before_.emplace();
    return granted(c, out);
}

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
    // Drain.
    if (c.options.drains_at_end && me_.is_late() && me_.directory_is == place::directory::unknown) {
        out.push_back({command::kind::read_directory});
        c.listings.send(out);
        return stay();
    }
    const auto& queue = l.queue(c.options.layout);
    me_.update(c, l, queue);
    if (const auto ec = me_.obstacle(c, l, queue)) {
        return failed(c, ec, out);
    }
    const auto own = me_.find_in(queue);
    if (own == queue.end()) {
        return own_node_vanished(c, out);
    }
    const auto index = static_cast<std::size_t>(own - queue.begin());
    const auto b = blockers_of(queue, index);
    // Drain. Also a reader behind readers: else readers that come and go would keep the queue from draining.
    const bool too_late = me_.newcomers_drain(c) && (index != 0 || planted("the first one drains"));
    if (c.try_only && (b.count != 0 || too_late)) {
        out.push_back({command::kind::busy});
        return planted("busy, and stays") ? finish({}, out) : leave(c, out);
    }
    if (too_late) {
        return draining::begin(std::move(me_), std::move(before_), queue, out);
    }
    if (!before_) {
        before_.emplace();
    }
    if (b.count == 0 && me_.identity) {
        before_->none_left();
        return granted(c, out);
    }
    if (planted("own watch last")) {
        before_->update(b, out);
    }
    // Watch the own node first. Then its watch is already set when a predecessor's event comes.
    if (!me_.watch) {
        me_.watch.arm(me_.name, out);
    }
    before_->update(b, out);
    if (me_.directory_is == place::directory::unknown && may_read_mark(c, me_)) {
        // Low-water mark. The contender learns now who made the directory. If it learned only when a predecessor goes that
        // there can be no mark, it would have to list then, a round trip later.
        out.push_back({command::kind::read_directory});
    }
    return stay();
}

// ---- the end of waiting

// No predecessor is left, and the own node is there.
transition waiting::granted(context& c, commands& out)
{
    if (!c.safe && !planted("granted while unsafe")) {
        if (!std::exchange(proving_, true)) {
            out.push_back({command::kind::prove});
        }
        return stay();
    }
    if (before_) {
        before_->drop(out);
    }
    if ((me_.met_siblings && !planted("listed siblings forgotten")) ||
        (me_.counted_siblings && !planted("counted siblings forgotten"))) {
        c.directory->met_others();
    } else {
        c.directory->granted_alone(me_.number);
        if (c.uses_fast_path() && !c.try_only) { // fast path
            prepare_fast_path(*c.directory, me_.name, out);
        }
    }
    out.push_back({command::kind::granted});
    return holding{std::move(me_)};
}

// No predecessor is left. No round trip is needed when the own watch tells that the own node is there.
transition waiting::granted_if_there(context& c, commands& out)
{
    const bool there =
        me_.watch.is_armed() || planted("unwatched grant") || planted("own watch last");
    if (there && me_.identity) {
        return granted(c, out);
    }
    if (!c.listings && !planted("no list for a grant")) {
        c.listings.send(out);
    }
    return stay();
}

transition waiting::own_node_vanished(context& c, commands& out)
{
    me_.watch.drop(out);
    if (before_) {
        before_->drop(out);
    }
    return planted("missing own node ignored") ? stay() : joining::again(c, out);
}

transition waiting::failed(context& c, const error_code& ec, commands& out)
{
    out.push_back({command::kind::failed, {}, ec});
    return leave(c, out);
}

} // namespace colock::protocol::queue
