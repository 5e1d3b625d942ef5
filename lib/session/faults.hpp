// Finds faults in what a user has given, before anything is sent.
#pragma once

#include <colock/client_options.hpp>
#include <colock/error.hpp>

#include "session/request.hpp"

#include <chrono>
#include <cstddef>
#include <string>

namespace colock::detail {

struct fault {
    error_code error; // none: nothing is wrong
    std::string detail;
};

// The protocol carries milliseconds in 32 bits.
inline constexpr std::chrono::milliseconds longest_time{0x7fffffff};

[[nodiscard]] fault fault_of(const client_options& o);
// Why no server could take it.
[[nodiscard]] fault fault_of(const credential& c, std::size_t max_request_size);
// `chroot`: the length of what the servers have before each path; `most`: the bytes of a request.
[[nodiscard]] fault fault_of(const request& r, std::size_t chroot, std::size_t most);

} // namespace colock::detail
