// Whether contenders of other clients are in a lock's queue.
#pragma once

#include <cstdint>

namespace colock::protocol {

// As far as a holder knows.
enum class remote_contention : std::uint8_t {
    unknown,
    none, // a listing has shown no other contender, and the watch that came with it is silent
    some,
};

} // namespace colock::protocol
