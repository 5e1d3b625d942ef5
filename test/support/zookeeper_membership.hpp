// What a server of an ensemble has to know of the others, for the two files that start servers.
#pragma once

#include "loopback_port.hpp"
#include "zookeeper_server.hpp"

#include <chrono>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace colock::test {

struct zookeeper_server::membership {
    struct ports {
        loopback_port client, secure, quorum, election;
    };
    std::size_t number;                ///< From 1.
    std::vector<ports> const& members; ///< Of the whole ensemble; the reservations are the others'.
    std::vector<server_place> const& places;
    std::set<std::size_t> const& gone; ///< Numbers of those that belong to it no longer.

    /// What the others have to know of a member: "server.1=host:quorum:election".
    std::string line(std::size_t of) const
    {
        auto const& its = members[of - 1];
        return "server." + std::to_string(of) + "=" + places[of - 1].peer_host + ":" +
               std::to_string(its.quorum.number()) + ":" + std::to_string(its.election.number());
    }
};

/// A port may be taken by another program between the look for a free one and its use.
inline constexpr int start_attempts = 5;

inline std::string number(std::chrono::milliseconds duration)
{
    return std::to_string(duration.count());
}

} // namespace colock::test
