// The session of a client: how it begins, is resumed on another connection, and ends. Sans-io.
#pragma once

#include "report/failure_lines.hpp"
#include "session/backoff.hpp"
#include "session/old_connections.hpp"
#include "session/session_command.hpp"

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace colock::protocol::session {

// Why a connection is over.
enum class loss {
    broken,              // or it was refused
    tls_failed,          // no TLS could be agreed upon, or it has broken off
    expired,             // the servers say that the session is over
    credentials_refused, // no server takes them
    no_descriptors,      // this process has none left
    identity_demanded, // a server has refused a request, because this client has no identity that it takes
};

// Inputs are member functions, outputs are appended to `out`. All commands of an input are carried out in their order.
// Inputs that come of that (resolved(), or a call of a listener that is being notified) are decided at once, and their
// commands are carried out after those.
//
// Whatever comes, one of these is outstanding: a timer, a look-up, an attempt to connect, a connection, or a call of
// the user.
class reconnect {
public:
    struct settings {
        std::string hosts; // as the user has written them
        std::string chroot;
        // There are a chroot or credentials, which the servers may refuse.
        bool tries_options = false;
        bool tls = false;
        bool sasl = false;
        std::chrono::milliseconds session_timeout;
        std::chrono::milliseconds connect_timeout; // max(): no limit
        std::chrono::milliseconds close_timeout;
        std::chrono::milliseconds backoff_min;
        std::chrono::milliseconds backoff_max;
        std::chrono::milliseconds tick;
    };

    reconnect(settings s, std::uint32_t seed);

    // Calls of the user. connect() is answered by `answer`, `given_up` or `closing`; close() by `closed`.
    void connect(commands& out);
    void nobody_waits(commands& out); // all who have called connect() have gone
    void close(const error_code& why, commands& out);
    void abandon_close(commands& out); // does not wait for the server any longer
    // There is another list. What resolved() says from now on is about it. Answered by `hosts_in_use`, `given_up` or
    // `closing`.
    void hosts_changed(std::string hosts, commands& out);

    // The connection.
    // `more`: there are look-ups that are not answered yet. `last_failure`: of the last one that failed.
    void resolved(const std::vector<address>& all, bool more, std::string_view last_failure,
                  instant now, commands& out);
    void not_opened(instant now, commands& out);
    // The server is there, and the TLS handshake begins.
    void securing() noexcept;
    // The server is there, and may read from now on that the client wants the session.
    void offered() noexcept;
    // `timeout`: what the server has granted. A server that offers another session than was asked for says so by
    // loss::expired.
    void established(std::int64_t session, std::chrono::milliseconds timeout, commands& out);
    void options_tried(const error_code& ec, commands& out);    // not of a loss: broken() follows
    void barrier_answered(const error_code& ec, commands& out); // the same
    // `fault`: what the server did wrong, "" if nothing is known. `write_lost`: a write was not answered.
    void broken(loss why, std::string_view fault, bool write_lost, instant now, commands& out);
    // After `hold`, or while it is closing: no answer is outstanding.
    void quiet(commands& out);
    // `confirmed`: by the server.
    void ended(bool confirmed, commands& out);

    // Timers.
    void timer_due(instant now, commands& out);
    void deadline_due(commands& out);

    [[nodiscard]] bool is_idle() const noexcept { return holds<idle>(); }
    [[nodiscard]] bool is_looking_up() const noexcept
    {
        return holds<looking_up>() || compares_hosts();
    }
    [[nodiscard]] bool is_closing() const noexcept { return holds<ending>() || holds<over>(); }
    [[nodiscard]] bool awaits_quiet() const noexcept { return is_closing() || is_leaving(); }
    // What the server answers on this connection may be older than what was seen before.
    [[nodiscard]] bool is_distrusted() const noexcept;
    // The smallest that was granted in this session.
    [[nodiscard]] std::chrono::milliseconds session_timeout() const noexcept { return timeout_; }

    // Tests tell states apart by it.
    friend std::ostream& operator<<(std::ostream& text, const reconnect& r);

private:
    // The stages. In the first five there is no connection on which requests may be sent.
    struct idle {
    }; // nobody has asked for a connection; or the servers have refused something for good
    struct looking_up {
        bool paused; // the pause before the first attempt of the pass is over
    };
    struct pausing {
        pass rest; // if nothing is left untried, another pass follows
    };
    struct attempting {
        std::string where;
        pass rest;
        enum class progress {
            begun,
            securing,
            offered // the server may read it, even if it is given up
        } reached = progress::begun;
    };
    struct trying_options { // there is a session, but nothing was done in it
        std::string where;
        pass rest;
        bool resumed;
    };
    struct online {
        std::string where;
        bool writable;           // the session is new, or the barrier was answered
        bool distrusted = false; // the barrier was refused
        bool leaving = false;    // the server is not among the hosts any more
    };
    struct ending { // connected still; the end is sent when no answer is outstanding
        online from;
        bool sent = false;
    };
    struct over {};
    using stage =
        std::variant<idle, looking_up, pausing, attempting, trying_options, online, ending, over>;

    struct failure {
        error_code error;
        std::string detail;
    };

    template <class Stage>
    [[nodiscard]] bool holds() const noexcept
    {
        return std::holds_alternative<Stage>(stage_);
    }

    // Whether the server of the connection, or of the attempt, is in the list of hosts.
    enum class place {
        listed,  // the server is one of them, and nobody waits to hear that
        awaited, // the next connection is to one of them
        unknown
    };

    // The server of the connection is not among the hosts any more.
    [[nodiscard]] bool is_leaving() const noexcept
    {
        const auto* at = std::get_if<online>(&stage_);
        return at && at->leaving;
    }
    // The next addresses tell whether it is.
    [[nodiscard]] bool compares_hosts() const noexcept
    {
        const auto* at = std::get_if<online>(&stage_);
        return at && !at->leaving && place_ == place::unknown;
    }
    void compare_hosts(const std::vector<address>& all, bool more, std::string_view last_failure,
                       commands& out);
    [[nodiscard]] failure failure_of(const attempting& at, loss why, std::string_view fault) const;
    void begin_pass(bool paused, commands& out);
    void pause(pass rest, instant now, commands& out);
    void attempt(pass rest, instant now, commands& out);
    void attempt_failed(pass rest, failure f, instant now, commands& out);
    [[nodiscard]] std::chrono::milliseconds wanted_timeout() const noexcept;
    [[nodiscard]] std::chrono::milliseconds patience(std::size_t addresses) const;
    void become_connected(std::string where, bool resumed, commands& out);
    void expire(commands& out);
    void give_up(const error_code& ec, commands& out);
    void finish(const error_code& ec, commands& out);

    settings settings_;
    stage stage_;
    backoff backoff_;
    old_connections old_;
    std::int64_t session_ = 0; // 0: none
    // The smallest that was granted in this session, or in the one before; 0: there was none.
    std::chrono::milliseconds timeout_{0};
    bool was_connected_ = false; // since the client was idle
    bool wanted_ = false;        // callers of connect() wait
    bool accepted_ = false;      // the servers have taken chroot and credentials
    struct {
        unsigned attempts = 0;
        std::chrono::milliseconds slow{0}; // that these gave to servers that were there
    } timed_out_;                          // since the last connection, or list of hosts
    failure last_failure_;                 // since the last connection
    failure_lines failure_lines_;
    place place_ = place::listed;
};

} // namespace colock::protocol::session
