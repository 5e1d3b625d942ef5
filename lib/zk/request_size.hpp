// How large a request is on the wire.
#pragma once

#include "zk/call.hpp"

#include <cstddef>

namespace colock::zk {

// The bytes that the C client writes after the length of the request. `chroot` is the length of what it puts before
// each path; 0 when there is no chroot.
[[nodiscard]] std::size_t request_size(const call& c, std::size_t chroot) noexcept;

} // namespace colock::zk
