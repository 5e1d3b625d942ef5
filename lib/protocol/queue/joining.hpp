// The first stage of a contender: it creates its node in the queue, and finds it again when the answer was lost.
#pragma once

#include "context.hpp"

#include <string>
#include <string_view>

namespace colock::protocol::queue {

class transition;

// The create and a listing are sent back to back: the session's order makes the listing show the node.
//
// The uncontended fast path (directory/fast_path.hpp) spares that listing. It can be skipped at first reading. When the
// new node is the only child of the directory, nothing can block it.
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
    transition counted(context& c, const error_code& ec, std::string_view name,
                       node_identity identity, bool alone, commands& out);
    transition listed(context& c, const error_code& ec, const listing& l, commands& out);

    friend bool operator==(const joining&, const joining&) = default;

private:
    enum class step {
        not_begun,
        offline, // waiting for a connection
        probing, // a try lists
        making_directory,
        creating,
        lost_track, // the create's outcome is unknown; a listing tells, behind the reconnection
    };

    explicit joining(step at) noexcept : at_{at} {}

    transition probed(context& c, const listing& l, commands& out);
    transition recover(context& c, const listing& l, commands& out);

    transition fail(const error_code& ec, commands& out) const;

    step at_ = step::not_begun;
    // The caller left while nobody knew whether there is a node. If there is one, the contender removes it.
    bool abandoned_ = false;
};

} // namespace colock::protocol::queue
