// Whom a client does not speak to by TLS, and who does not speak to it: each is refused with a text of its own.
#include <support/figures.hpp>
#include <support/loopback_port.hpp>
#include <support/sanitizers.hpp>

#include "tls_scene.hpp"

#include <boost/asio/ip/tcp.hpp>

using namespace colock::test;

using colock::client_options;
using colock::errc;
using colock::tls_verification;

namespace {

// A server that shows another certificate than it should.
std::string impostor(certificate shown)
{
    static std::vector<std::unique_ptr<zookeeper_server>> all;
    all.push_back(std::make_unique<zookeeper_server>(
        zookeeper_options{.tls = our_authority(), .tls_certificate = std::move(shown)}));
    return all.back()->secure_connect_string();
}

// What the log of a refused client says after the name of the server. On a busy machine the server may need more than the second
// that the first attempt has; then the refusal is that of another attempt.
std::string refusal_of(client_options options)
{
    const auto where = options.hosts.empty() ? tls_server().secure_connect_string() : options.hosts;
    const auto begin = "server " + where;
    tls_scene s{std::move(options)};
    const outcome<> o;
    s.zk.async_connect(o.handler());
    const auto refusal = [&] {
        return std::ranges::find_if(s.log, [&](const auto& line) {
            return line.starts_with(begin) && !line.ends_with(" in time");
        });
    };
    BOOST_REQUIRE(becomes_true(s.io, [&] { return refusal() != s.log.end(); }));
    BOOST_TEST(s.zk.stats().sessions == 0u);
    BOOST_TEST(!o.done());
    return refusal()->substr(begin.size());
}

void check(const std::string& refusal, const std::string& text)
{
    BOOST_TEST_CONTEXT(refusal)
    {
        // With TLS 1.3 the server refuses when the client's handshake is over: then the connection breaks off.
        BOOST_TEST((refusal.starts_with(": " + text) || refusal.starts_with(": TLS: " + text)));
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(tls_refusals)

BOOST_AUTO_TEST_CASE(a_certificate_for_another_name_or_address_is_refused)
{
    const auto context = client_context(*our_authority(), our_client());
    check(refusal_of({.tls = context, .tls_server_name = "zk1.example"}),
          "the server's certificate is for localhost, 127.0.0.1, not for zk1.example");
    check(refusal_of({.tls = context, .tls_server_name = "10.1.2.3"}),
          "the server's certificate is for localhost, 127.0.0.1, not for 10.1.2.3");
    const auto named = our_authority()->issue({.name = "zk1", .dns_names = {"zk1.example"}});
    check(refusal_of({.hosts = impostor(named), .tls = context}),
          "the server's certificate is for zk1.example, not for 127.0.0.1");
}

BOOST_AUTO_TEST_CASE(a_certificate_that_nobody_vouches_for_is_refused)
{
    const auto context = client_context(*our_authority(), our_client());
    const certificate_subject here{
        .name = "server", .dns_names = {"localhost"}, .addresses = {"127.0.0.1"}};
    auto expired = here;
    expired.expired = true;
    const certificate_authority foreign;
    const std::string refused = "the server's certificate is refused: ";
    check(refusal_of({.hosts = impostor(our_authority()->issue(expired)), .tls = context}),
          refused + "certificate has expired");
    check(refusal_of({.hosts = impostor(our_authority()->self_signed(here)), .tls = context}),
          refused + "self-signed certificate");
    check(refusal_of({.hosts = impostor(foreign.issue(here)), .tls = context}),
          refused + "unable to get local issuer certificate");
    check(refusal_of({.tls = client_context(foreign, our_client())}), refused);
}

BOOST_AUTO_TEST_CASE(a_client_that_the_server_does_not_know_is_told_so)
{
    check(refusal_of({.tls = client_context(*our_authority())}),
          "the server asks for a client certificate, and the context has none (");
    const certificate_authority foreign;
    check(refusal_of({.tls = client_context(*our_authority(), foreign.issue({.name = "client"}))}),
          "the server refuses the client's certificate (");
}

BOOST_AUTO_TEST_CASE(tls_at_a_plain_port_and_the_reverse_are_told_apart)
{
    check(refusal_of({.hosts = tls_server().connect_string(),
                      .tls = client_context(*our_authority(), our_client())}),
          "the server closed the connection within the TLS handshake; does it speak TLS at this "
          "port?");
    BOOST_TEST(refusal_of({.hosts = tls_server().secure_connect_string()}) ==
               " closed this connection before it answered: perhaps it has no quorum, is "
               "read-only, or has too many connections (maxClientCnxns, throttling), or its port "
               "is for TLS");
}

BOOST_AUTO_TEST_CASE(a_server_that_stops_within_the_handshake_is_given_up_in_time)
{
    // It accepts, and reads nothing.
    boost::asio::io_context io;
    boost::asio::ip::tcp::acceptor silent{io, {boost::asio::ip::address_v4::loopback(), 0}};
    client_options options{.tls = client_context(*our_authority(), our_client())};
    options.hosts = "127.0.0.1:" + std::to_string(silent.local_endpoint().port());
    options.connect_timeout = 3s;
    tls_scene s{options};
    pulse beats{s.io};
    const outcome<> o;
    const auto began = std::chrono::steady_clock::now();
    s.zk.async_connect(colock::bind_diagnostics(s.diagnostics, o.handler()));
    BOOST_REQUIRE(beats.becomes_true([&] { return o.done(); }));
    BOOST_TEST((std::chrono::steady_clock::now() - began < 10s));
    BOOST_TEST(o.error() == errc::connect_timeout);
    BOOST_TEST(s.diagnostics.message() ==
               "server " + options.hosts + " did not finish the TLS handshake in time");
    BOOST_TEST(milliseconds(beats.longest()) < (optimized ? 10 : 1000)); // of three seconds
}

BOOST_AUTO_TEST_CASE(the_error_of_a_refused_client_says_why)
{
    tls_scene s{{.connect_timeout = 4s, // an attempt on a busy machine may take its first second
                 .tls = client_context(*our_authority(), our_client()),
                 .tls_server_name = "zk1.example"}};
    BOOST_TEST(s.connect() == errc::tls_failed);
    BOOST_TEST(s.diagnostics.message() ==
               "server " + tls_server().secure_connect_string() +
                   ": the server's certificate is for localhost, 127.0.0.1, not for zk1.example");
}

BOOST_AUTO_TEST_CASE(nobody_who_listens_is_still_nobody)
{
    const loopback_port nobody;
    BOOST_TEST(refusal_of({.hosts = nobody.address(),
                           .tls = client_context(*our_authority(), our_client())}) ==
               " refuses connections");
}

BOOST_AUTO_TEST_CASE(verification_is_switched_off_by_name_only)
{
    // A context that verifies nobody is the default of OpenSSL, and of Asio.
    const certificate_authority foreign;
    auto careless = client_context(foreign, our_client());
    careless->set_verify_mode(boost::asio::ssl::verify_none);
    check(refusal_of({.tls = careless}), "the server's certificate is refused: ");
    check(refusal_of({.tls = careless, .tls_verify = tls_verification::any_name}),
          "the server's certificate is refused: ");
    tls_scene off{{.tls = careless, .tls_verify = tls_verification::off}};
    BOOST_TEST(off.connect() == colock::error_code{});
    off.close();
    tls_scene any_name{{.tls = client_context(*our_authority(), our_client()),
                        .tls_server_name = "zk1.example",
                        .tls_verify = tls_verification::any_name}};
    BOOST_TEST(any_name.connect() == colock::error_code{});
    any_name.close();
}

BOOST_AUTO_TEST_CASE(options_that_would_be_ignored_are_refused)
{
    for (const client_options& options :
         {client_options{.hosts = "127.0.0.1", .tls_server_name = "zk1.example"},
          client_options{.hosts = "127.0.0.1", .tls_verify = tls_verification::off}}) {
        tls_scene s{options};
        BOOST_TEST(s.connect() == errc::invalid_option);
        BOOST_TEST(s.diagnostics.message().find("tls is not") != std::string::npos);
        BOOST_CHECK_THROW(s.zk.use_tls(client_context(*our_authority())),
                          boost::system::system_error);
    }
    for (const auto* name : {".example", "zk1.example.", "zk1.example:2281", "[::1]", "zk 1"}) {
        tls_scene s{{.tls = client_context(*our_authority()), .tls_server_name = name}};
        BOOST_TEST(s.connect() == errc::invalid_option);
        BOOST_TEST(s.diagnostics.message() == "tls_server_name \"" + std::string{name} +
                                                  "\" is neither a host name nor an address");
    }
    tls_scene with_tls{{.tls = client_context(*our_authority())}};
    BOOST_CHECK_THROW(with_tls.zk.use_tls(nullptr), boost::system::system_error);
}

BOOST_AUTO_TEST_SUITE_END()
