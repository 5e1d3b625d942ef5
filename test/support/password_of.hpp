#ifndef COLOCK_TEST_SUPPORT_PASSWORD_OF_HPP
#define COLOCK_TEST_SUPPORT_PASSWORD_OF_HPP

#include <colock/client.hpp>

#include <cstdint>
#include <string>

namespace colock::test {

/// The password of a client's session, for kill_session(). The client keeps it to itself; ZooKeeper makes it from the
/// number of the session: the first bytes of Java's Random. That it is so, kill_session() shows.
[[nodiscard]] inline std::string password_of(const client& c)
{
    constexpr std::uint64_t factor = 0x5DEECE66D;
    constexpr std::uint64_t mask = (std::uint64_t{1} << 48) - 1;
    auto state = ((static_cast<std::uint64_t>(c.session_id()) ^ 0xB3415C00) ^ factor) & mask;
    std::string password;
    while (password.size() != 16) {
        state = (state * factor + 0xB) & mask;
        const auto drawn = static_cast<std::uint32_t>(state >> 16);
        for (unsigned shift = 0; shift != 32; shift += 8) {
            password += static_cast<char>(drawn >> shift & 0xff);
        }
    }
    return password;
}

} // namespace colock::test

#endif
