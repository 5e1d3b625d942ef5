// What a scenario runs on: private servers, and the systems that take part, with their processes.
#pragma once

#include <support/zookeeper_server.hpp>

#include "compare.hpp"
#include "report.hpp"
#include "run_options.hpp"
#include "systems/catalogue.hpp"
#include "systems/peer.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace bench {

// How each ZooKeeper server of a run is started.
[[nodiscard]] colock::test::zookeeper_options server_options(const run_options& run);

struct arena_options {
    int servers = 1;
    bool proxied = false; // with a proxy before each server
    bool etcd = false;    // its servers, too
    bool redis = false;   // one of it, too
    // Each server on a host of its own, in networks of this program; then not `proxied`.
    bool apart = false;
};

// The same flags for all: in memory, not synced (or both with --fsync).
class arena {
public:
    arena(const run_options& run, arena_options options);
    ~arena();

    [[nodiscard]] std::string hosts(server_kind kind) const;
    [[nodiscard]] int servers() const { return options_.servers; }

    // For the proxies.
    void set_round_trip(std::chrono::milliseconds time);

    struct traffic {
        std::int64_t requests = 0;      // that are no pings
        std::int64_t notifications = 0; // watch events
        std::int64_t packets = 0;       // requests, answers and notifications, without pings
        std::int64_t bytes = 0;         // both ways
    };
    // Of ZooKeeper's protocol, through the proxies, so far.
    [[nodiscard]] traffic seen() const;

    // SIGKILL.
    void kill_leader(server_kind kind);

    // SIGSTOP and SIGCONT, for the only server of each kind.
    void stop_servers();
    void resume_servers();

    // With `apart`: chooses the server that leads, or one that follows, of each kind. `cut_off` cuts it off from its
    // own kind, while clients still reach it.
    void choose(bool leader);
    [[nodiscard]] std::string chosen(server_kind kind) const;
    [[nodiscard]] std::string others(server_kind kind) const;
    void cut_off();
    // Until all work together again.
    void restore();
    // A command that runs the one that is appended to it where clients reach the servers; none is needed without `apart`.
    [[nodiscard]] std::vector<std::string> launcher() const;

private:
    struct servers_and_proxies;

    arena_options options_;
    std::unique_ptr<servers_and_proxies> all_;
};

// How the sessions of a contest are spread over processes.
struct arrangement {
    const char* name;
    int processes;
};
// A system is measured in each of these, and the better one counts: a JVM with all sessions is better off than eight of
// them on two processors.
inline constexpr arrangement arrangements[] = {{"one process", 1}, {"eight processes", 8}};

// Those of the systems that can be started, connected to the servers.
class field {
public:
    struct entrant {
        lock_system system;
        std::unique_ptr<peer_group> processes;
    };

    // So many processes each. A system that is not there is left out.
    field(report& out, const run_options& run, const arena& where, std::string scenario,
          const std::vector<lock_system>& systems, int processes);

    // Carries it out for each, one after the other; who fails is left out.
    void warm_up(report& out, const std::function<void(entrant&)>& what);

    [[nodiscard]] std::vector<entrant>& entrants() { return all_; }

    // In the same order.
    [[nodiscard]] std::vector<contestant>
    contestants(const std::function<std::vector<double>(entrant&)>& slice);
    // Each entrant in each arrangement.
    [[nodiscard]] std::vector<contestant>
    contestants(const std::function<std::vector<double>(entrant&, const arrangement&)>& slice);

private:
    std::string scenario_;
    std::vector<entrant> all_;
};

// All that keep a lock for contenders: colock last.
[[nodiscard]] std::vector<lock_system> colock_and_peers(bool with_etcd = true);

// Those of a run with TLS: colock last.
[[nodiscard]] std::vector<lock_system> colock_both_ways();

// A path for one measurement: of the same length for all systems.
[[nodiscard]] std::string path_of(const lock_system& s, const std::string& what);

} // namespace bench
