// Coroutines that run at the same time.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <vector>

namespace colock::cli {

// Runs all of them to their ends, or until one fails, which cancels the others: then throws what that one has thrown. There is
// at least one.
boost::asio::awaitable<void> run_all(std::vector<boost::asio::awaitable<void>> bodies);

} // namespace colock::cli
