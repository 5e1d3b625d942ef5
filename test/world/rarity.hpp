// What only a few worlds have. Which of them is drawn apart from all else: the other worlds are as they would be without.
// The last eight are never drawn, but chosen by their names, so that the seeds keep their histories.
#pragma once

#include "simulated.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

namespace world {

enum class rarity {
    none,
    uneven, // one server grants sessions much shorter than another, and dies when a client has come over to it
    together,    // several locks are held for long, and operators delete the node of one of them
    permissions, // an operator changes the access control lists of directories
    watches,     // clients watch nodes that an operator changes
    guards,      // most programs have session guards, and numbers of sessions repeat
    stalls,    // a follower stalls for longer than clients stay away from it, and the leader waits
    late,      // answers come late, and then nothing that the client sends arrives any more
    alone,     // a follower is cut off its leader, together with all clients
    bodies,    // users run bodies, and operators delete nodes of holders and of those that are next
    throttled, // servers answer some of all requests that they have too much to do
    writes,    // operators write to nodes of all kinds, and clients do not wait between requests
    shards,    // most programs own shards, and join a group
    rendezvous, // most programs meet at latches and at a barrier
};

[[nodiscard]] inline rarity draw_rarity(std::uint64_t seed)
{
    random chance{seed ^ 0x7261726974790000u};
    const auto drawn = chance.below(1000);
    return drawn < 50    ? rarity::uneven
           : drawn < 100 ? rarity::together
           : drawn < 150 ? rarity::watches
           : drawn < 200 ? rarity::permissions
           : drawn < 400 ? rarity::guards
                         : rarity::none;
}

// Nothing when there is none of this name.
[[nodiscard]] inline std::optional<rarity> rarity_named(std::string_view name)
{
    constexpr std::string_view names[] = {
        "none", "uneven", "together", "permissions", "watches", "guards", "stalls",
        "late", "alone",  "bodies",   "throttled",   "writes",  "shards", "rendezvous"};
    const auto* const at = std::ranges::find(names, name);
    return at == std::end(names) ? std::nullopt
                                 : std::optional{static_cast<rarity>(at - std::begin(names))};
}

} // namespace world
