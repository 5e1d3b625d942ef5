// How a client connects: servers, times, credentials, TLS.
#ifndef COLOCK_CLIENT_OPTIONS_HPP
#define COLOCK_CLIENT_OPTIONS_HPP

#include <colock/detail/config.hpp>
#include <colock/log.hpp>
#include <colock/node.hpp>
#include <colock/observer.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace boost::asio::ssl {
class context; // <boost/asio/ssl/context.hpp>
}

namespace colock {

/// Who the client is, for the servers' access control. For the scheme "digest" the secret reads
/// "user:password"; without a colon it is refused with `errc::invalid_option`.
struct credential {
    std::string scheme; ///< How the servers know it, such as "digest".
    std::string secret; ///< As the scheme wants it.

    bool operator==(const credential&) const = default;
};

/// How far a client checks the certificate of a server.
enum class tls_verification {
    /// The certificate is valid, an authority that the context trusts has issued it, and it is for the server's name or
    /// address. The default.
    full,
    /// As `full`, but for any name: whoever has a certificate of the same authority may pass for a server.
    any_name,
    /// Nothing is checked: anyone on the network path can read and change everything, locks and credentials included.
    off,
};

/// The name of the value, such as "off"; "unknown" of a number that is none of them.
[[nodiscard]] constexpr std::string_view to_string(tls_verification value) noexcept
{
    switch (value) {
    case tls_verification::full: return "full";
    case tls_verification::any_name: return "any_name";
    case tls_verification::off: return "off";
    }
    return "unknown";
}

/// Who the client is, to servers that ask by SASL. An entry of an access control list that names such a user has the scheme
/// "sasl"; `creator_acl()` stands for it, too.
///
/// The client proves who it is on each connection, after the server has granted the session and before any request. The
/// mechanism runs on a thread of its own, so that a silent key server holds up nothing but this connection.
/// When a server refuses the user, the session ends with `zookeeper_errc::auth_failed`. What fails on this side, such as a
/// ticket that has expired, or a server that knows no SASL, breaks the connection: the client tries again, as with a server
/// that is away, and `client::last_error_detail()` says why.
struct sasl_options {
    /// "DIGEST-MD5" or "GSSAPI" (Kerberos). Empty, the default: no SASL. Needs a library with SASL (`COLOCK_SASL`), else
    /// `async_connect` completes with `errc::invalid_option`; and the module of Cyrus SASL for the mechanism, without which
    /// no attempt to connect succeeds (`errc::no_server`, and the diagnostics say why).
    std::string mechanism = {};

    /// The user, for DIGEST-MD5. With GSSAPI the ticket says who the client is.
    std::string user = {};

    /// Returns the password, for DIGEST-MD5. Called on the client's executor for each connection; must neither block nor throw.
    std::function<std::string()> secret = {};

    /// The first part of the servers' names: `zookeeper.sasl.client.username` of Java's client.
    std::string service = "zookeeper";

    /// The second part. By default "zk-sasl-md5", as servers have it, for DIGEST-MD5; and the host's name in `hosts`
    /// for GSSAPI, which needs a name there.
    std::string server_name = {};

    /// The realm of DIGEST-MD5, where a server offers several. GSSAPI takes what `krb5.conf` says.
    std::string realm = {};
};

/// Ends the sessions of a process as soon as the process is dead.
///
/// A holder that is killed keeps its locks for a time-out of its session: the servers notice its silence no earlier. The
/// kernel knows at once. A session guard is a small process that ends the session then, so that the next contender is granted
/// the lock within milliseconds. All clients of a process share one. The time-out stays as the second line. A guard that
/// can resume the session, and not end it, prolongs it: the servers end it a time-out after the guard's last attempt. The
/// guard makes that one a time-out after the death at the latest.
///
/// It acts when the process is dead with all its threads, and all copies of a descriptor are closed that this process has: a
/// child that was forked without `exec`, and runs on, keeps the session until its time-out. A child that has closed all
/// descriptors is not seen, and neither is what was started by `exec`, `system` or `popen`: such a process must not act
/// under a lock of this client, or `consent` has to wait for it. A process that is stopped, is traced or dumps core is not
/// dead. docs/guarantees.md has the rest.
struct session_guard_options {
    /// The path of `colock-session-guard`, such as `installed_session_guard()`. Empty, the default: no guard. A guard that
    /// cannot be started, or dies, costs a warning in the log, and `client_stats::session_guarded` is false until the client
    /// has another one; it tries again after a pause of a second, which doubles up to 64 s, and is a second again after a
    /// guard that has lived for more than a minute. The file is on a local disk: the client waits until it is started. It is
    /// started without the program's environment.
    std::string helper = {};

    /// With a descriptor: the guard acts only after it has read a byte there as well, and never when it reads the end of
    /// the file instead. It is for a process that outlives this one, and knows when all has ended that acts under the
    /// locks: that process keeps the other end of the pipe. The client copies the descriptor for its first session, and
    /// neither reads nor closes it.
    int consent = -1;
};

/// Where `session_guard_options::helper` is, once colock is installed.
[[nodiscard]] COLOCK_DECL std::string installed_session_guard();

/// How a client connects.
///
/// Do not make options in braces in a statement that contains `co_await`: GCC 12 destroys them twice. This
/// includes the `co_await` that asks for a coroutine's executor. A client that only needs the servers takes them
/// without options; otherwise give the executor a name first:
///
/// ```cpp
/// colock::client own{co_await asio::this_coro::executor, hosts};
///
/// const auto executor = co_await asio::this_coro::executor;
/// colock::client patient{executor, {.hosts = hosts, .session_timeout = 30s}};
/// ```
struct client_options {
    /// The servers: "host:port[,host:port...]". A host is a name, an IPv4 address, or an IPv6 address
    /// in brackets; the port may be left out and is 2181 then.
    std::string hosts = {};

