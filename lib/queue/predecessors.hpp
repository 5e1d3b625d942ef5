// The contenders before the own node that block it: two of them in sight, the rest counted.
#pragma once

#include "queue/blocking_rule.hpp"
#include "queue/watched_node.hpp"

#include <cstddef>
#include <optional>
#include <string_view>

namespace colock::protocol::queue {

// Everything follows from one fact: once the own node is created, no node with a smaller number can appear. So the set of
// blocking contenders only shrinks. What a listing has shown stays true, except for nodes that have gone since. (There is
// one exception: waiting::departed() knows it.)
//
// The next-in-line before the own node is watched, as in ZooKeeper's recipe. So is the one before that (the look-ahead):
// when it goes first, the contender knows early that the next-in-line is all that is left.
class predecessors {
public:
    // Takes the predecessors from a listing. Keeps watches that are set.
    void update(const blockers& shown, commands& out);
    // Gives up all watches.
    void drop(commands& out);

    // One of the two in sight has gone.
    void departed(const watched_node& gone) noexcept;
    // A listing showed no predecessor.
    void none_left() noexcept { count_ = 0; }

    // Empty until a listing has shown them on this connection.
    [[nodiscard]] std::optional<std::size_t> count() const noexcept { return count_; }
    [[nodiscard]] std::size_t in_sight() const noexcept
    {
        return std::size_t{bool{next_in_line_}} + std::size_t{bool{look_ahead_}};
    }
    // The watched node of that name; or none.
    [[nodiscard]] watched_node* find(std::string_view name) noexcept;
    [[nodiscard]] const watched_node& foremost_in_sight() const noexcept
    {
        return look_ahead_ ? look_ahead_ : next_in_line_;
    }

    friend bool operator==(const predecessors&, const predecessors&) = default;

private:
    std::optional<std::size_t> count_; // of all, also those that are not in sight
    watched_node next_in_line_;        // the last one of them
    watched_node look_ahead_;          // the one before that
};

} // namespace colock::protocol::queue
