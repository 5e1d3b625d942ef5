// A node that says whether the work may go on: `--enabled-by`.
#pragma once

#include <colock/client.hpp>
#include <colock/watch.hpp>

#include <boost/asio/awaitable.hpp>

#include <string>
#include <string_view>

namespace colock::cli {

// Whether a node with this text says "on": with any text but off, false, no and 0, in whatever case, with or without blanks
// around it.
[[nodiscard]] bool says_on(std::string_view text);

struct switch_position {
    bool on = false;
    std::string why; // it is off, for people
    watch changes;   // of the position
};

// On when the node is there and says so. Throws failure when it may not be read. With silent servers it takes as long as they
// are silent.
[[nodiscard]] boost::asio::awaitable<switch_position> look_at_switch(client& zk, std::string path);

// Gives why it is off. A node that may not be read any more is off.
[[nodiscard]] boost::asio::awaitable<std::string> wait_until_off(client& zk, std::string path);
// Throws failure as look_at_switch() does.
[[nodiscard]] boost::asio::awaitable<void> wait_until_on(client& zk, std::string path);

} // namespace colock::cli
