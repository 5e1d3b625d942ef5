// The watches of a waiter: on its predecessors, and on its own node.
#include "low_water_mark.hpp"
#include "protocol/names/contender_name.hpp"
#include "protocol/planted.hpp"
#include "stage.hpp"

namespace colock::protocol::queue {

transition waiting::watched(context& c, std::string_view name, const error_code& ec,
                            node_identity identity, commands& out)
{
    auto* const node = find(name);
    const bool own = node == &me_.watch;
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
            return stay(); // connected() lists, and evaluate() sets the watch again
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

transition waiting::fired(context& c, std::string_view name, bool deleted, commands& out)
{
    auto* const node = find(name);
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
    if (node != &me_.watch) {
        return departed(c, *node, out);
    }
    node->forget();
    return own_node_vanished(c, out);
}

watched_node* waiting::find(std::string_view name) noexcept
{
    return me_.watch.is(name) ? &me_.watch : before_ ? before_->find(name) : nullptr;
}

// A predecessor has left the queue, and never comes back.
transition waiting::departed(context& c, watched_node& gone, commands& out)
{
    const colock::layout& layout = c.options.layout;
    const auto name = gone.name();
    if (!c.is_reader && !layout.shared_marker.empty() && !is_shared(layout, name) &&
        !planted("writer that stepped down ignored")) {
        // The one exception to "no node with a smaller number can appear": a writer that steps down, in Curator's way,
        // leaves a reader's node of its own number. Only a listing shows that node. A listing that is under way suffices,
        // because the server answers it after the deletion. A waiting reader is not blocked by a reader and needs no
        // listing.
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
        !c.listings && !asked_) {
        // Low-water mark: a read of the directory may spare the listing.
        const auto number = number_of(layout, name);
        if (number && was_look_ahead && before_->in_sight() == 1 && !c.mark_refused &&
            may_read_mark(c, me_)) {
            asked_.ask(*number, out);
        } else {
            c.listings.send(out);
        }
    }
    return stay();
}

transition waiting::directory_read(context& c, const error_code& ec, bool ours, std::int64_t mark,
                                   commands& out)
{
    if (outcome_unknown(ec)) {
        return stay();
    }
    if (!is_retryable(ec) && ec != zookeeper_errc::no_node) {
        me_.directory_is = !ec && ours ? place::directory::ours : place::directory::to_stay;
    }
    const auto answer =
        asked_.answered(c, me_, before_ ? before_->next_in_line() : watched_node{}, ec, mark, out);
    if (answer == mark_query::answer::none || c.listings) {
        return stay(); // the listing under way decides; evaluate() asks for the directory again if it must
    }
    if (answer == mark_query::answer::list) {
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

} // namespace colock::protocol::queue
