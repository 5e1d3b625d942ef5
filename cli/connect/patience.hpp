// Commands that look once end when the servers do not come back.
#pragma once

#include <colock/client.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>

namespace colock::cli {

// Gives what the body gives. Operations of the client wait for a connection as long as it takes; when there is none for
// longer than the session time-out, or than it may take to connect, this throws failure.
[[nodiscard]] boost::asio::awaitable<int> while_connected(client& zk, const client_options& options,
                                                          boost::asio::awaitable<int> body);

// Returns when there has been no connection for so long.
[[nodiscard]] boost::asio::awaitable<void> until_lost(client& zk, std::chrono::milliseconds limit);

} // namespace colock::cli
