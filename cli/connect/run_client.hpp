// A command that asks the servers something, from the connection to its end.
#pragma once

#include <colock/client.hpp>

#include "connect/server_options.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>

namespace colock::cli {

// Throws failure when there is no connection.
[[nodiscard]] boost::asio::awaitable<void> connect(client& zk);

// Connects, runs `body`, ends the session, and gives what the body gave. Throws failure when there is no connection, and
// what the body throws. SIGINT and SIGTERM cancel the body; the status is that of the signal then.
int run_client(const client_options& options,
               std::function<boost::asio::awaitable<int>(client& zk)> body);

} // namespace colock::cli
