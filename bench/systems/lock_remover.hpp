// An operator, who deletes what says that a lock is held.
#pragma once

#include "systems/catalogue.hpp"

#include <functional>
#include <memory>
#include <string>

namespace bench {

class lock_remover {
public:
    // With a session of ZooKeeper's servers from now on. `hosts` tells where those of a kind are.
    explicit lock_remover(std::function<std::string(server_kind)> hosts);
    ~lock_remover();

    // The node, or the key, of the holder at the path. Throws peer_failed.
    void remove_holder(server_kind kind, const std::string& path);

private:
    struct session;

    std::function<std::string(server_kind)> hosts_;
    std::unique_ptr<session> session_;
};

} // namespace bench
