// The requests that both sides of a conversation send to ZooKeeper, drawn from a seed.
#pragma once

#include "side.hpp"
#include "transcript.hpp"

#include <cstddef>
#include <cstdint>

namespace world::conversation {

// Everything that requests can be about, in `steps` steps.
transcript anything(side& to, std::uint64_t seed, std::size_t steps);

// Directories that begin with these counters: how their children are numbered up to the end, and behind it.
[[nodiscard]] counters near_the_end();
transcript the_end_of_the_numbers(side& to, std::uint64_t seed);

// Anything, while an operator changes access control lists.
transcript lists_that_change(side& to, std::uint64_t seed, std::size_t steps);
// Containers and nodes with a time to live, where the servers look for empty ones all the time.
transcript what_the_server_removes(side& to);

} // namespace world::conversation
