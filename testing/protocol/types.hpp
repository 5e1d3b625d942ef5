// ZooKeeper's numbers for what clients ask for.
#pragma once

#include <cstdint>

namespace colock::testing::type {

inline constexpr std::int32_t create = 1;
inline constexpr std::int32_t remove = 2;
inline constexpr std::int32_t exists = 3;
inline constexpr std::int32_t get = 4;
inline constexpr std::int32_t set = 5;
inline constexpr std::int32_t get_acl = 6;
inline constexpr std::int32_t set_acl = 7;
inline constexpr std::int32_t children = 8;
inline constexpr std::int32_t sync = 9;
inline constexpr std::int32_t ping = 11;
inline constexpr std::int32_t children2 = 12; // with the node's metadata
inline constexpr std::int32_t check = 13;
inline constexpr std::int32_t multi = 14;
inline constexpr std::int32_t create2 = 15; // with the new node's metadata
inline constexpr std::int32_t check_watches = 17;
inline constexpr std::int32_t remove_watches = 18;
inline constexpr std::int32_t create_container = 19;
inline constexpr std::int32_t create_ttl = 21;
inline constexpr std::int32_t auth = 100;
inline constexpr std::int32_t set_watches = 101;
inline constexpr std::int32_t ephemerals = 103;
inline constexpr std::int32_t all_children_number = 104;
inline constexpr std::int32_t set_watches2 = 105; // lasting ones, too
inline constexpr std::int32_t add_watch = 106;
inline constexpr std::int32_t who_am_i = 107;
inline constexpr std::int32_t error = -1; // of a step; and the end of the steps
inline constexpr std::int32_t close = -11;

} // namespace colock::testing::type
