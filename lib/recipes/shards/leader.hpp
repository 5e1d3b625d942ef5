// What the leader of the members writes, and when. Sans-io.
#pragma once

#include "recipes/shards/assignment.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace colock::protocol {

// Feeds on what is written, who the members are, and which moves have succeeded. A leader is a member; another one may have been
// leader before, and goes on from what that one has written.
class shard_leader {
public:
    using time_point = std::chrono::nanoseconds; // of a clock that does not go back

    struct rules {
        std::chrono::nanoseconds
            settle; // after a member has come or gone, before owned shards move
        std::chrono::nanoseconds prepare; // a move counts as one of moves_at_a_time for so long
        std::chrono::nanoseconds take;    // who has not got a shard by then loses it
        std::size_t moves_at_a_time;
    };

    // `written`: for as many shards as there are.
    shard_leader(const rules& r, shard_table written, time_point now);

    // Ascending by name.
    void members(std::vector<shard_taker> all, time_point now);
    // The owner of a shard that moves holds its lock.
    void taken(shard_index shard);

    // What has to be written now, if anything. Counts as written from then on.
    [[nodiscard]] std::optional<shard_table> decide(time_point now);
    // When to ask again after `now`, if nothing happens until then.
    [[nodiscard]] time_point next(time_point now) const;

    [[nodiscard]] const shard_table& table() const noexcept { return table_; }

private:
    struct move {
        time_point since;
        bool planned; // the shard had an owner
    };

    [[nodiscard]] std::size_t moves_under_way(time_point now) const;
    void give_up_late_moves(time_point now);
    [[nodiscard]] std::vector<shard_taker> takers() const;

    rules rules_;
    shard_table table_;
    std::vector<shard_taker> members_;
    time_point changed_; // when the members did
    std::map<shard_index, move> moves_;
    // Members that had their time to take a shard, and shall not get it again until then.
    std::map<std::pair<shard_index, std::string>, time_point> late_;
};

} // namespace colock::protocol
