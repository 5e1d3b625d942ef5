#ifndef COLOCK_TEST_SUPPORT_TCP_PROXY_HPP
#define COLOCK_TEST_SUPPORT_TCP_PROXY_HPP

#include "opcode.hpp"
#include "session_identity.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test {

class certificate_authority;
struct proxy_contexts;

enum class direction { to_server, to_client };

/// How a connection is ended.
enum class cut_kind {
    reset, ///< RST to both sides.
    finish ///< FIN to both sides: the peers read the end of the stream.
};

/// How new connections are refused.
enum class refusal {
    not_listening, ///< "Connection refused", as when the server is down.
    close_at_once  ///< Accepted and reset, as when the server is overwhelmed; counted.
};

/// What happens to the frame that a rule has chosen.
enum class reaction {
    drop_and_cut,    ///< It never arrives, and the connection is cut when it would have.
    deliver_and_cut, ///< It arrives, and the connection is cut behind it (replies only).
    drop,            ///< It never arrives; all else goes on.
    replace, ///< The reply arrives as `rule_options::replacement`, without a body (replies only).
    hold     ///< It waits, with everything behind it, until `release()`.
};

/// Details of a rule, for designated initialisers.
struct rule_options {
    unsigned nth = 1;               ///< Which of the matching frames is the first to be chosen.
    unsigned times = 1;             ///< How many are chosen from there on; 0: all.
    std::string path_prefix = {};   ///< Only for paths that begin so.
    std::optional<int> error = {};  ///< Replies only: only those with this code (0: success).
    cut_kind how = cut_kind::reset; ///< For the reactions that cut.
    int replacement = 0;            ///< The code of ZooKeeper that `reaction::replace` puts there.

    /// Only requests (or, for replies, only those to requests) that this accepts; gets the path.
    /// Runs in the proxy's thread and must not call the proxy.
    std::function<bool(opcode, std::string_view path)> predicate = {};
};

/// What a proxy needs to speak TLS; for builds with TLS only.
/**
 * Its clients have to show a certificate of the authority, and it shows the server one. It is at
 * 127.0.0.1 and localhost to its clients, and at further names if they call it by these.
 */
class proxy_tls {
public:
    explicit proxy_tls(certificate_authority const& authority, std::vector<std::string> names = {});

    /// For a server that speaks no TLS, and may speak nonsense: towards clients only. All is
    /// forwarded as it comes, and rules choose nothing.
    static proxy_tls before_plain_server(certificate_authority const& authority);

private:
    friend class tcp_proxy;
    proxy_tls() = default;
    std::shared_ptr<proxy_contexts> contexts_;
};

/// A TCP proxy inside the test process that can delay, cut, refuse, and lose a *chosen* frame.
/**
 * Listens on a loopback port of its own and forwards every connection to the target, with
 * TCP_NODELAY on both sides. It has one thread; all functions may be called from any thread at any
 * time, and what they ask for has been done when they return. The destructor resets all
 * connections.
 *
 * Bytes are forwarded frame by frame of ZooKeeper's protocol (a frame in several pieces is put
 * together first). A connection that does not speak it, such as a four-letter word, is forwarded as
 * it comes.
 *
 * **Delay.** Each frame is delivered `one_way` after its arrival, in order, any number of them on
 * the way at a time; the end of a stream likewise. Connecting takes no round trip: the proxy
 * accepts at once and connects to the target itself. If the target refuses, the client sees an
 * accepted connection that is reset.
 *
 * **TLS**, when it is told to: it is the server to the client, and a client to the server. All the
 * rest stays as it is; what is delayed or stalled are the frames, and cuts go to the TCP
 * connections, without a word of TLS. Handshakes are not delayed: first that with the server, then
 * that with the client, unless requests are stalled. The end of a stream is the end of the TCP
 * stream.
 *
 * **Rules** choose frames by their kind, across all connections of the proxy, from the moment the
 * rule is made. A frame that several rules choose obeys the oldest; for the others it counts as
 * seen. A request of `multi` has the path of its first operation; set_watches, auth, ping, connect
 * and close have none.
 */
class tcp_proxy {
    struct impl;
    class link;
    struct rule_state;

public:
    /// A rule in force; a handle that may be copied, dropped (the rule stays), and outlive the
    /// proxy.
    class rule {
    public:
        /// Waits until the rule has done what it is for (the frame is dropped, the connection cut,
        /// the held frame has come) at least `count` times. False after the time-out.
        bool wait(std::chrono::milliseconds timeout, unsigned count = 1) const;

        /// How many times so far.
        unsigned fired() const;

        /// Lets a held frame, and what waits behind it, go on; the rule ends. Does nothing to a
        /// frame of another reaction, except that the rule ends.
        void release();

    private:
        friend class tcp_proxy;
        explicit rule(std::shared_ptr<rule_state> state) : state_(std::move(state)) {}
        std::shared_ptr<rule_state> state_;
    };

    /// Forwards to "host:port" (numeric, or localhost).
    explicit tcp_proxy(std::string_view target);

    /// Speaks TLS with the target and with clients.
    tcp_proxy(std::string_view target, proxy_tls const& tls);
    tcp_proxy(tcp_proxy const&) = delete;
    tcp_proxy& operator=(tcp_proxy const&) = delete;
    ~tcp_proxy();

    std::uint16_t port() const;
    std::string connect_string() const;

    /// For connections made from now on.
    void set_target(std::string_view target);

    /// For what arrives from now on; what is on the way keeps its time.
    void set_delay(std::chrono::microseconds one_way);

    /// Ends all connections now; what is on the way is lost. Returns their number.
    std::size_t cut(cut_kind how = cut_kind::reset);

    /// Refuses new connections, or accepts them again; those that exist stay.
    void refuse(bool on, refusal how = refusal::not_listening);

    /// A black hole: connections stay and are accepted, but nothing is read or delivered, not even
    /// an end, until it is switched off; then all goes on, nothing is lost. One direction or both.
    void stall(bool on);
    void stall(bool on, direction which);

    /// Chooses among the requests of clients. `drop_and_cut` means: the server never gets it.
    rule on_request(opcode_set which, reaction what, rule_options details = {});

    /// Chooses among the replies to requests of these kinds, and watch events
    /// (`opcode::notification`). `drop_and_cut` means: the server has done it, the client never
    /// hears.
    rule on_reply(opcode_set which, reaction what, rule_options details = {});

    /// Ends all rules; what they hold goes on.
    void clear_rules();

    /// Connections accepted so far, those reset at once (`refusal::close_at_once`) included.
    std::size_t accepted() const;

    /// Connections that exist now.
    std::size_t live() const;

    /// Requests delivered to the server: of one kind or several, or all.
    std::size_t requests(opcode_set which = {}) const;

    /// Replies and watch events delivered to clients.
    std::size_t replies(opcode_set which = {}) const;

    /// Bytes sent on to servers and clients.
    std::uint64_t bytes() const;

    /// The sessions that began, or were taken up again, through the proxy, in the order of their
    /// first appearance. `kill_session` can end them.
    std::vector<session_identity> sessions() const;

    /// A record of the frames that arrived and what became of them, one line each; off at first.
    /// The last 10,000 are kept.
    void log_frames(bool on);
    std::vector<std::string> frame_log() const;

private:
    explicit tcp_proxy(std::shared_ptr<impl> made);

    rule add_rule(direction where, opcode_set which, reaction what, rule_options details);

    std::shared_ptr<impl> impl_;
};

} // namespace colock::test

#endif
