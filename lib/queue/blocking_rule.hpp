// Which contenders of a queue block another one.
#pragma once

#include "names/contender_name.hpp"

#include <algorithm>
#include <cstddef>

namespace colock::protocol {

// The predecessors that block a contender, as far as its protocol needs to know them.
struct blockers {
    std::size_t count = 0;
    const entry* nearest =
        nullptr; // the last of them, the next-in-line before the contender: watched
    const entry* ahead =
        nullptr; // the one before that: watched to know early. A reader does not look ahead
};

// `own` is the index of the asking contender in the queue, which is sorted by number. `holders` writers may hold the lock at
// the same time: one or two, because a writer that waits for more would have to see more of those before it.
[[nodiscard]] inline blockers blockers_of(const entries& queue, std::size_t own,
                                          std::size_t holders = 1)
{
    if (!queue[own].shared) { // a writer: of all entries before it, those that have to go
        return own < holders ? blockers{}
                             : blockers{own + 1 - holders, &queue[own - 1],
                                        own >= 2 ? &queue[own - 2] : nullptr};
    }
    // A reader: the writers before it. It does not look ahead: a hundred readers that did so would be a herd.
    blockers b;
    for (std::size_t i = 0; i != own; ++i) {
        if (!queue[i].shared && queue[i].number < queue[own].number) {
            ++b.count;
            b.nearest = &queue[i];
        }
    }
    return b;
}

// How many contenders have to go before this one has its turn. A writer waits for every contender before it. A reader waits
// until the last writer before it has gone, and so for all before that writer. A Curator process that steps down has two
// nodes of one number, and counts once.
[[nodiscard]] inline std::size_t position_of(const entries& queue, std::size_t own)
{
    std::size_t position = 0;
    if (const auto* last = blockers_of(queue, own).nearest) {
        for (const auto* e = queue.data(); e <= last; ++e) {
            position += e == queue.data() || e->number != (e - 1)->number ? 1 : 0;
        }
    }
    return position;
}

// Whether a contender that joins now would have to wait.
[[nodiscard]] inline bool blocks_newcomer(const entries& queue, bool shared,
                                          std::size_t holders = 1)
{
    return shared ? !std::ranges::all_of(queue, &entry::shared) : queue.size() >= holders;
}

} // namespace colock::protocol
