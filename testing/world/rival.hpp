// A program that takes a mutex as Curator does, and holds it again and again.
#pragma once

#include "ensemble/random.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <string>

namespace colock::simulated {

struct rivalry {
    std::string path;
    std::chrono::milliseconds hold;
    random chance;
    bool& holds; // while it believes that
};

[[nodiscard]] boost::asio::awaitable<void> rival(boost::asio::io_context& context,
                                                 std::string hosts, rivalry over);

} // namespace colock::simulated
