// Near the end of the server's sequence numbers contenders leave the queue, so that the directory can be deleted and the
// numbers begin anew. Skip this at first reading; settings::drains_at_end switches it off.
#pragma once

#include "place.hpp"
#include "predecessors.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock::protocol::queue {

class transition;

// The server's sequence numbers end at 2^31. Near their end a contender that finds another contender before it removes its
// node. It waits without a node until the queue is empty; then it joins again. Each contender that leaves then deletes the
// directory, if nothing else is in it, and with it the numbers begin anew. When the queue has been
// empty, the first newcomer keeps its node. So a contender always has a turn, and none drains for ever.
class draining {
public:
    static draining begin(place me, std::optional<predecessors> before,
                          const std::vector<entry>& listing, commands& out);

    transition leave(context& c, commands& out);
    transition connected(context& c, commands& out);
    void suspended() noexcept;
    transition expired(context& c, commands& out);

    transition listed(context& c, const error_code& ec, const listing& l, commands& out);
    transition watched(context& c, std::string_view name, const error_code& ec,
                       node_identity identity, commands& out);
    transition fired(context& c, std::string_view name, bool deleted, commands& out);
    transition removed(context& c, const error_code& ec, commands& out);

    // The own node, until its removal is confirmed.
    [[nodiscard]] const std::optional<place>& me() const noexcept { return me_; }

    friend bool operator==(const draining&, const draining&) = default;

private:
    draining(place me, watched_node last) noexcept;

    transition failed(context& c, const error_code& ec, commands& out);
    transition look_again(context& c, commands& out);

    std::optional<place> me_;
    // The last contender that keeps its node. When that has gone, and the own node too, this contender lists again.
    watched_node last_;
};

} // namespace colock::protocol::queue
