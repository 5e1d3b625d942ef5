// The second stage of a contender: its node is in the queue, and it waits until no predecessor is left.
#pragma once

#include "queue/place.hpp"
#include "queue/predecessors.hpp"

#include <string_view>
#include <utility>

namespace colock::protocol::queue {

class transition;

// It is granted when a listing, or the event of the last predecessor, shows that none is left. An event alone proves
// that only while the watch on the own node is set and silent: events come in ZooKeeper's order, so the node was
// there when the predecessor went.
class waiting {
public:
    explicit waiting(place me) noexcept : me_{std::move(me)} {}

    transition leave(context& c, commands& out);
    transition proved(context& c, commands& out);
    transition connected(context& c, commands& out);
    void suspended() noexcept;
    transition expired(context& c, commands& out);

    transition listed(context& c, const error_code& ec, const listing& l, commands& out);
    // Evaluates a listing that was sent after the create. If it does not show the own node, somebody has deleted the node.
    transition evaluate(context& c, const listing& l, commands& out);
    transition watched(context& c, std::string_view name, const error_code& ec,
                       node_identity identity, commands& out);
    transition fired(context& c, std::string_view name, bool deleted, commands& out);
    void directory_read(bool replaceable) noexcept { me_.directory_replaceable = replaceable; }

    [[nodiscard]] const place& me() const noexcept { return me_; }
    [[nodiscard]] bool is_next() const noexcept { return before_.count().value_or(2) <= 1; }
    [[nodiscard]] const predecessors& before() const noexcept { return before_; }

    friend bool operator==(const waiting&, const waiting&) = default;

private:
    // The watched node of that name; or none.
    [[nodiscard]] watched_node* find(std::string_view name) noexcept;
    transition granted(context& c, commands& out);
    transition granted_if_there(context& c, commands& out);
    transition departed(context& c, watched_node& gone, commands& out);
    transition own_node_vanished(context& c, commands& out);
    transition failed(context& c, const error_code& ec, commands& out);

    place me_;
    predecessors before_;
    bool proving_ = false; // no predecessor is left; granted as soon as the session is proved safe
};

} // namespace colock::protocol::queue
