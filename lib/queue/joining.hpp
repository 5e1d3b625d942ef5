// The first stage of a contender: it creates its node in the queue, and finds it again when the answer was lost.
#pragma once

#include "queue/context.hpp"

#include <string_view>

namespace colock::protocol::queue {

class transition;

// The create and a listing are sent back to back: the session's order makes the listing show the node.
//
// A try lists before it creates, and creates nothing when it would have to wait.
class joining {
public:
    static joining begin(context& c, commands& out);
    // With a new guid: a node that an earlier create may have left is not taken for the new one.
    static joining again(context& c, commands& out);

    // It begins with the next connection.
    static joining offline() noexcept { return joining{step::offline}; }
    // The session has expired, and the own node with it.
    static transition in_another_session(context& c, commands& out);
    static joining make_directory(commands& out);
    // The contender has made way, and joins again when the queue is empty or the directory is another one; at last in any case.
    static joining stand_by(context& c, commands& out);

    // The caller has not asked to join yet.
    joining() noexcept = default;

    transition leave(context& c, commands& out);
    transition connected(context& c, commands& out);
    void suspended() noexcept {}
    transition expired(context& c, commands& out);

    // `ec`: the outcome of creating the directory and its ancestors, as outcome_of_making() tells.
    transition directory_made(context& c, const error_code& ec, commands& out);
    transition created(context& c, const error_code& ec, std::string_view name,
                       node_identity identity, commands& out);
    transition listed(context& c, const error_code& ec, const listing& l, commands& out);
    // A node with the own guid, where others have made some.
    transition removed(context& c, const error_code& ec, commands& out);

    [[nodiscard]] bool stands_by() const noexcept { return at_ == step::standing_by; }

    friend bool operator==(const joining&, const joining&) = default;

private:
    enum class step {
        not_begun,
        offline, // waiting for a connection
        probing, // a try lists
        making_directory,
        creating,
        lost_track,  // the create's outcome is unknown; a listing tells, after the reconnection
        standing_by, // it has made way, and lists from time to time
    };

    explicit joining(step at) noexcept : at_{at} {}

    transition probed(context& c, const listing& l, commands& out);
    transition recover(context& c, const listing& l, commands& out);
    transition stood_by(context& c, const listing& l, commands& out);

    transition fail(const error_code& ec, commands& out) const;

    step at_ = step::not_begun;
    // The caller left while nobody knew whether there is a node. If there is one, the contender removes it.
    bool abandoned_ = false;
    // All nodes with the own guid are removed, on this connection: others have made some.
    bool has_swept_ = false;
};

} // namespace colock::protocol::queue
