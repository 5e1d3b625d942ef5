// Nodes that look as if nobody needed them any more.
#pragma once

#include <colock/client.hpp>

#include "health/findings.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <string>

namespace colock::cli {

// Looks at `path` and what is below it, at a bounded number of nodes. `old`: from which age on a node looks left over.
[[nodiscard]] boost::asio::awaitable<void>
look_for_leftovers(client& zk, std::string path, std::chrono::milliseconds old, findings& found);

} // namespace colock::cli
