// Processes of this colock and of the last commit of 0.1, at one server.
#pragma once

#include <support/admin_session.hpp>
#include <support/zookeeper_server.hpp>

#include "peer_process.hpp"

#include <list>
#include <string>
#include <utility>
#include <vector>

namespace colock::test {

struct both_versions {
    explicit both_versions(zookeeper_options options = {}) : server{std::move(options)}
    {
        admin().create_path("/locks");
    }

    // For a moment: it sends no heartbeats.
    admin_session admin() const { return admin_session{server.connect_string()}; }

    peer& ours()
    {
        return processes.emplace_back(std::vector<std::string>{COLOCK_PEER, "curator"},
                                      server.connect_string());
    }
    peer& earlier() { return earlier_at(server.connect_string()); }
    peer& earlier_at(const std::string& hosts)
    {
        return processes.emplace_back(
            std::vector<std::string>{std::string{COLOCK_PEERS} + "/colock-0.1"}, hosts);
    }

    zookeeper_server server;
    std::list<peer> processes;
};

} // namespace colock::test
