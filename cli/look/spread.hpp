// How shards are spread over the members.
#pragma once

#include <colock/client.hpp>
#include <colock/group.hpp>
#include <colock/shards.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace colock::cli {

struct spread_member {
    member_view who;
    std::size_t owned = 0;
    std::size_t assigned = 0;
    double part = 0;    // of the shards, by weight
    std::string shards; // that it owns: "0-3,7"
};

struct spread {
    std::vector<spread_member> members;
    std::vector<shard_owner> shards; // none where there has never been a member
    std::size_t owned = 0;
    std::size_t moving = 0;
    bool is_even = false; // each member owns its part, rounded up or down
};

// Somebody else shall own it.
[[nodiscard]] bool moves(const shard_owner& s);
[[nodiscard]] bool is_member(const spread& s, const std::string& name);

// Counts. Sans-io.
[[nodiscard]] spread spread_of(std::vector<member_view> members, std::vector<shard_owner> shards);

// Throws failure, also for a path that is malformed.
[[nodiscard]] boost::asio::awaitable<spread> look_at_spread(client& zk, std::string path);

} // namespace colock::cli
