// SHA-1, by which ZooKeeper keeps the passwords of its users.
#pragma once

#include <string>

namespace colock::simulated {

[[nodiscard]] std::string sha1_of(const std::string& bytes); // 20 bytes

} // namespace colock::simulated
