// All that `colock why` finds out: the locks, those that their holders have to do with, and what the servers know.
#pragma once

#include "look/culprit.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace colock::cli {

// Locks that are looked at beside those asked for, because a holder waits there, or runs under a node there.
inline constexpr std::size_t most_followed = 8;

struct diagnosis {
    std::vector<seen_lock> locks;
    std::size_t asked_for = 0; // the first ones; the others were followed
    session_facts facts;
    culprit found;
    std::uint64_t reads = 0; // that were sent
};

struct diagnosis_options {
    std::vector<std::string> paths;
    std::optional<seen_kind> expected;
    std::string admin_port;
};

// Looks a second time when a holder seems dead. Sends (2 * paths + most_followed) * most_requests_a_path + 1 requests at most.
// Shards cost more, at each look: two requests for a shard, one for a member, and looks at four locks.
[[nodiscard]] boost::asio::awaitable<diagnosis> diagnose(client& zk, const client_options& options,
                                                         const diagnosis_options& what);

} // namespace colock::cli
