// Which permission a refused request lacked, and on which node.
#pragma once

#include "zk/call.hpp"

#include <string>
#include <string_view>

namespace colock::protocol {

// "CREATE", "READ or ADMIN".
[[nodiscard]] std::string permission_words(std::int32_t permissions, std::string_view conjunction);

// The words for `zookeeper_errc::no_auth`, of every request: what is missing, and where.
[[nodiscard]] std::string missing_permission_words(zk::opcode what, std::string_view path);

} // namespace colock::protocol
