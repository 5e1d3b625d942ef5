// A body that cleans up, however it ends.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <functional>

namespace colock::cli {

// Runs the body and gives its status, or throws what it throws. SIGINT, SIGTERM and SIGHUP cancel it, and the status is that of
// the signal then; it cleans up behind `keep_on()`. A signal a second
// later, or more, ends it at once.
int run_until_signal(std::function<boost::asio::awaitable<int>()> body);

// From here on no signal cancels what the body waits for: to remove what it has made.
[[nodiscard]] boost::asio::awaitable<void> keep_on();

} // namespace colock::cli
