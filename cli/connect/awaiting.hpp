// A token and two waits for the coroutines of the program.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>

namespace colock::cli {

// For an operation whose error the caller looks at: it comes as the first of a tuple, and nothing is thrown.
inline constexpr auto no_throw = boost::asio::as_tuple(boost::asio::use_awaitable);

[[nodiscard]] boost::asio::awaitable<void> pause(std::chrono::nanoseconds time);
// Until it is cancelled.
[[nodiscard]] boost::asio::awaitable<void> wait_for_ever();

} // namespace colock::cli
