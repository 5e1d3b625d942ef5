#include "session/faults.hpp"

#include "names/path.hpp"
#include "names/shown.hpp"
#include "session/request_words.hpp"
#include "zk/connection.hpp"
#include "zk/hosts.hpp"
#include "zk/request_size.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace colock::detail {

using std::chrono::milliseconds;

namespace {

fault fault_of(const sasl_options& o, bool has_guard)
{
    if (o.mechanism.empty()) {
        return {};
    }
    const auto invalid = [](std::string why) {
        return fault{errc::invalid_option, std::move(why)};
    };
    if (!zk::speaks_sasl()) {
        return invalid("sasl is set, and this library was built without SASL (COLOCK_SASL)");
    }
    if (o.mechanism != zk::digest_md5 && o.mechanism != zk::gssapi) {
        return invalid("sasl.mechanism is \"" + protocol::shown(o.mechanism, 40) +
                       "\"; ZooKeeper's servers know DIGEST-MD5 and GSSAPI");
    }
    if (o.mechanism == zk::digest_md5 && (o.user.empty() || !o.secret)) {
        return invalid("sasl.user and sasl.secret have to be set for DIGEST-MD5");
    }
    if (has_guard) {
        return invalid("sasl and session_guard are both set: the guard could not prove who it is");
    }
    return {};
}

} // namespace

fault fault_of(const client_options& o)
{
    const auto fail = [](errc e, std::string detail) { return fault{e, std::move(detail)}; };
    if (zk::calls_multi_threaded_client()) {
        return fail(errc::invalid_option,
                    "libzookeeper_mt is in this program and takes the calls for libzookeeper_st, "
                    "whose functions have the same names: link the program without it");
    }
    if (auto parsed = zk::parse_hosts(o.hosts); parsed.error) {
        return {parsed.error, std::move(parsed.detail)};
    }
    if (!o.chroot.empty()) {
        if (auto what = protocol::path_fault(o.chroot); !what.empty()) {
            return fail(errc::invalid_path, "chroot \"" + o.chroot + "\" " + what);
        }
    }
    const bool endless = o.connect_timeout == milliseconds::max();
    constexpr auto longest_session = zk::longest_session_timeout;
    if (o.session_timeout <= milliseconds{0} || o.session_timeout > longest_session) {
        return fail(errc::invalid_option,
                    "session_timeout is " + std::to_string(o.session_timeout.count()) +
                        " ms; it must be positive, and at most " +
                        std::to_string(longest_session.count()) + " ms, which is 298 hours");
    }
    const std::pair<const char*, milliseconds> times[] = {
        {"connect_timeout", endless ? longest_time : o.connect_timeout},
        {"close_timeout", o.close_timeout},
        {"backoff_min", o.backoff_min},
        {"backoff_max", o.backoff_max},
        {"tick", o.tick}};
    for (const auto& [name, value] : times) {
        if (value <= milliseconds{0} || value > longest_time) {
            return fail(errc::invalid_option, std::string{name} + " is " +
                                                  std::to_string(value.count()) +
                                                  " ms; it must be positive and below 25 days");
        }
    }
    // The protocol counts bytes in 32 bits.
    constexpr std::size_t largest_request = 0x7fffffff;
    if (o.max_request_size > largest_request) {
        return fail(errc::invalid_option,
                    "max_request_size is " + std::to_string(o.max_request_size) +
                        " bytes; it must be at most " + std::to_string(largest_request));
    }
    // A transaction of one and a half times this, or more, can be read where the option above is true.
    const std::size_t default_session_size = client_options{}.max_session_size;
    if (o.max_session_size == 0 ||
        o.max_session_size > std::max(o.max_request_size, default_session_size)) {
        return fail(
            errc::invalid_option,
            "max_session_size is " + std::to_string(o.max_session_size) +
                " bytes; it must be positive, and more than " +
                std::to_string(default_session_size) +
                " must not be more than max_request_size, the jute.maxbuffer of the servers");
    }
    if (o.tls && !zk::speaks_tls()) {
        return fail(errc::invalid_option,
                    "tls is set, and this library was built without TLS (COLOCK_TLS)");
    }
    if (!o.tls && (!o.tls_server_name.empty() || o.tls_verify != tls_verification::full)) {
        return fail(
            errc::invalid_option,
            "tls_server_name or tls_verify is set, and tls is not: the client would speak plain "
            "TCP");
    }
    if (!o.tls_server_name.empty() && !zk::is_host(o.tls_server_name)) {
        return fail(errc::invalid_option, "tls_server_name \"" + o.tls_server_name +
                                              "\" is neither a host name nor an address");
    }
    if (auto f = fault_of(o.sasl, !o.session_guard.helper.empty()); f.error) {
        return f;
    }
    for (const auto& c : o.credentials) {
        if (auto f = fault_of(c, o.max_request_size); f.error) {
            return f;
        }
    }
    return {};
}

