// Each server by itself: whether it answers, what it is, and which sessions it grants.
#pragma once

#include <colock/client_options.hpp>

#include "connect/four_letter_word.hpp"
#include "health/findings.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace colock::cli {

struct server_facts {
    endpoint at;
    bool answers = false;
    bool takes_us = true; // by SASL
    std::string mode; // "leader", "follower", "observer", "standalone"; empty when it does not say
    std::string version;                   // "3.8.0"
    std::chrono::milliseconds shortest{0}; // sessions that it grants
    std::chrono::milliseconds longest{0};
    std::optional<std::chrono::milliseconds> tick; // as far as it tells
    bool tick_is_told = false;                     // by the server, not derived from the sessions
};

// Connects to each server of the options, and asks it. The findings are those about one server.
[[nodiscard]] boost::asio::awaitable<std::vector<server_facts>>
look_at_servers(const client_options& options, findings& found);

// Those about all servers: their roles, whether they belong together, and whether ticks and sessions suit the options.
void judge_roles(const std::vector<server_facts>& servers, findings& found);
void judge_sessions(const std::vector<server_facts>& servers, const client_options& options,
                    findings& found);

// Whether a session has so many nodes that its end may take the servers down: where one of them answers `dump`.
[[nodiscard]] boost::asio::awaitable<void>
look_at_large_sessions(const std::vector<server_facts>& servers, const client_options& options,
                       findings& found);

} // namespace colock::cli
