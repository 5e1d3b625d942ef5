// Who stands before me and blocks me.
#pragma once

#include "naming.hpp"

#include <cstddef>
#include <vector>

namespace colock::protocol {

// The set B of a contender, as far as its protocol needs to know it.
struct blockers {
    std::size_t count = 0;
    const entry* nearest = nullptr; // the last one before me: watched
    const entry* ahead = nullptr; // the one before that: watched too, to know early; empty = do not
};

// `own` is the index of the asking contender in the queue, which is sorted by number.
using blocking_rule = blockers (*)(const std::vector<entry>& queue, std::size_t own);

// Of a mutex: all that are lower.
[[nodiscard]] inline blockers exclusive_rule(const std::vector<entry>& queue, std::size_t own)
{
    return {own, own >= 1 ? &queue[own - 1] : nullptr, own >= 2 ? &queue[own - 2] : nullptr};
}

} // namespace colock::protocol
