// Who stands before me and blocks me.
#pragma once

#include "protocol/names/contender_name.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace colock::protocol {

// The set B of a contender, as far as its protocol needs to know it.
struct blockers {
    std::size_t count = 0;
    const entry* nearest = nullptr; // the last one before me: watched
    const entry* ahead =
        nullptr; // the one before that, watched to know early; null for a reader, which does not look ahead
};

// `own` is the index of the asking contender in the queue, which is sorted by number.
[[nodiscard]] inline blockers blockers_of(const std::vector<entry>& queue, std::size_t own)
{
    if (!queue[own].shared) { // all that are lower
        return {own, own >= 1 ? &queue[own - 1] : nullptr, own >= 2 ? &queue[own - 2] : nullptr};
    }
    // The writers that are lower. Not looking ahead: a hundred readers that did so would be a herd.
    blockers b;
    for (std::size_t i = 0; i != own; ++i) {
        if (!queue[i].shared && queue[i].number < queue[own].number) {
            ++b.count;
            b.nearest = &queue[i];
        }
    }
    return b;
}

// How many have to go before it has its turn: all that are before it, or of a reader all up to the last writer. A
// process of Curator's that steps down has two nodes of one number, and is one.
[[nodiscard]] inline std::size_t position_of(const std::vector<entry>& queue, std::size_t own)
{
    std::size_t position = 0;
    if (const auto* last = blockers_of(queue, own).nearest) {
        for (const auto* e = queue.data(); e <= last; ++e) {
            position += e == queue.data() || e->number != (e - 1)->number ? 1 : 0;
        }
    }
    return position;
}

// Whether those who come to a queue hold back, because its numbers are nearly used up.
[[nodiscard]] inline bool is_draining(const std::vector<entry>& queue)
{
    return !queue.empty() && queue.back().number >= drain_from;
}

// Of a queue that drains, the last one that does not hold back: who has come before it began to, or else the
// first one.
[[nodiscard]] inline const entry& last_to_stay(const std::vector<entry>& queue)
{
    const auto late =
        std::ranges::find_if(queue, [](const entry& e) { return e.number >= drain_from; });
    return late == queue.begin() ? *late : *(late - 1);
}

// Whether somebody who came now would have to wait.
[[nodiscard]] inline bool blocks_newcomer(const std::vector<entry>& queue, bool shared)
{
    return std::ranges::any_of(queue, [&](const entry& e) { return !(shared && e.shared); });
}

} // namespace colock::protocol
