// The kinds of locks, a row each. The library and the program read it.
#pragma once

#include <colock/layout.hpp>
#include <colock/observer.hpp>

#include <array>
#include <cstddef>
#include <string_view>

namespace colock::detail {

// Each kind is one object: two kinds are equal if their addresses are. The lock objects of a path must be of one kind.
struct lock_kind {
    std::string_view name;  // in a text: "a mutex"
    std::string_view word;  // for --kind and in JSON; empty if its nodes look like another kind's
    std::string_view words; // what the program calls it
    acquisition_kind observed_as = acquisition_kind::mutex;

    // Its nodes
    bool has_queue = true;       // else the path itself is the node
    std::size_t holders = 1;     // how many writers may hold it at the same time: one or two
    layout (*names)() = nullptr; // by default
    bool has_readers = false;    // a layout must have a marker for them
    // What tells its queue from another kind's in the same directory, if anything does.
    std::string_view prefix; // of the names that other libraries write
    std::string_view marker;
    std::string_view shared_marker;
    bool requires_prefix = false; // a name without the prefix is not that of a contender
    std::string_view child;       // a node in its directory

    // Its options
    bool takes_layout = true;            // and linger
    bool takes_revocation = true;        // cancel_when_revoked
    bool owner_data_is_identity = false; // the objects of a path must have the same

    // Its log lines
    bool expects_long_waits = false; // else a waiter on the holder's own client is suspicious
    std::string_view advice;         // to a waiter that seems to wait for itself
    std::string_view queue_of;       // it is a part of that lock, which reports for it
};

// The permits of a semaphore, in `leases`.
inline layout lease_layout()
{
    return {.prefix = "_c_", .marker = "lease-"};
}

namespace kinds {

inline constexpr lock_kind mutex{
    .name = "a mutex",
    .word = "mutex",
    .words = "mutex",
    .names = curator_layout,
    .prefix = "_c_",
    .marker = "lock-",
    .advice = ", or use recursive_mutex",
};
inline constexpr lock_kind recursive_mutex{
    .name = "a recursive_mutex",
    .observed_as = acquisition_kind::recursive_mutex,
    .names = curator_layout,
};
inline constexpr lock_kind shared_mutex{
    .name = "a shared_mutex",
    .word = "shared_mutex",
    .words = "reader/writer lock",
    .observed_as = acquisition_kind::shared_mutex,
    .names = curator_shared_layout,
    .has_readers = true,
    .prefix = "_c_",
    .marker = "__WRIT__",
    .shared_marker = "__READ__",
};
inline constexpr lock_kind election{
    .name = "an election",
    .word = "election",
    .words = "election",
    .observed_as = acquisition_kind::election,
    .names = curator_latch_layout,
    .prefix = "_c_",
    .marker = "latch-",
    .owner_data_is_identity = true,
    .expects_long_waits = true,
};
inline constexpr lock_kind semaphore{
    .name = "a semaphore",
    .word = "semaphore",
    .words = "semaphore",
    .observed_as = acquisition_kind::semaphore,
    .names = lease_layout,
    .child = "leases",
    .takes_layout = false,
    .takes_revocation = false,
};
// The mutex inside a semaphore.
inline constexpr lock_kind semaphore_queue{
    .name = "the queue of a semaphore",
    .observed_as = acquisition_kind::semaphore,
    .names = curator_layout,
    .expects_long_waits = true,
    .queue_of = "semaphore",
};
inline constexpr lock_kind single_node_mutex{
    .name = "a single_node_mutex",
    .word = "single_node",
    .words = "lock of a single node",
    .observed_as = acquisition_kind::single_node_mutex,
    .has_queue = false,
    .takes_layout = false,
};

// Of other libraries.
inline constexpr lock_kind kazoo{
    .name = "a lock of kazoo",
    .word = "kazoo",
    .words = "lock of kazoo",
    .names = kazoo_layout,
    .marker = "__lock__",
    .shared_marker = "__rlock__",
};
inline constexpr lock_kind recipe{
    .name = "a lock of ZooKeeper's recipe",
    .word = "recipe",
    .words = "lock of ZooKeeper's recipe",
    .names = zookeeper_recipe_layout,
    .prefix = "x-",
    .marker = "-",
    .requires_prefix = true,
};
// One of several in a directory.
inline constexpr lock_kind named{
    .name = "a named lock",
    .word = "named",
    .words = "named lock",
};

// No lock, but a path for which a client has one owner of what is there.
inline constexpr lock_kind shards{
    .name = "shards",
};
inline constexpr lock_kind rendezvous{
    .name = "a latch or a barrier",
};

// Those that can be told by what is on the servers. Where a name fits several, the first one counts.
inline constexpr std::array seen{
    &mutex, &shared_mutex, &election, &semaphore, &kazoo, &recipe, &named, &single_node_mutex,
};

} // namespace kinds

} // namespace colock::detail
