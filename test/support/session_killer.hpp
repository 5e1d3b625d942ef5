#ifndef COLOCK_TEST_SUPPORT_SESSION_KILLER_HPP
#define COLOCK_TEST_SUPPORT_SESSION_KILLER_HPP

#include "session_identity.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace colock::test {

/// Ends somebody's session on the server, as an expiry would; returns empty when that is done.
/**
 * Attaches to the session with its id and password (16 bytes) over a connection of its own and
 * closes it. When the function returns, the server that was asked has removed the session and its
 * ephemeral nodes. The owner is disconnected, and told "expired" when it connects again.
 *
 * Returns the reason when the server does not know the session or refuses the password (it gives
 * the same answer to both). Throws `std::runtime_error` when no server of `connect_string` answers
 * within `timeout`.
 */
[[nodiscard]] std::optional<std::string>
kill_session(std::string_view connect_string, std::int64_t session_id, std::string_view password,
             std::chrono::milliseconds timeout = std::chrono::seconds(10));

[[nodiscard]] inline std::optional<std::string>
kill_session(std::string_view connect_string, session_identity const& victim,
             std::chrono::milliseconds timeout = std::chrono::seconds(10))
{
    return kill_session(connect_string, victim.id, victim.password, timeout);
}

} // namespace colock::test

#endif