    /// The node that "/" denotes in every path of this client, such as "/service". It has to exist.
    std::string chroot = {};

    /// How long the servers keep the session, and with it the locks, of a client that is silent.
    /// The servers clamp it, by default to 2 to 20 of their ticks. More than 1,073,741,823 ms, 298 hours, is
    /// `errc::invalid_option`.
    std::chrono::milliseconds session_timeout = std::chrono::seconds{10};

    /// How long `client::async_connect` tries. With `std::chrono::milliseconds::max()` it tries until it
    /// succeeds or is cancelled. Other times, and those below, are positive, and below 25 days.
    std::chrono::milliseconds connect_timeout = std::chrono::seconds{10};

    /// How long `client::async_close` waits for the servers before it gives the session up to its
    /// time-out.
    std::chrono::milliseconds close_timeout = std::chrono::seconds{3};

    /// Pause between two passes over the servers when none can be reached: doubles from the one to the
    /// other, with up to half of it taken off at random. Never more than ten attempts a second.
    std::chrono::milliseconds backoff_min = std::chrono::milliseconds{50};
    /// The longest of these pauses.
    std::chrono::milliseconds backoff_max = std::chrono::seconds{1};

    /// `tickTime` of the servers, or twice that with an `observerMasterPort`: for a lock's `safe_until`. A
    /// larger value is safe, and ends `safe_until` earlier. With a smaller value a holder may take its lock for
    /// safe after the servers have ended its session, and have granted the lock to another client.
    std::chrono::milliseconds tick = std::chrono::seconds{2};

    /// The largest request that the servers take, in bytes: their `jute.maxbuffer`. The client refuses a
    /// larger request with `errc::request_too_large`, because a server would drop the connection. More than
    /// 2,147,483,647 bytes are `errc::invalid_option`.
    std::size_t max_request_size = 0xfffff;

    /// How many bytes the ephemeral nodes of the client's session may take: each lock that is held or waited for, each
    /// permit, and what the program creates as ephemeral. A node takes the bytes of its path, with the chroot, and four.
    /// The client refuses more with `errc::session_full`, because the end of a larger session takes the servers down
    /// for good: it is one transaction with all these paths, and a server whose log has a transaction of more than about
    /// twice `jute.maxbuffer` does not start again. The default is less than half of what servers can read by theirs. A
    /// value above the default must not exceed `max_request_size`: raise `jute.maxbuffer` of **all** servers first. Else
    /// `async_connect` completes with `errc::invalid_option`. docs/scaling.md says how many locks that is.
    std::size_t max_session_size = 1'000'000;

    /// Who the client is. It sends all of them on each connection, before any request. `client::async_add_credentials`
    /// adds to them later.
    std::vector<credential> credentials = {};

    /// Access control of the nodes that this client creates, where an operation does not say otherwise. With the default
    /// every other user of the servers can disturb your locks: docs/security.md has a recipe, with `creator_acl()` and
    /// `async_ensure_lock_root`.
    access_control_list acl = open_acl();

    /// With a context the client speaks TLS with all servers, at their `secureClientPort`; without one it speaks plain
    /// TCP. The context says which authorities the client trusts, who the client is (a certificate and its key), and
    /// which versions and ciphers may be used. The client checks each server by `tls_verify`, whatever the context's own
    /// verify mode is. Make it with `<boost/asio/ssl/context.hpp>`, and do not change it while a client uses it: give
    /// the client another one by `client::use_tls`. Needs a library with TLS (`COLOCK_TLS`), else `async_connect`
    /// completes with `errc::invalid_option`.
    std::shared_ptr<boost::asio::ssl::context> tls = {};

    /// The name or address that the certificate of every server has to be for. By default that is what stands in
    /// `hosts`: a name has to be among the certificate's DNS names, an address among its IP addresses.
    std::string tls_server_name = {};

    /// How far the client checks the certificates of servers.
    tls_verification tls_verify = tls_verification::full;

    /// Who the client is, to servers that ask by SASL. Not together with `session_guard`, which could not answer in the place
    /// of this process: `errc::invalid_option`.
    sasl_options sasl = {};

    /// Ends the session when this process is dead. Off by default. Needs Linux. With `tls` the guard gets what the context
    /// has: authorities, certificate, chain and key, versions and ciphers. With a context that has callbacks, or a key that
    /// cannot be read, `async_connect` completes with `errc::invalid_option`. The authorities have to be loaded from files,
    /// or be those of the system: what a directory has that OpenSSL searches later is unknown to the guard.
    session_guard_options session_guard = {};

    /// Receives the lines of the log at level `log_threshold` or above; see `log_sink`. None by default.
    log_sink log = {};

    /// The least important lines that `log` gets.
    ///
    /// With `log_level::debug` each lock logs when it waits, and for which contenders; when it is granted,
    /// released or handed off. An acquisition that has waited for five seconds, and at most every five seconds from
    /// then on, sends up to two reads to ask who holds the lock. At other levels the log costs no request.
    log_level log_threshold = log_level::info;

    /// Is notified of each acquisition, of each end of a hold, and of heartbeats. None by default, which costs nothing.
    std::shared_ptr<colock::observer> observer = {};

    /// Fills the histograms of `client_stats`. Off by default: a hand-off in memory then neither reads the clock more
    /// often nor counts anything. docs/metrics.md states the cost.
    bool histograms = false;
};

} // namespace colock

#endif
