// To which servers the client does not offer its session, because of connections that it has lost there. Sans-io.
#pragma once

#include "session/session_command.hpp"

#include <chrono>
#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace colock::protocol::session {

// An address that the servers are known to have.
struct address {
    std::string text;
    // The server there has not closed the last connection yet: it may have requests of it to read.
    bool is_unread = false;
};

// The addresses that are tried one after the other.
struct pass {
    std::vector<std::string> untried; // the next one is the last
    std::size_t size = 0;             // of all addresses, also of those that are left out
};

// A server may stall, and carry out a write of a lost connection later: docs/internals/session.md, *Old writes*. An attempt
// that the client gives up there is read by that server all the same. It makes the server the owner of the session
// again, and the leader then accepts the old requests, after all that the client has done meanwhile at another server.
class old_connections {
public:
    explicit old_connections(std::chrono::milliseconds tick) noexcept : tick_{tick} {}

    // A connection with the session is lost. `write_lost`: one of its writes was not answered.
    void lost(const std::string& where, bool write_lost, instant now);
    // The same, before the leader is known to have received what was sent on the connection before it.
    void lost_unused(const std::string& where, instant now);
    // The session was offered to the server there, which did not answer: it may read that later.
    void attempted(const std::string& where, instant now);
    // The session is over: the leader refuses what comes late.
    void forget() noexcept
    {
        lost_.clear();
        may_return_.reset();
    }

    // Where to try to resume a session of this time-out.
    [[nodiscard]] pass resume(const std::vector<address>& all, std::chrono::milliseconds timeout,
                              instant now) const;
    // Where to try to get a new session.
    [[nodiscard]] pass begin(const std::vector<address>& all) const;

    // Tests tell states apart by it.
    friend std::ostream& operator<<(std::ostream& text, const old_connections& c);

private:
    struct lost_connection {
        std::string where;
        std::chrono::nanoseconds
            passed_on_until; // its writes may be on their way to the leader until then
    };

    [[nodiscard]] const lost_connection* passes_on(const std::string& where, instant now) const;

    std::chrono::milliseconds tick_;
    std::vector<lost_connection> lost_; // one for each address, the latest last
    // There the session was offered in spite of that, and the server may make itself the owner later.
    std::optional<lost_connection> may_return_;
    std::string latest_;
    std::chrono::nanoseconds latest_at_{0}; // by the clock that goes on
};

} // namespace colock::protocol::session
