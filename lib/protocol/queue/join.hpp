// The first stage of a contender: it creates its node in the queue, and finds it again when the answer was lost.
#pragma once

#include "context.hpp"

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace colock::protocol::queue {

class transition;

// The create and a listing are sent back to back: the session's order makes the listing show the node.
//
// The uncontended fast path spares that listing. It can be skipped at first reading. Who expects nobody else creates its
// node in a transaction that also writes to the directory. When that has no other child then, nobody can block the
// new node.
//
// A try lists before it creates, and creates nothing when it would have to wait.
class join {
public:
    static join begin(context& c, commands& out);
    // With a new guid: what comes of an earlier create is no node of this one.
    static join again(context& c, commands& out);

    // It begins when there is a connection.
    static join offline() noexcept { return join{step::offline}; }
    static join make_directory(commands& out);

    // It has not been asked for yet.
    join() noexcept = default;

    transition leave(context& c, commands& out);
    transition connected(context& c, commands& out);
    void suspended() noexcept {}
    transition expired(context& c, commands& out);

    transition directory_made(context& c, const error_code& ec, commands& out);
    transition created(context& c, const error_code& ec, std::string_view name,
                       node_identity identity, commands& out);
    transition counted(context& c, const error_code& ec, std::string_view name,
                       node_identity identity, bool alone, commands& out);
    transition listed(context& c, const error_code& ec, const std::vector<std::string>& children,
                      bool recognised, commands& out);

    friend bool operator==(const join&, const join&) = default;
    friend std::ostream& operator<<(std::ostream& text, const join& j);

private:
    enum class step {
        not_begun,
        offline, // waiting for a connection
        probing, // a try lists
        making_directory,
        creating,
        lost_track, // the create's outcome is unknown; a listing tells, behind the reconnection
    };

    explicit join(step at) noexcept : at_{at} {}

    transition probed(context& c, const std::vector<std::string>& children, commands& out);
    transition recover(context& c, const std::vector<std::string>& children, bool recognised,
                       commands& out);

    transition fail(const error_code& ec, commands& out) const;

    step at_ = step::not_begun;
    // The caller has left. The create that is under way, or whose outcome is unknown, has to be seen to its end.
    bool abandoned_ = false;
};

} // namespace colock::protocol::queue
