// The last stage of a contender that has a node: it removes the node, and repeats that until it is confirmed.
#pragma once

#include "place.hpp"

#include <string_view>
#include <utility>

namespace colock::protocol::queue {

class transition;

class leaving {
public:
    // `held`: the lock was held by the node.
    static leaving begin(const context& c, place me, bool held, commands& out);
    // The remove is under way already.
    explicit leaving(place me) noexcept : me_{std::move(me)} {}

    transition connected(context& c, commands& out);
    void suspended() noexcept { me_.watch.forget(); }
    transition expired(context& c, commands& out);

    transition watched(context& c, std::string_view name, const error_code& ec,
                       node_identity identity, commands& out);
    transition fired(context& c, std::string_view name, bool deleted, commands& out);
    transition removed(context& c, const error_code& ec, commands& out);

    [[nodiscard]] const place& me() const noexcept { return me_; }

    friend bool operator==(const leaving&, const leaving&) = default;

private:
    void remove(const context& c, commands& out);
    // Whether the removal is to raise the low-water mark.
    [[nodiscard]] bool marks(const context& c) const;

    place me_;
    bool held_ = false;
    bool remove_lost_ = false;   // a remove was not answered: it may have been carried out
    bool marking_ = false;       // the remove that was sent last raises the low-water mark
    bool may_not_write_ = false; // the servers have refused to write to the directory
};

} // namespace colock::protocol::queue
