// Guids for the names of nodes.
#pragma once

#include "protocol/guid.hpp"

#include <random>

namespace colock::detail {

// Any thread.
[[nodiscard]] inline protocol::guid random_guid()
{
    thread_local std::random_device device;
    const auto word = [] { return (std::uint64_t{device()} << 32) | device(); };
    return {word(), word()};
}

} // namespace colock::detail
