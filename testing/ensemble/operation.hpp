// A request to ZooKeeper, and what comes back, as data.
#pragma once

#include <colock/node.hpp>

#include "status.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace colock::simulated {

enum class opcode {
    create,
    remove,
    exists,
    get,
    set,
    children,
    sync,
    multi,
    forget_watches,
    get_acl,
    set_acl,

    // From here on, what the library does not ask for.
    check, // a transaction of one step, without being one
    add_watch,
    look_for_watches, // whether there are any
    restore_watches,  // those of a former connection
    ephemerals,       // of the session; below the path
    descendants,      // how many
    identities,       // of whoever asks
    unknown,
};

enum class watch_kind {
    data,
    children,
    lasting,   // until it is removed: of the node and its children
    recursive, // the same, of the node and all below it
    any,
};

// What a client watched at another server, and up to where it had seen what happened.
struct former_watches {
    std::int64_t seen = 0; // zxid
    std::vector<std::string> data = {};
    std::vector<std::string> absence = {}; // of nodes
    std::vector<std::string> children = {};
    std::vector<std::string> lasting = {};
    std::vector<std::string> recursive = {};
};

struct operation {
    opcode op = opcode::get;
    std::string path = {};
    std::string data = {};
    bool watch = false;
    watch_kind kind = watch_kind::data;
    std::int32_t version = colock::any_version; // of set_acl: that of the list
    colock::create_mode mode = colock::create_mode::persistent;
    std::chrono::milliseconds ttl{};
    colock::access_control_list acl = {};
    std::vector<colock::transaction_op> ops = {};
    std::shared_ptr<const former_watches> former = {}; // of restore_watches
};

// Of one step of a transaction.
struct step_result {
    status error = {};
    std::string path = {};
    colock::node_stat stat = {};
};

// Which members have a meaning depends on the request.
struct response {
    status error = {};
    std::string text = {}; // path of a create, data of a get
    colock::node_stat stat = {};
    std::vector<std::string> names = {};
    colock::access_control_list acl = {}; // identities have no permissions
    std::int64_t count = 0;
    std::vector<step_result> results = {};
};

struct session_identity {
    std::int64_t id = 0;
    std::array<char, 16> password{};
};

} // namespace colock::simulated
