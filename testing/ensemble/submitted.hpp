// A request within the servers, on its way from a connection to the leader and back.
#pragma once

#include "access.hpp"
#include "operation.hpp"

#include <chrono>
#include <cstdint>
#include <memory>

namespace colock::simulated {

class connection;

struct submitted {
    enum class kind {
        call,
        ping,
        open_session,
        close_session,
        tidy,    // the leader removes a container without children, or a node whose time is over
        by_hand, // an operator's call, which everything is allowed to
    };

    kind what = kind::call;
    std::uint64_t origin = 0; // one number for each, of all servers
    std::int64_t session = 0;
    std::int32_t number = 0; // the client's
    operation call = {};
    std::chrono::milliseconds timeout{}; // of a session to open
    shared_identities who = {};
    bool throttled = false;              // it has waited for too long
    bool expired = false;                // of close_session: the leader asks for it
    std::weak_ptr<connection> from = {}; // of no meaning at other servers

    // It goes through the leader's order of transactions.
    [[nodiscard]] bool is_write() const noexcept
    {
        return what != kind::ping &&
               (what != kind::call || call.op == opcode::create || call.op == opcode::remove ||
                call.op == opcode::set || call.op == opcode::set_acl || call.op == opcode::multi ||
                call.op == opcode::check);
    }
    [[nodiscard]] bool is_sync() const noexcept
    {
        return what == kind::call && call.op == opcode::sync;
    }
};

using shared_request = std::shared_ptr<const submitted>;

} // namespace colock::simulated
