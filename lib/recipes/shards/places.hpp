// The nodes of a set of shards.
#pragma once

#include <colock/shards.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace colock::detail {

// Below the path of the constructor.
struct shard_paths {
    std::string members;    // a group
    std::string leader;     // an election
    std::string use;        // a shared_mutex: held by all members of one definition
    std::string definition; // the number or the names of the shards
    std::string assignment; // protocol::shard_table
    std::string locks;      // a mutex for each shard
};
[[nodiscard]] shard_paths shard_paths_of(const std::string& path);

[[nodiscard]] std::vector<shard_id> shards_of(const shards_options& o);

// What one run is made of. Immutable.
struct shards_config {
    explicit shards_config(const std::string& root, const shards_options& o);

    const shards_options options;
    const std::string path;
    const shard_paths paths;
    const std::vector<shard_id> shards;
    const std::string name; // of the member
};
[[nodiscard]] std::string lock_path_of(const shard_paths& p, const shard_id& shard);
// What is written at `definition`.
[[nodiscard]] std::string definition_of(const shards_options& o);
// The number and the names in such a text; neither of them when it is none. It may be anybody's.
[[nodiscard]] shards_options defined_in(std::string_view text);
// "" when the options make sense, else what is wrong with them.
[[nodiscard]] std::string fault_of(const shards_options& o);
// By default host and process.
[[nodiscard]] std::string member_of(const shards_options& o);

} // namespace colock::detail
