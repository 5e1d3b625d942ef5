// ZooKeeper servers with a leader, as the real ones are: what they say, when, and in which order.
#pragma once

#include "machine.hpp"
#include "network.hpp"
#include "operation.hpp"
#include "random.hpp"
#include "stage.hpp"
#include "timeline.hpp"
#include "transaction.hpp"
#include "tree.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace colock::simulated {

// Of a server that is no simulation.
struct actual_server {
    std::chrono::nanoseconds up = std::chrono::hours{1};     // what its clock shows at first
    std::chrono::milliseconds since_1970{1'700'000'000'000}; // when that showed zero
    std::int64_t first_transaction = 0;
    std::string secret = {}; // nobody knows it: the passwords of sessions are made of it
    tree_limits most = {};
    bool knows_certificates = false; // identities of the scheme "x509"
    bool is_observed = true;         // what was decided is kept once more, for observers
};

struct ensemble_options {
    std::size_t servers = 3;
    std::chrono::milliseconds tick{2000};
    int init_limit = 10; // ticks for a follower to connect and catch up
    int sync_limit = 5;  // ticks after which a silent leader or follower is given up
    // Of a session; zero: two ticks, and twenty.
    std::chrono::milliseconds least_session{0};
    std::chrono::milliseconds most_session{0};
    // Instead of most_session, by server; those that are not there have no limit of their own.
    std::vector<std::chrono::milliseconds> most_sessions = {};
    std::chrono::milliseconds container_check{60'000};
    bool extended_types = true;     // nodes with a time to live
    bool exists_needs_read = false; // 3.8.4, 3.9.2 and later
    std::vector<int> drifts = {};   // of the servers' clocks, in millionths

    // How long a server takes to write its log.
    std::chrono::nanoseconds least_disk = std::chrono::microseconds{20};
    std::chrono::nanoseconds most_disk = std::chrono::microseconds{500};

    // Servers handle requests in threads with queues between them.
    pauses threads{5, std::chrono::milliseconds{3}};

    // So many requests in a thousand wait for too long, and are answered `throttled_op`.
    unsigned throttled = 0;

    actual_server actual = {};

    // A number that this server gives to a new session once more; 0: none.
    std::function<std::int64_t(std::size_t server)> old_session = {};
};

class front;
class server;

class ensemble {
public:
    // The servers start at once. They need some hundred milliseconds to find a leader.
    ensemble(timeline& time, network& net, random chance, ensemble_options options = {});
    ensemble(const ensemble&) = delete;
    ensemble& operator=(const ensemble&) = delete;
    ~ensemble();

    // "10.0.0.1:2181,10.0.0.2:2181,10.0.0.3:2181": `machine` by `machine`.
    [[nodiscard]] std::string hosts() const;
    [[nodiscard]] const std::string& address(std::size_t i) const;
    [[nodiscard]] std::size_t size() const noexcept;
    [[nodiscard]] const ensemble_options& options() const noexcept;

    // How the threads of all servers fall behind from now on.
    void set_pauses(pauses p) noexcept;

    // To be stopped, killed, cut off.
    [[nodiscard]] machine& machine_of(std::size_t i);
    // A new process with what is on its disk, after machine_of(i).kill().
    void start(std::size_t i);

    // The one that serves as the leader. A deposed one that has not noticed yet does not count.
    [[nodiscard]] std::optional<std::size_t> leader() const;
    // It serves clients, as the leader or as a follower.
    [[nodiscard]] bool serves(std::size_t i) const;

    // ---- what has been decided: what no election can undo

    // After the last transaction that was decided.
    [[nodiscard]] const tree& decided() const noexcept;
    [[nodiscard]] bool session_lives(std::int64_t id) const
    {
        return decided().sessions().contains(id);
    }
    // Null: nobody. It has to live as long as this does, or be taken away.
    void observe(observer* told) noexcept;

    // ---- as one server sees it

    [[nodiscard]] const tree& seen_by(std::size_t i) const;
    [[nodiscard]] std::size_t watches() const;     // of all servers, as each of them counts
    [[nodiscard]] std::size_t watch_bytes() const; // of their paths
    [[nodiscard]] std::size_t connections() const;

    // ---- operators

    // An operator's request, to the leader of now, without a session and with all permissions. False when there is no
    // leader. It is carried out a little later, if at all.
    bool by_hand(operation c);
    bool remove_by_hand(std::string path)
    {
        return by_hand({.op = opcode::remove, .path = std::move(path)});
    }
    bool set_acl_by_hand(std::string path, colock::access_control_list acl);
    // As if it had expired. False when there is no leader.
    bool end_session(std::int64_t id);
    // At all servers at once, as if so many children had been created there. Only while no request to the node is
    // under way.
    void set_counter(const std::string& path, std::int32_t next);

private:
    friend class server;
    struct impl;

    [[nodiscard]] std::size_t sum_of(std::size_t (front::*count)() const noexcept) const;

    std::unique_ptr<impl> impl_;
};

} // namespace colock::simulated
