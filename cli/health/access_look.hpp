// Whether strangers can disturb the locks at or below a path: docs/security.md.
#pragma once

#include <colock/client.hpp>

#include "health/findings.hpp"

#include <boost/asio/awaitable.hpp>

#include <string>

namespace colock::cli {

[[nodiscard]] boost::asio::awaitable<void> look_at_access(client& zk, std::string path,
                                                          findings& found);

} // namespace colock::cli
