// A ZooKeeper server in memory, in the process of a test: for tests of what a program does when its lock is lost.
#ifndef COLOCK_TESTING_SERVER_HPP
#define COLOCK_TESTING_SERVER_HPP

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace colock::testing {

/// How a `server` begins.
struct server_options {
    /// How long sessions last: what clients ask for, within these limits. The server looks for expired sessions every
    /// half of `least_session`, and every two seconds at least: that is its `tickTime`, and the least `client_options::tick`.
    std::chrono::milliseconds least_session{100};
    std::chrono::milliseconds most_session{60'000}; ///< The other limit.
};

/// A ZooKeeper server that keeps everything in memory, at a free port of the loopback interface. It is the server of
/// `colock serve`, on a thread of its own, and serves clients in any language.
///
/// ```cpp
/// colock::testing::server s;
/// colock::client client{context, {.hosts = s.hosts()}};
/// co_await client.async_connect();
/// colock::mutex m{client, "/locks/orders"};
/// const auto held = co_await m.async_lock();
/// s.expire(client.session_id());
/// co_await held.async_wait_lost(); // now the program has to stop
/// ```
///
/// Needs `find_package(colock COMPONENTS testing)` and the target `colock::testing`.
///
/// Thread safety: all functions may be called on any thread. Each has had its effect when it returns; `expire()` and
/// `remove()` after `pause()` when `resume()` returns.
class server {
public:
    /// Serves when it returns. Throws `boost::system::system_error` when no port is free, `std::invalid_argument` for limits that
    /// are not positive, or in the wrong order.
    explicit server(server_options options = {});
    server(const server&) = delete;
    server& operator=(const server&) = delete;
    /// Closes all connections. What it kept is gone. In a forked child nothing happens.
    ~server();

    /// Where it serves, for `client_options::hosts`: "127.0.0.1:41235".
    [[nodiscard]] const std::string& hosts() const noexcept;

    /// Ends the session now, with its nodes. A holder that watches its node hears that the node has gone before it hears of the
    /// session, as with other servers: its lock is lost by `errc::node_deleted`. Nothing happens when there is no such session;
    /// 0, of a client that has none yet, throws `std::invalid_argument`.
    void expire(std::int64_t session);
    /// Closes all connections. Clients may connect again.
    void cut();
    /// Falls silent, with all connections open, until `resume()`. Time goes on meanwhile: sessions may have expired then.
    void pause();
    /// Goes on after `pause()`, and does what was to happen to sessions and nodes meanwhile.
    void resume();
    /// Closes new connections at once, until `refuse(false)`. Those that are there stay.
    void refuse(bool refuses = true);
    /// What clients send, and what they are sent, takes so long from now on.
    void delay(std::chrono::milliseconds each_way);
    /// Deletes the node and all below it, as an operator would. Nothing happens when there is none.
    void remove(const std::string& path);

    /// The sessions that live, connected or not.
    [[nodiscard]] std::vector<std::int64_t> sessions() const;
    /// The names of a node's children, sorted; none when there is no such node.
    [[nodiscard]] std::vector<std::string> nodes(const std::string& path) const;

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

} // namespace colock::testing

#endif