fault fault_of(const credential& c, std::size_t max_request_size)
{
    constexpr std::size_t fixed_fields = 20;
    if (c.scheme.empty()) {
        return {errc::invalid_option, "a credential has no scheme; use \"digest\""};
    }
    if (c.scheme.size() + c.secret.size() + fixed_fields > max_request_size) {
        return {errc::request_too_large, "a credential is larger than max_request_size"};
    }
    if (c.scheme == "digest" && c.secret.find(':') == std::string::npos) {
        return {errc::invalid_option,
                "the secret of a digest credential has no colon; write \"user:password\""};
    }
    return {};
}

// ---- requests

namespace {

// `mode` is that of the node to be created, if any.
fault fault_of_path(std::string_view path, std::optional<create_mode> mode, bool has_chroot)
{
    const bool sequential = mode && zk::is_sequential(*mode);
    auto what = protocol::path_fault(path, sequential);
    if (what.empty() && sequential && has_chroot && path == "/") {
        // The C client would append the number to the chroot's own name.
        what = "has no name before the number, which a chroot does not allow";
    }
    if (what.empty()) {
        return {};
    }
    return {errc::invalid_path, "path \"" + protocol::shown(path, 200) + "\" " + what};
}

// The C client aborts the program at what would be found here in a transaction.
fault fault_of_content(const zk::call& c, bool has_chroot)
{
    if (c.op != zk::opcode::multi) {
        const bool creates = c.op == zk::opcode::create;
        if (auto f =
                fault_of_path(c.path, creates ? std::optional{c.mode} : std::nullopt, has_chroot);
            f.error) {
            return f;
        }
        constexpr milliseconds longest_ttl{0xff'ffff'ffff}; // as ZooKeeper has it
        if (creates && zk::has_ttl(c.mode) && (c.ttl <= milliseconds{0} || c.ttl > longest_ttl)) {
            return {errc::invalid_option, "path \"" + c.path + "\": the time to live is " +
                                              std::to_string(c.ttl.count()) +
                                              " ms; it must be positive, and at most 34 years"};
        }
        return {};
    }
    for (const auto& op : c.ops) {
        const bool creates = op.type == transaction_op::kind::create;
        if (auto f = fault_of_path(op.path, creates ? std::optional{op.create.mode} : std::nullopt,
                                   has_chroot);
            f.error) {
            return f;
        }
        if (creates && (zk::has_ttl(op.create.mode) || op.create.mode == create_mode::container)) {
            return {
                errc::invalid_option,
                "path \"" + op.path +
                    "\": a transaction cannot create a container or a node with a time to live"};
        }
        if (creates && op.create.parents) {
            return {errc::invalid_option,
                    "path \"" + op.path + "\": a transaction cannot create missing parents"};
        }
    }
    return {};
}

} // namespace

fault fault_of(const request& r, std::size_t chroot, std::size_t most)
{
    const auto& c = r.call;
    auto found = r.of_lock ? fault{} : fault_of_content(c, chroot != 0);
    if (const auto size = zk::request_size(c, chroot); !found.error && size > most) {
        found = {errc::request_too_large, subject_of(c, {}) + ": the request has " +
                                              std::to_string(size) + " bytes, and the limit is " +
                                              std::to_string(most)};
    }
    return found;
}

} // namespace colock::detail
