#include "zk/entropy.hpp"

#include <unistd.h>

#include <algorithm>
#include <random>

namespace colock::zk {

// Of the system: it is asked once a lock, and the processor's own source, which std::random_device prefers, is slow. A
// process that forks does not repeat it.
void random_bytes(void* to, std::size_t count)
{
#ifndef COLOCK_PORTABLE
    if (::getentropy(to, count) == 0) {
        return;
    }
#endif
    std::random_device device; // also for an old kernel
    auto* byte = static_cast<unsigned char*>(to);
    std::generate_n(byte, count, [&] { return static_cast<unsigned char>(device()); });
}

} // namespace colock::zk
