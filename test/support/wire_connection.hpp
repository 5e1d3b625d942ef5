#ifndef COLOCK_TEST_SUPPORT_WIRE_CONNECTION_HPP
#define COLOCK_TEST_SUPPORT_WIRE_CONNECTION_HPP

#include "blocking_socket.hpp"
#include "opcode.hpp"
#include "session_identity.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace colock::test {

/// One connection to a ZooKeeper server, at the level of its protocol.
/**
 * One request at a time, blocking. Errors of the connection are `std::runtime_error`; errors that
 * the server reports are in the reply.
 */
class wire_connection {
public:
    struct reply {
        std::int32_t error = 0; ///< ZooKeeper's code, 0 for success.
        std::string body;
    };

    /// Connects and asks for a session: the one in `wanted`, or a new one when `wanted.id` is 0.
    wire_connection(host_and_port const& where, session_identity const& wanted, time_limit until);

    session_identity const& session() const noexcept { return session_; }

    /// Whether the server does not know the session that was wanted, or has expired it.
    bool refused() const noexcept { return session_.id == 0; }

    /// Sends a request and waits for its reply; watch events on the way are dropped.
    reply call(opcode which, std::string_view body, time_limit until);

    /// Whether the connection has broken, as far as can be told without sending anything.
    bool looks_broken() const { return socket_.ended(); }

private:
    void send_frame(std::string_view bytes, time_limit until);
    std::string receive_frame(time_limit until);

    blocking_socket socket_;
    session_identity session_;
    std::int32_t next_xid_ = 1;
};

} // namespace colock::test

#endif
