// Chance for the library: that of the process, which the seed has given it.
#include "zk/entropy.hpp"

#include "../process.hpp"

#include <cstring>

namespace colock::zk {

void random_bytes(void* to, std::size_t count)
{
    auto* at = static_cast<unsigned char*>(to);
    while (count != 0) {
        const auto word = world::process::current()->chance()();
        const auto part = std::min(count, sizeof word);
        std::memcpy(at, &word, part);
        at += part;
        count -= part;
    }
}

} // namespace colock::zk
