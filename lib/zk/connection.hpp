// One connection to a server, and the session on it.
#pragma once

#include "zk/handle.hpp"
#include "zk/old_sockets.hpp"
#include "zk/sasl_mechanism.hpp"
#include "zk/strand.hpp"
#include "zk/tls_terms.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace colock::zk {

struct server {
    std::string address; // numeric
    std::optional<tls_terms> tls = {};
    std::shared_ptr<sasl_mechanism> sasl = {}; // for one connection
};

// Whether this library speaks TLS.
[[nodiscard]] bool speaks_tls() noexcept;

// Whether libzookeeper_mt is in this program, too, and gets the calls that are for the single-threaded C client: both
// libraries have the same names. It would call back on threads of its own.
[[nodiscard]] bool calls_multi_threaded_client() noexcept;

// Everything here runs on the strand. The connection keeps its owner alive until it is closed.
class connection {
public:
    // Told about the connection, never from within send().
    class observer {
    public:
        // The server is there, and the TLS handshake begins.
        virtual void securing() = 0;
        // The server is there, and may read from now on that the client wants the session.
        virtual void offered() = 0;
        virtual void established() = 0;
        virtual void broken(handle::status why) = 0;
        // Whether an answer is still to come.
        [[nodiscard]] virtual bool expects_answers() const noexcept = 0;
        // The socket of an established connection that is dropped, for the observer to keep.
        virtual void left_behind(const std::string& address,
                                 std::shared_ptr<old_socket> socket) noexcept = 0;

    protected:
        ~observer() = default;
    };

    connection() = default;
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    virtual ~connection() = default;

    // Starts to connect. False when the address is refused, or there is no memory; broken() may say so later.
    [[nodiscard]] virtual bool open(const server& to, const std::string& chroot,
                                    std::chrono::milliseconds session_timeout,
                                    const session_identity& session,
                                    const std::vector<credential>& credentials,
                                    watch_receiver& watches) = 0;

    // Takes a request, which leaves with the flush() that has to follow. When this fails, `to` is not called.
    [[nodiscard]] virtual error_code send(const call& c, receiver& to) = 0;

    // Says more about the client than open() did: to be called between two requests, once the connection is
    // established. It leaves with the flush() that has to follow. False when it cannot be said on this connection any
    // more, or not before the requests that wait to be written.
    [[nodiscard]] virtual bool authenticate(const credential& c) = 0;

    // Flushes queued requests; handles partial writes and a broken socket.
    virtual void flush() = 0;

    // Ends the session: writes the close and waits until the server has closed the connection. Nothing
    // may be sent afterwards. `done` learns whether the server confirmed; not called after close().
    virtual void end_session(std::function<void(bool confirmed)> done) = 0;

    // Drops the connection at once, and answers what is outstanding. The observer hears of no loss. It gets the socket
    // of an established connection, unless the end of the session was sent, or `last_words` are asked for.
    // `last_words`: tell the server, if it can be done without waiting, that the session is over.
    virtual void close(bool last_words = false) noexcept = 0;

    // Why it broke, if anything is known; only within broken(), and when open() has failed.
    struct fault_report {
        std::string text = {};
        bool of_tls = false;
        bool of_identity = false;       // the server refuses it
        bool lacks_descriptors = false; // the process may have no more of them
    };
    [[nodiscard]] virtual fault_report fault() const = 0;

    // Once it is established.
    [[nodiscard]] virtual session_identity session() const noexcept = 0;
    [[nodiscard]] virtual std::chrono::milliseconds session_timeout() const noexcept = 0;
};

// `wakeups` counts how often the connection is woken. The simulated world (testing/world) has its own definition.
[[nodiscard]] std::shared_ptr<connection> make_connection(const strand_type& strand,
                                                          std::shared_ptr<void> owner,
                                                          connection::observer& told,
                                                          std::atomic<std::uint64_t>& wakeups);

} // namespace colock::zk
