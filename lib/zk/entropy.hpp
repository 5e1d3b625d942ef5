// The one source of chance of the library. The simulated world (testing/world) has its own definition.
#pragma once

#include <cstddef>
#include <cstdint>

namespace colock::zk {

// Any thread.
void random_bytes(void* to, std::size_t count);

[[nodiscard]] inline std::uint32_t random_seed()
{
    std::uint32_t seed = 0;
    random_bytes(&seed, sizeof seed);
    return seed;
}

} // namespace colock::zk
