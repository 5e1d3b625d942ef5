// What the servers know of sessions, which no request of a client tells: who is connected, and since when it is silent.
#pragma once

#include <colock/client.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace colock::cli {

// The connection of a session to one server.
struct session_connection {
    std::string server;  // "host:port"
    std::string address; // of the client, as the server sees it
    std::chrono::milliseconds timeout{0};
    // The server's clock when it last answered the client, which has no known beginning.
    std::optional<std::int64_t> last_heard;
    // How long the server has not heard of it. Empty when it cannot be known.
    std::optional<std::chrono::milliseconds> silent;
};

struct session_facts {
    std::map<std::int64_t, session_connection> connected;
    // The ephemeral nodes of each session, chroot left out; empty when no server tells.
    std::map<std::int64_t, std::vector<std::string>> nodes;
    // All servers of the ensemble have told their connections: a session that is not among them has none.
    bool complete = false;
    std::size_t servers = 0;   // that were asked
    std::size_t questions = 0; // that they were asked, by four-letter words or their AdminServers
    std::vector<std::string> notes; // what could not be known, and which setting would tell
};

struct session_questions {
    client_options options; // of the client that asks: servers, chroot, TLS
    std::string admin_port; // empty: the AdminServer is not asked
    std::chrono::milliseconds limit = std::chrono::seconds{1}; // a question
};

// Asks each server for its connections, and the first one that tells them for the nodes of all sessions; the AdminServer
// where a word is not answered. Connects to a server to which `zk` is not connected with a session of its own, for a
// moment, when one of the sessions is there: only a client that is heard now tells what its clock says now.
[[nodiscard]] boost::asio::awaitable<session_facts>
ask_sessions(client& zk, const session_questions& how, const std::set<std::int64_t>& wanted);

// What the answers say; hostile text is left out. For tests, and for ask_sessions.
[[nodiscard]] std::map<std::int64_t, session_connection> connections_in_cons(std::string_view text);
// How many servers the node /zookeeper/config lists. One that stands alone lists none, and is one.
[[nodiscard]] std::size_t servers_in_config(std::string_view text);
// The answers of the AdminServer to "connections" and "dump". Empty when they are not what they should be.
[[nodiscard]] std::optional<std::map<std::int64_t, session_connection>>
connections_in_json(std::string_view text);
[[nodiscard]] std::optional<std::map<std::int64_t, std::vector<std::string>>>
nodes_in_json(std::string_view text);

} // namespace colock::cli
