// Nodes that a command makes for itself, and removes.
#pragma once

#include <colock/client.hpp>

#include "names/lock_kind.hpp"
#include "names/node_path.hpp"

#include <boost/asio/awaitable.hpp>

#include <string>
#include <string_view>

namespace colock::cli {

// A name that nobody else has.
[[nodiscard]] std::string unique_name(std::string_view beginning);

// The place at or above `path` where a node disturbs no lock: one that exists, and has nodes but no contenders.
[[nodiscard]] boost::asio::awaitable<std::string> place_for_scratch(client& zk, std::string path);

// Removes the node and all below it. Tries until a time has passed, for a connection may be broken. When it is
// cancelled the nodes may stay, and it may throw.
[[nodiscard]] boost::asio::awaitable<void> remove_scratch(client& zk, std::string path);

} // namespace colock::cli
