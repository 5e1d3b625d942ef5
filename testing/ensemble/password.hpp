// The passwords of sessions, which each server can tell.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace colock::simulated {

// `secret`: of all servers; empty: anybody can tell them, too.
[[nodiscard]] std::array<char, 16> password_of(std::int64_t session, const std::string& secret);

} // namespace colock::simulated
