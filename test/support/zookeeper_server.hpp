#ifndef COLOCK_TEST_SUPPORT_ZOOKEEPER_SERVER_HPP
#define COLOCK_TEST_SUPPORT_ZOOKEEPER_SERVER_HPP

#include "certificates.hpp"

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test {

struct zookeeper_options {
    /// ZooKeeper's unit of time. Sessions last between 2 and 20 of them (see below), and a
    /// session's end is noticed up to one tick late.
    std::chrono::milliseconds tick_time{2000};
    std::optional<std::chrono::milliseconds> min_session_timeout = {};
    std::optional<std::chrono::milliseconds> max_session_timeout = {};

    /// Wait for the disk at each write, with the data on a disk; otherwise neither.
    bool force_sync = false;

    /// Transactions between snapshots.
    std::optional<long> snap_count = {};

    /// How often empty containers are looked for (60 s when not given).
    std::optional<std::chrono::milliseconds> container_check_interval = {};

    /// Nodes with a time to live.
    bool extended_types = false;

    /// Ensemble: ticks after which a silent leader or follower is given up; by default 5, or more
    /// with a small tick, so that it is at least 3 s.
    std::optional<int> sync_limit = {};

    /// Let the JVM compile for speed (benchmarks) instead of for a fast start.
    bool optimising_jvm = false;

    /// With an authority the server speaks TLS, too, at a port of its own beside the plain one, with
    /// a certificate for 127.0.0.1 (or its place in a network) and localhost. Clients there need a
    /// certificate of the same authority.
    std::shared_ptr<certificate_authority const> tls = {};

    /// With `tls`: the certificate that the server shows instead.
    std::optional<certificate> tls_certificate = {};

    /// Clients are served by Netty, as they are with TLS; otherwise by Java's own NIO.
    bool netty = false;

    std::vector<std::string> config_lines = {};
    std::vector<std::string> jvm_flags = {};

    std::chrono::milliseconds start_timeout{60'000};
};

/// Where a member of an ensemble lives, when it is not this machine's loopback interface.
struct server_place {
    /// Numeric addresses at which it serves clients, and talks to the other members.
    std::string client_host = "127.0.0.1";
    std::string peer_host = "127.0.0.1";

    /// A command that runs the one that is appended to it, there.
    std::vector<std::string> launcher = {};
};

/// One client's connection, as the server sees it.
struct server_connection {
    std::string address; ///< The client's "host:port".
    std::int64_t session = 0;
    std::chrono::milliseconds timeout{0};
    std::int64_t queued = 0, received = 0, sent = 0;
    std::string last_operation;
};

/// A real ZooKeeper server in a process of its own, on a free loopback port, with its own data.
/**
 * The constructor starts it and returns when it serves clients. The destructor kills it, stopped or
 * not, and removes its data directory; a server does not outlive this process either (see
 * `subprocess`). Port and data stay the same over kill and start.
 *
 * Needs a JRE and ZooKeeper's jar: Debian's default-jre-headless and libzookeeper-java. Elsewhere
 * set COLOCK_TEST_ZOOKEEPER_CLASSPATH, and JAVA_HOME when `java` is not in PATH. With TLS it needs
 * Debian's libnetty-java and the program `openssl`, too.
 *
 * Functions throw `std::runtime_error`; when the server failed, with the end of its log. Different
 * threads may ask it (four-letter words) at the same time, but not start or end it meanwhile.
 */
class zookeeper_server {
public:
    /// What makes a server a member of an ensemble; of no interest to tests.
    struct membership;

    explicit zookeeper_server(zookeeper_options options = {});
    zookeeper_server(zookeeper_options options, membership const& place);
    zookeeper_server(zookeeper_server const&) = delete;
    zookeeper_server& operator=(zookeeper_server const&) = delete;
    ~zookeeper_server();

    std::uint16_t port() const;
    std::string connect_string() const;

    /// Where it speaks TLS; it does not without `zookeeper_options::tls`.
    std::uint16_t secure_port() const;
    std::string secure_connect_string() const;

    std::string const& directory() const;

    /// The server's process; -1 when there is none.
    pid_t pid() const;
    bool running() const;

    /// Starts the process again after `kill` or `shutdown`, and waits until it serves.
    void start();

    /// The same without waiting. A member of an ensemble serves only when a majority runs.
    void launch();
    void wait_until_serving();

    /// SIGKILL: no goodbye to anybody. Waits until the process is gone.
    void kill();

    /// SIGTERM, and waits until the process is gone (SIGKILL after 5 s).
    void shutdown();

    /// `kill` and `start`.
    void restart();

    /// SIGSTOP and SIGCONT: the server falls silent with its connections open.
    void stop_process();
    void continue_process();

    bool stopped() const;

    /// Whether it answers and serves clients now.
    bool serving(std::chrono::milliseconds timeout = std::chrono::milliseconds(1000)) const;

    /// "standalone", "leader", "follower"; empty when it does not serve or does not answer.
    std::string mode(std::chrono::milliseconds timeout = std::chrono::milliseconds(1000)) const;

    /// Sends one of the administrative commands ("mntr", "srvr", ...) and returns the whole answer.
    std::string
    four_letter_word(std::string_view word,
                     std::chrono::milliseconds timeout = std::chrono::milliseconds(10'000)) const;

    std::map<std::string, std::string> mntr() const;

    /// Requests received from clients since the process was started, pings included. The
    /// administrative commands of this object, which the server counts too, are subtracted.
    std::int64_t packets_received() const;

    std::int64_t watch_count() const;
    std::int64_t node_count() const;

    /// Which sessions watch which paths on this server ("wchp").
    std::map<std::string, std::set<std::int64_t>> watches() const;

    /// The connections of clients at both ports; administrative ones are left out ("cons").
    std::vector<server_connection> connections() const;

    /// The sessions that live, connected or not. In an ensemble only the leader knows all ("dump").
    std::set<std::int64_t> sessions() const;

    /// Ephemeral nodes by their owners ("dump").
    std::map<std::int64_t, std::set<std::string>> ephemerals() const;

    /// The end of the server's log.
    std::string log_tail(std::size_t lines = 40) const;

private:
    struct impl;

    bool serving_over_tls(std::chrono::milliseconds timeout) const;

    std::unique_ptr<impl> impl_;
};

/// An ensemble of real ZooKeeper servers, on loopback ports unless told (see `private_network`).
/**
 * The constructor starts all and returns when a leader is elected and every member serves. Members
 * are killed, stopped and started one by one through `operator[]`.
 */
class zookeeper_ensemble {
public:
    explicit zookeeper_ensemble(zookeeper_options options = {}, std::size_t size = 3);
    zookeeper_ensemble(zookeeper_options options, std::vector<server_place> places);
    ~zookeeper_ensemble();

    std::size_t size() const noexcept { return members_.size(); }
    zookeeper_server& operator[](std::size_t index) { return *members_[index]; }
    zookeeper_server const& operator[](std::size_t index) const { return *members_[index]; }

    /// All members, in the order of their indices.
    std::string connect_string() const;
    std::string secure_connect_string() const;

    /// The index of the member that leads; empty while none does. Members that are stopped do not
    /// count; one that was continued may take itself for the leader until it hears of the new one.
    std::optional<std::size_t> leader() const;

    /// The members that follow.
    std::vector<std::size_t> followers() const;

    /// Waits until there is a leader, and returns its index.
    std::size_t wait_for_leader(std::chrono::milliseconds timeout = std::chrono::seconds(60)) const;

    /// Waits until exactly one member leads and all others follow.
    void wait_until_complete(std::chrono::milliseconds timeout = std::chrono::seconds(60)) const;

    /// Starts a further server, has the ensemble take it in and the one at `index` out, and waits until it follows or
    /// leads. Returns its index; the other one still runs. Needs `reconfigurable()`.
    std::size_t replace(std::size_t index);
    static zookeeper_options reconfigurable(zookeeper_options options = {});

    /// `start()` for members without a process, `wait_until_complete()`.
    void start_missing();

private:
    struct reservations;

    void launch_all();

    zookeeper_options options_;
    std::unique_ptr<reservations> ports_;
    std::vector<std::unique_ptr<zookeeper_server>> members_;
};

} // namespace colock::test

#endif
