#ifndef COLOCK_TEST_SUPPORT_REQUESTS_OF_HPP
#define COLOCK_TEST_SUPPORT_REQUESTS_OF_HPP

#include <colock/client.hpp>

#include <cstdint>

namespace colock::test {

/// The requests that the client has sent, without its heartbeats: on a slow machine those come in between.
inline std::uint64_t requests_of(const client& c)
{
    const auto s = c.stats();
    return s.requests - s.heartbeats;
}

} // namespace colock::test

#endif
