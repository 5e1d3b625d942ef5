// A request to ZooKeeper, and what comes back, as data.
#pragma once

#include <colock/node.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace colock::zk {

enum class opcode {
    create,
    remove,
    exists,
    get,
    set,
    children,
    sync,
    multi,
    forget_watches, // frees every watch of the session on a path
};

enum class watch_kind { data, children };

// A request, as data. `path` has been validated.
struct call {
    opcode op = opcode::get;
    std::string path = {};
    std::string data = {};
    bool watch = false;
    watch_kind kind = watch_kind::data; // of forget_watches
    std::int32_t version = any_version;
    create_mode mode = create_mode::persistent;
    std::chrono::milliseconds ttl{};
    access_control_list acl = {};
    std::vector<transaction_op> ops = {};

    // Whether it may change anything on the servers.
    [[nodiscard]] bool is_write() const noexcept
    {
        return op == opcode::create || op == opcode::remove || op == opcode::set ||
               (op == opcode::multi && std::ranges::any_of(ops, [](const transaction_op& each) {
                    return each.type != transaction_op::kind::check;
                }));
    }
};

// What came back. Which members have a meaning depends on the request.
struct reply {
    error_code error = {};
    std::string text = {}; // path of a create, data of a get
    node_stat stat = {};
    std::vector<std::string> names = {};
    std::vector<transaction_result> results = {};
};

} // namespace colock::zk
