#ifndef COLOCK_TEST_SUPPORT_SESSION_IDENTITY_HPP
#define COLOCK_TEST_SUPPORT_SESSION_IDENTITY_HPP

#include <chrono>
#include <cstdint>
#include <string>

namespace colock::test {

/// What a server and a client agree on when they connect; who knows it can take the session over.
struct session_identity {
    std::int64_t id = 0;  ///< 0: none.
    std::string password; ///< 16 bytes.
    std::chrono::milliseconds timeout{0};
};

} // namespace colock::test

#endif
