// Which permission a refused request lacked, and on which node.
#pragma once

#include "zk/call.hpp"

#include <string>
#include <string_view>

namespace colock::protocol {

struct needed_permission {
    std::int32_t any_of; // bits of `permission`
    std::string_view node;
};

// What the servers ask for who does this with the node at a path. `node` is a part of `path`.
[[nodiscard]] needed_permission permission_for(zk::opcode what, std::string_view path) noexcept;

// "CREATE", "READ or ADMIN".
[[nodiscard]] std::string permission_words(std::int32_t permissions, std::string_view conjunction);

// The words for `zookeeper_errc::no_auth`, of every request: what is missing, and where.
[[nodiscard]] std::string missing_permission_words(zk::opcode what, std::string_view path);

} // namespace colock::protocol
