#include "health/certificate_look.hpp"

#include "connect/awaiting.hpp"
#include "connect/duration.hpp"
#include "connect/four_letter_word.hpp"
#include "connect/tls_question.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/verify_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>

namespace colock::cli {

namespace asio = boost::asio;
namespace ssl = asio::ssl;
using namespace std::chrono_literals;

namespace {

constexpr auto soon = std::chrono::days{14};

struct facts {
    std::string subject;
    std::string issuer;
    std::chrono::seconds left{0}; // until it expires
    bool is_for_name = false;
};

std::string text_of(const X509_NAME* name)
{
    const std::unique_ptr<BIO, decltype(&BIO_free)> out{BIO_new(BIO_s_mem()), &BIO_free};
    X509_NAME_print_ex(out.get(), name, 0, XN_FLAG_RFC2253);
    char* text = nullptr;
    const auto size = BIO_get_mem_data(out.get(), &text);
    return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : "(no name)";
}

facts facts_of(X509* certificate, const std::string& name)
{
    facts f;
    f.subject = text_of(X509_get_subject_name(certificate));
    f.issuer = text_of(X509_get_issuer_name(certificate));
    int days = 0;
    int seconds = 0;
    if (ASN1_TIME_diff(&days, &seconds, nullptr, X509_get0_notAfter(certificate))) {
        f.left = std::chrono::days{days} + std::chrono::seconds{seconds};
    }
    boost::system::error_code no_address;
    asio::ip::make_address(name, no_address);
    // As clients do: a common name counts for nothing, and a certificate knows no scope of an IPv6 address.
    constexpr unsigned flags =
        X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS;
    const auto address = name.substr(0, name.find('%'));
    f.is_for_name =
        (no_address ? X509_check_host(certificate, name.c_str(), name.size(), flags, nullptr)
                    : X509_check_ip_asc(certificate, address.c_str(), 0)) == 1;
    return f;
}

std::string days(std::chrono::seconds left)
{
    return std::to_string(std::chrono::duration_cast<std::chrono::days>(left).count()) + " days";
}

// With what a handshake leaves behind.
struct handshake {
    tls_stream stream;
    std::optional<facts> server = {};
    std::string fault = {}; // why the certificate is not to be trusted
};

void look_at_certificate(handshake& h, const std::string& name)
{
    h.stream.set_verify_mode(ssl::verify_peer);
    h.stream.set_verify_callback([&h, name](bool good, ssl::verify_context& context) {
        auto* const store = context.native_handle();
        if (!good && h.fault.empty()) {
            h.fault = X509_verify_cert_error_string(X509_STORE_CTX_get_error(store));
        }
        if (X509_STORE_CTX_get_error_depth(store) == 0) {
            h.server = facts_of(X509_STORE_CTX_get_current_cert(store), name);
        }
        return true; // to see the rest
    });
}

void judge(const handshake& h, const client_options& options, const endpoint& at,
           const boost::system::error_code& failed, findings& found)
{
    const auto who = shown(at) + ": ";
    if (!h.server) {
        found.add(severity::unknown, "certificate",
                  who + "no certificate: " + (failed ? failed.message() : "none was shown") +
                      "; see whether this is its secureClientPort");
        return;
    }
    const auto& s = *h.server;
    const auto what = who + s.subject + ", issued by " + s.issuer;
    const bool is_checked = options.tls_verify != tls_verification::off;
    if (s.left <= 0s) {
        found.add(severity::error, "certificate",
                  what + ", expired " + days(-s.left) + " ago; renew it");
    } else if (!h.fault.empty()) {
        found.add(is_checked ? severity::error : severity::warning, "certificate",
                  what + ", is not to be trusted: " + h.fault +
                      "; name the authority that has issued it in --tls-ca");
    } else if (!s.is_for_name) {
        const auto is_fault = options.tls_verify == tls_verification::full;
        found.add(is_fault ? severity::error : severity::warning, "certificate",
                  what +
                      ", is not for this name; give it one for it, or name one that it is for in "
                      "--tls-server-name");
    } else if (s.left < soon) {
        found.add(severity::warning, "certificate",
                  what + ", expires in " + days(s.left) + "; renew it");
    } else if (options.tls_verify != tls_verification::full) {
        found.add(severity::warning, "certificate",
                  what + ", is good for " + days(s.left) +
                      ", but --tls-verify does not have its name checked; leave that out",
                  std::getenv("COLOCK_TLS_VERIFY") ? "unset COLOCK_TLS_VERIFY" : std::string{});
    } else {
        found.good("certificate", what + ", is for this name, and good for " + days(s.left));
    }
}

void judge_own(const client_options& options, findings& found)
{
    auto* const own = SSL_CTX_get0_certificate(options.tls->native_handle());
    if (!own) {
        return;
    }
    const auto f = facts_of(own, {});
    const auto what = "ours: " + f.subject + ", issued by " + f.issuer;
    if (f.left <= 0s) {
        found.add(severity::error, "certificate",
                  what + ", expired " + days(-f.left) + " ago; renew it");
    } else if (f.left < soon) {
        found.add(severity::warning, "certificate",
                  what + ", expires in " + days(f.left) + "; renew it");
    } else {
        found.good("certificate", what + ", is good for " + days(f.left));
    }
}

} // namespace

asio::awaitable<void> look_at_certificates(const client_options& options, findings& found)
{
    const auto executor = co_await asio::this_coro::executor;
    for (const auto& at : endpoints_of(options.hosts)) {
        handshake h{{executor, *options.tls}};
        const auto name = certified_name(options, at);
        look_at_certificate(h, name);
        const auto first = co_await first_of(shake_hands(h.stream, at, name), pause(3s));
        const boost::system::error_code failed =
            first.index() == 0 ? std::get<0>(first) : asio::error::timed_out;
        ++found.requests;
        if (failed == asio::error::operation_aborted) {
            throw boost::system::system_error{failed};
        }
        judge(h, options, at, failed, found);
    }
    judge_own(options, found);
}

} // namespace colock::cli
