#include "session_killer.hpp"

#include "wire_connection.hpp"

#include <cstdio>
#include <stdexcept>

namespace colock::test {

namespace {

std::optional<std::string> kill_at(host_and_port const& where, session_identity const& wanted,
                                   time_limit until)
{
    wire_connection connection(where, wanted, until);
    if (connection.refused()) {
        char id[32];
        std::snprintf(id, sizeof id, "0x%llx", static_cast<unsigned long long>(wanted.id));
        return where.text() + ": no session " + id + " with this password (unknown or expired)";
    }
    connection.call(opcode::close, {}, until);
    return std::nullopt;
}

} // namespace

std::optional<std::string> kill_session(std::string_view connect_string, std::int64_t session_id,
                                        std::string_view password,
                                        std::chrono::milliseconds timeout)
{
    if (session_id == 0 || password.size() != 16)
        throw std::invalid_argument("kill_session: needs a session id other than 0 and a password "
                                    "of 16 bytes, not of " +
                                    std::to_string(password.size()));
    // The time-out wanted is at most lowered by the server, so an unlucky end of this function
    // cannot make the session live longer than its owner chose by much.
    session_identity const wanted{session_id, std::string(password), std::chrono::seconds(10)};
    auto const until = after(timeout);
    std::string reasons;
    for (auto const& host : parse_hosts(connect_string)) {
        try {
            return kill_at(host, wanted, until);
        } catch (std::runtime_error const& failure) {
            reasons += reasons.empty() ? failure.what() : std::string("; ") + failure.what();
        }
    }
    throw std::runtime_error("kill_session: " + reasons);
}

} // namespace colock::test
