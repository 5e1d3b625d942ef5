// Guids for the names of nodes.
#pragma once

#include "protocol/guid.hpp"

#include <unistd.h>

#include <random>

namespace colock::detail {

// Any thread. Of the system: it is asked once a lock, and the processor's own source, which std::random_device
// prefers, is slow. A process that forks does not repeat it.
[[nodiscard]] inline protocol::guid random_guid()
{
    protocol::guid g;
    if (::getentropy(&g, sizeof g) != 0) { // an old kernel
        std::random_device device;
        const auto word = [&] { return (std::uint64_t{device()} << 32) | device(); };
        g = {word(), word()};
    }
    return g;
}

} // namespace colock::detail
