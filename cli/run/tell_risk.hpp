// Says that no server answers, while something is held or waited for.
#pragma once

#include <colock/client.hpp>

#include "run/events.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <functional>
#include <optional>

namespace colock::cli {

// For how long what is held is safe; none: nothing is held.
using time_left = std::function<std::optional<std::chrono::steady_clock::duration>()>;

// Never returns. `remaining` has a name where this is called: GCC 12 destroys a temporary one twice.
boost::asio::awaitable<void> tell_risk(client& zk, events& say, const time_left& remaining);

// The same, of a wait. Never returns.
boost::asio::awaitable<void> tell_outages(client& zk, events& say);

} // namespace colock::cli
