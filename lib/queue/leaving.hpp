// The last stage of a contender that has a node: it removes the node, and repeats that until it is confirmed.
// When the sequence numbers are nearly used up, it removes the directory, too, if that is empty: numbers begin anew with the next
// one.
#pragma once

#include "queue/place.hpp"

#include <string_view>
#include <utility>

namespace colock::protocol::queue {

class transition;

class leaving {
public:
    // `held`: the lock was held by the node.
    static leaving begin(const context& c, place me, bool held, commands& out);
    // Not for good: the contender joins again when the queue is empty.
    static leaving make_way(const context& c, place me, commands& out);

    transition leave(context& c, commands& out);
    transition connected(context& c, commands& out);
    void suspended() noexcept { me_.suspended(); }
    transition expired(context& c, commands& out);

    transition watched(context& c, std::string_view name, const error_code& ec,
                       node_identity identity, commands& out);
    transition fired(context& c, std::string_view name, bool deleted, commands& out);
    transition removed(context& c, const error_code& ec, commands& out);

    [[nodiscard]] const place& me() const noexcept { return me_; }

    friend bool operator==(const leaving&, const leaving&) = default;

private:
    explicit leaving(place me) noexcept : me_{std::move(me)} {}

    void remove(commands& out);

    place me_;
    bool held_ = false;
    bool makes_way_ = false;
    bool remove_lost_ = false; // a remove was not answered: it may have been carried out
};

} // namespace colock::protocol::queue
