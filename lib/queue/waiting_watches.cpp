// The watches of a waiter: on its predecessors, and on its own node.
#include "names/contender_name.hpp"
#include "queue/stage.hpp"

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
            return departed(c, *node, out);
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
        if (before_.count() == 0) {
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
        node->arm(node->name(), out);
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
    return me_.watch.is(name) ? &me_.watch : before_.find(name);
}

// A predecessor has left the queue, and never comes back.
transition waiting::departed(context& c, watched_node& gone, commands& out)
{
    const colock::layout& layout = c.options.layout;
    if (!c.is_reader && !layout.shared_marker.empty() && !is_shared(layout, gone.name())) {
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
    before_.departed(gone);
    if (before_.count() == 0) {
        return granted_if_there(c, out);
    }
    // Where two may hold the lock, the departure of any predecessor may be the one that counts, and two are in sight.
    if (before_.in_sight() < *before_.count() + c.options.holders - 1 && !c.listings) {
        c.listings.send(out);
    }
    return stay();
}

} // namespace colock::protocol::queue
