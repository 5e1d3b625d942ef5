// What a session shows: how long requests take, whether containers are there, and what time it is.
#pragma once

#include <colock/client.hpp>

#include "health/findings.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace colock::cli {

struct quantiles {
    std::chrono::nanoseconds median{0};
    std::chrono::nanoseconds p99{0};
};
// Of one time at least.
[[nodiscard]] quantiles quantiles_of(std::vector<std::chrono::nanoseconds> times);

// "0.62 ms", "14 us".
[[nodiscard]] std::string precisely(std::chrono::nanoseconds time);

// How long one read, or one write, of the node takes.
[[nodiscard]] boost::asio::awaitable<std::chrono::nanoseconds> time_of_read(client& zk,
                                                                            std::string path);
[[nodiscard]] boost::asio::awaitable<std::chrono::nanoseconds> time_of_write(client& zk,
                                                                             std::string path);

// Makes nodes at or above `path`, and removes them, also when it is cancelled.
[[nodiscard]] boost::asio::awaitable<void> look_at_session(client& zk, std::string path,
                                                           findings& found);

} // namespace colock::cli
