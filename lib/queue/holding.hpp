// The third stage of a contender: it holds the lock, and watches its node.
#pragma once

#include "queue/place.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace colock::protocol::queue {

class transition;

// A writer may step down to a reader without a gap, as Curator does: one transaction creates the reader's node, with
// the writer's number, and removes the writer's.
class holding {
public:
    explicit holding(place me) noexcept : me_{std::move(me)} {}

    transition leave(context& c, commands& out);
    transition step_down(context& c, commands& out);
    // The lock is held for long enough that it is worth watching the own node.
    transition watch_own_node(context& c, commands& out);
    transition connected(context& c, commands& out);
    void suspended() noexcept { me_.suspended(); }
    transition expired(context& c, commands& out);

    transition listed(context& c, const error_code& ec, const listing& l, commands& out);
    transition watched(context& c, std::string_view name, const error_code& ec,
                       node_identity identity, commands& out);
    transition fired(context& c, std::string_view name, bool deleted, commands& out);
    transition stepped_down(context& c, const error_code& ec, commands& out);

    [[nodiscard]] const place& me() const noexcept { return me_; }
    [[nodiscard]] bool is_held() const noexcept { return !abandoned_; }

    friend bool operator==(const holding&, const holding&) = default;

private:
    transition became_reader(context& c, commands& out);
    transition own_node_vanished(commands& out);
    [[nodiscard]] std::string readers_name(const context& c) const;

    place me_;
    bool stepping_down_ = false;
    // The caller left while a step-down was unanswered. The contender then removes whichever node exists.
    bool abandoned_ = false;
    // The answer to a step-down was lost, and the listing refused: nobody knows which node exists.
    bool unlisted_ = false;
};

} // namespace colock::protocol::queue
