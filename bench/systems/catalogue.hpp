// The systems that are compared, by the names that they have in the results.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bench {

enum class server_kind { zookeeper, zookeeper_tls, etcd, redis };

struct lock_system {
    std::string_view name;
    bool own = false; // of this program, else a peer
    server_kind server = server_kind::zookeeper;
    std::string_view program = name; // which is started
    bool runs_commands = false;      // under a lock, and does not speak the peers' protocol
};

inline constexpr lock_system colock_system{"colock", true};
inline constexpr lock_system colock_tls{"colock-tls", true, server_kind::zookeeper_tls};
inline constexpr lock_system colock_guarded{"colock-guarded", true}; // with session guards
inline constexpr lock_system raw_system{"raw", true};
inline constexpr lock_system raw_tuned{"raw-tuned", true}; // that does what colock does to be quick
inline constexpr lock_system herd_children{"herd-children", true};
inline constexpr lock_system herd_holder{"herd-holder", true};

inline constexpr lock_system colock_run{"colock-run", true, server_kind::zookeeper, "colock", true};
inline constexpr lock_system etcdctl_lock{"etcdctl-lock", false, server_kind::etcd, "etcdctl",
                                          true};

// A lock as people write it, with nothing that tells its holder of a loss: an example, and no peer.
inline constexpr lock_system redis_lock{"redis-lock", false, server_kind::redis};

inline constexpr lock_system curator_system{"curator"};
inline constexpr lock_system etcd_system{"etcd", false, server_kind::etcd};

inline constexpr lock_system kazoo_system{"kazoo"};
// Whose SetPartitioner waits for a second, instead of 30 by default.
inline constexpr lock_system kazoo_quick{"kazoo-1s", false, server_kind::zookeeper, "kazoo"};

// The peers; some may not have been built.
inline constexpr lock_system peers[] = {
    {"curator"}, kazoo_system, {"go-zookeeper"}, {"zookeeper-recipe"}, etcd_system};

// What begins a process of the system, before HOSTS and SESSION_TIMEOUT_MS; empty when it cannot be
// started here. `self` is the path of this program.
[[nodiscard]] std::vector<std::string> launch_command(const lock_system& s,
                                                      const std::string& self);

} // namespace bench
