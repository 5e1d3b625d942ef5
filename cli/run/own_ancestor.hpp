// A command of `colock run` that waits for a lock under which it runs is never granted it: it would wait for itself.
#pragma once

#include <colock/client.hpp>

#include "run/lock_choice.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace colock::cli {

// Throws failure when it would. `outer`: the nodes of the locks above. `own_session`: it waits already.
boost::asio::awaitable<void> refuse_own_ancestor(client& zk, const lock_choice& wanted,
                                                 const std::vector<std::string>& outer,
                                                 std::optional<std::int64_t> own_session = {});

// Returns only by throwing. A writer may have come between the look before the wait and the own place in the queue; who comes
// later stands behind.
boost::asio::awaitable<void> watch_own_ancestor(client& zk, const lock_choice& wanted,
                                                const std::vector<std::string>& outer);

} // namespace colock::cli
