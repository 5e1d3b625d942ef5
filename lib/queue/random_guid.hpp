// Guids for the names of nodes.
#pragma once

#include "names/guid.hpp"
#include "zk/entropy.hpp"

namespace colock::detail {

// Any thread.
[[nodiscard]] inline protocol::guid random_guid()
{
    protocol::guid g;
    zk::random_bytes(&g, sizeof g);
    return g;
}

} // namespace colock::detail
