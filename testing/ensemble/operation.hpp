// A request to ZooKeeper, and what comes back, as data.
#pragma once

#include <colock/node.hpp>

#include "status.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace world {

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
};

enum class watch_kind { data, children };

struct operation {
    opcode op = opcode::get;
    std::string path = {};
    std::string data = {};
    bool watch = false;
    watch_kind kind = watch_kind::data;         // of forget_watches
    std::int32_t version = colock::any_version; // of set_acl: that of the list
    colock::create_mode mode = colock::create_mode::persistent;
    std::chrono::milliseconds ttl{};
    colock::access_control_list acl = {};
    std::vector<colock::transaction_op> ops = {};
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
    colock::access_control_list acl = {};
    std::vector<step_result> results = {};
};

struct session_identity {
    std::int64_t id = 0;
    std::array<char, 16> password{};
};

} // namespace world
