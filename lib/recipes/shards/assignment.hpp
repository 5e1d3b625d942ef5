// Which member of a group shall own which shard. Sans-io: equal input gives equal output, whoever computes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colock::protocol {

using shard_index = std::uint32_t;

// The shards of one text: a range takes as much room as a number.
inline constexpr std::size_t most_shards = 100'000;

// A member of the group, as far as it matters for shards.
struct shard_taker {
    std::string name;
    // Its part of the shards is its part of the sum of all weights. 0: it leaves.
    std::uint32_t weight = 1;
    std::vector<shard_index> refused = {}; // ascending; it does not want these

    bool operator==(const shard_taker&) const = default;
};

// For each shard the name of the member that shall own it; "" is nobody.
using shard_owners = std::vector<std::string>;

// How many shards each of these members shall own: its part by weight, rounded up or down. Who owns more than its rounded down
// part now is rounded up first, so that as few shards move as possible.
[[nodiscard]] std::vector<std::size_t> fair_parts(std::span<const shard_taker> members,
                                                  std::span<const std::size_t> now,
                                                  std::size_t shards);

// A shard stays where it is, unless its owner is gone, refuses it, or has more than its part. `members` ascend by name.
[[nodiscard]] shard_owners balanced(std::span<const shard_taker> members, const shard_owners& now);

// The same, but in steps. Shards without an owner among the members are assigned at once. Others move `most` at a time: those of
// members that leave, and, when the group has `settled`, those that balance asks for.
[[nodiscard]] shard_owners next_step(std::span<const shard_taker> members, const shard_owners& now,
                                     bool settled, std::size_t most);

// What the leader writes for the others: the owners, and the shards whose new owners it has not seen yet.
struct shard_table {
    shard_owners owners;
    std::vector<shard_index> moving = {}; // ascending
};

// Lines for people and programs. Names have no control characters. Each shard stands in one line, and each line ends, so a text
// that lacks a part is refused, unless that is the line `moving`.
//
//   512 shards
//   0-127,130 worker-a
//   128-129,131-509 worker-b
//   nobody 510-511
//   moving 130,131-140
[[nodiscard]] std::string text_of(const shard_table& table);
// Nothing when it is no such text: it may be anybody's.
[[nodiscard]] std::optional<shard_table> shard_table_in(std::string_view text);

// "0-3,7": ascending numbers.
[[nodiscard]] std::string ranges_of(std::span<const shard_index> ascending);
// Nothing unless they ascend, and are less than `end`.
[[nodiscard]] std::optional<std::vector<shard_index>> numbers_in(std::string_view ranges,
                                                                 std::size_t end);

} // namespace colock::protocol
