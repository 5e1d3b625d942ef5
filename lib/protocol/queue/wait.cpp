#include "wait.hpp"

#include "low_water_mark.hpp"
#include "protocol/names/blocking_rule.hpp"
#include "protocol/names/contender_name.hpp"
#include "protocol/planted.hpp"
#include "stage.hpp"

#include <algorithm>
#include <ostream>

namespace colock::protocol::queue {

// ---- the caller, and the connection

transition wait::leave(context& c, commands& out)
{
    if (before_) {
        before_->drop(out);
    }
    return leave::begin(c, std::move(me_), false, out);
}

transition wait::proved(context& c, commands& out)
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

transition wait::connected(context& c, commands& out)
{
    if (planted("no list when connected again")) {
        return stay();
    }
    c.listings.send(out);
    return stay();
}

// Watches and answers do not outlive a connection.
void wait::suspended() noexcept
{
    me_.watch.forget();
    before_.reset();
    if (!planted("mark of an earlier connection awaited")) {
        asked_after_.reset();
    }
    proving_ = false;
}

transition wait::expired(context& c, commands& out)
{
    if (!c.options.rejoin_on_expiry) {
        out.push_back({command::kind::failed, {}, errc::session_expired});
        return finish({}, out);
    }
    c.own_guid.next();
    return join::offline();
}

// ---- listings

transition wait::counted(context& c, bool alone, commands& out)
{
    me_.counted_siblings = !alone;
    if ((!alone && !planted("the only child")) ||
        (me_.is_late(c) && !planted("counts near the end"))) {
        if (!planted("no list beside others")) {
            c.listings.send(out);
        }
        return stay();
    }
    before_.emplace();
    return granted(c, out);
}

transition wait::listed(context& c, const error_code& ec, const listing& l, commands& out)
{
    if (outcome_unknown(ec)) {
        return stay(); // listed again behind the reconnection
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

transition wait::evaluate(context& c, const listing& l, commands& out)
{
    if (me_.is_late(c) && me_.is_whose == place::directory::unknown) {
        out.push_back({command::kind::read_directory});
        c.listings.send(out);
        return stay();
    }
    const auto& layout = c.options.layout;
    const auto& children = l.children;
    const auto queue = contenders(layout, children);
    me_.disposable = (me_.is_whose == place::directory::ours && queue.size() == children.size()) ||
                     planted("any directory is disposable");
    if (me_.number < 0 || (me_.number >= last_number && !planted("numbers that repeat")) ||
        (!queue.empty() && queue.front().number < 0)) {
        return failed(c, errc::sequence_exhausted, out);
    }
    const auto own = std::ranges::find(queue, me_.name, &entry::name);
    if (own == queue.end()) {
        return own_node_vanished(c, out);
    }
    // The contenders that were there before go on: it is the newcomer's mistake.
    if (queue.size() != children.size() && is_of_another_kind(layout, children, me_.number)) {
        return failed(c, errc::conflicting_kind, out);
    }
    const auto has_my_place = [&](const entry& e) {
        return e.number == me_.number && e.shared == c.options.shared;
    };
    if (std::ranges::count_if(queue, has_my_place) != 1) {
        return failed(c, errc::duplicate_sequence, out);
    }
    const auto index = static_cast<std::size_t>(own - queue.begin());
    const auto b = blockers_of(queue, index);
    // Also a reader behind readers: else readers that come and go would keep the queue from draining.
    const bool too_late = me_.drains(c) && (index != 0 || planted("the first one drains"));
    if (c.try_only && (b.count != 0 || too_late)) {
        out.push_back({command::kind::busy});
        return planted("busy, and stays") ? finish({}, out) : leave(c, out);
    }
    if (too_late) {
        return drain::begin(std::move(me_), std::move(before_), queue, out);
    }
    if (me_.is_whose == place::directory::unknown && c.directory.recognises(l.directory.czxid)) {
        // Late contenders read the directory instead (above), because they may delete it: other data that were put
        // there since say that it has to stay.
        me_.is_whose = place::directory::ours;
    }
    me_.met_others = queue.size() > 1;
    me_.met_siblings = children.size() > 1;
    me_.long_queue = c.options.mark_from != 0 && queue.size() >= c.options.mark_from;
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
    // The own node first: then its watch is set when an event of another one comes.
    if (!me_.watch) {
        me_.watch.arm(me_.name, out);
    }
    before_->update(b, out);
    if (me_.is_whose == place::directory::unknown && may_read_mark(c, me_)) {
        // The contender learns now who made the directory. If it learned only when a predecessor goes that there can be no
        // mark, it would have to list then, a round trip later.
        out.push_back({command::kind::read_directory});
    }
    return stay();
}

// ---- watches

transition wait::watched(context& c, std::string_view name, const error_code& ec,
                         node_identity identity, commands& out)
{
    const bool own = me_.watch.is(name);
    auto* const node = own ? &me_.watch : before_ ? before_->find(name) : nullptr;
    if (node == nullptr) {
        return stay();
    }
    if (ec == zookeeper_errc::no_node) {
        if (!own) {
            return planted("missing predecessor ignored") ? stay() : departed(c, *node, out);
        }
        node->forget();
        return own_node_vanished(c, out);
    }
    if (ec) {
        node->forget();
        if (outcome_unknown(ec)) {
            return stay(); // watched again behind the reconnection
        }
        if (is_retryable(ec)) {
            c.listings.send(out);
            return stay();
        }
        return failed(c, ec, out);
    }
    node->armed();
    if (!own) {
        return stay();
    }
    if (identity.owner != c.session) {
        return own_node_vanished(c, out); // what carries the own name is another client's
    }
    if (!me_.identity) {
        me_.identity = identity;
        if (before_ && before_->count() == 0) {
            return granted(c, out);
        }
    }
    return stay();
}

transition wait::fired(context& c, std::string_view name, bool deleted, commands& out)
{
    const bool own = me_.watch.is(name);
    auto* const node = own ? &me_.watch : before_ ? before_->find(name) : nullptr;
    if (node == nullptr || !node->is_armed()) {
        return stay();
    }
    if (!deleted) {
        if (planted("no watch behind a change")) {
            node->forget();
        } else {
            node->arm(node->name(), out);
        }
        return stay();
    }
    if (!own) {
        return departed(c, *node, out);
    }
    node->forget();
    return own_node_vanished(c, out);
}

// A predecessor has left the queue, and never comes back.
transition wait::departed(context& c, watched_node& gone, commands& out)
{
    const auto& layout = c.options.layout;
    const auto name = gone.name();
    if (!c.options.shared && !layout.shared_marker.empty() && !is_shared(layout, name) &&
        !planted("writer that stepped down ignored")) {
        // The one exception to "no node with a smaller number can appear": a writer that steps down, in Curator's way,
        // leaves a reader's node of its own number. Only a listing can tell. One that is under way does: it is
        // answered after the deletion. Readers do not mind.
        gone.forget();
        if (!c.listings) {
            c.listings.send(out);
        }
        return stay();
    }
    const bool was_look_ahead = before_->is_look_ahead(gone);
    before_->departed(was_look_ahead);
    if (before_->count() <= (planted("unseen counts as gone") ? 1U : 0U)) {
        return granted_if_there(c, out);
    }
    if (before_->in_sight() < before_->count() && !planted("no list behind a departure") &&
        !c.listings && !asked_after_) {
        if (was_look_ahead && before_->in_sight() == 1 && !c.mark_refused &&
            may_read_mark(c, me_)) {
            asked_after_ = number_of(layout, name);
            out.push_back({command::kind::read_directory});
        } else {
            c.listings.send(out);
        }
    }
    return stay();
}

transition wait::directory_read(context& c, const error_code& ec, bool ours, std::int64_t mark,
                                commands& out)
{
    if (outcome_unknown(ec)) {
        return stay();
    }
    if (!is_retryable(ec) && ec != zookeeper_errc::no_node) {
        me_.is_whose = !ec && ours ? place::directory::ours : place::directory::to_stay;
    }
    const auto departed = std::exchange(asked_after_, std::nullopt);
    const bool refused =
        !ec && is_false(mark, c, me_.watch, before_ ? before_->next_in_line() : watched_node{});
    if (refused && !std::exchange(c.mark_refused, true)) {
        out.push_back({.type = command::kind::mark_refused, .number = mark});
    }
    if ((!departed && !refused) || c.listings) {
        return stay(); // a listing under way decides instead; a late contender reads again behind it
    }
    const bool too_low = planted("any mark will do")    ? mark < 0
                         : planted("no mark, no queue") ? false
                                                        : mark < departed;
    const bool false_mark =
        (c.mark_refused || mark >= me_.number) && !planted("false mark trusted");
    if (ec || too_low || false_mark) {
        if (!planted("no list behind a mark")) {
            c.listings.send(out);
        }
        return stay();
    }
    // Between the look-ahead that has gone and the own node there was the next-in-line only.
    before_->only_in_sight();
    if (planted("mark covers the next-in-line")) {
        before_->none_left();
    }
    const bool none_left = before_->count() == 0 && !planted("mark behind the last departure");
    return none_left ? granted_if_there(c, out) : stay();
}

// ---- the end of waiting

// No predecessor is left, and the own node is there.
transition wait::granted(context& c, commands& out)
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
    const bool met_siblings =
        me_.met_siblings || (me_.counted_siblings && !planted("counted siblings forgotten"));
    c.directory.granted(c.rules(), me_.name, me_.number, met_siblings, c.try_only, out);
    out.push_back({command::kind::granted});
    return hold{std::move(me_)};
}

// No predecessor is left. No round trip is needed when the own watch tells that the own node is there.
transition wait::granted_if_there(context& c, commands& out)
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

transition wait::own_node_vanished(context& c, commands& out)
{
    me_.watch.drop(out);
    if (before_) {
        before_->drop(out);
    }
    return planted("missing own node ignored") ? stay() : join::again(c, out);
}

transition wait::failed(context& c, const error_code& ec, commands& out)
{
    out.push_back({command::kind::failed, {}, ec});
    return leave(c, out);
}

std::ostream& operator<<(std::ostream& text, const wait& w)
{
    text << w.me_ << w.before_.has_value() << w.asked_after_.value_or(-1) << ' ' << w.proving_;
    return w.before_ ? text << *w.before_ : text;
}

} // namespace colock::protocol::queue
