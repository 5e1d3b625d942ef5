// The test support for TLS on trial: certificates, servers with a secure port, and the proxy in front of them.
#include <support/admin_session.hpp>
#include <support/certificates.hpp>
#include <support/subprocess.hpp>
#include <support/tcp_proxy.hpp>
#include <support/tls_question.hpp>
#include <support/wait_until.hpp>
#include <support/zookeeper_server.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>

namespace colock::test::support_tls_test {

using namespace std::chrono_literals;

namespace {

std::shared_ptr<certificate_authority const> authority()
{
    static auto const all_trust = std::make_shared<certificate_authority const>();
    return all_trust;
}

zookeeper_server& server()
{
    static zookeeper_server one{{.tls = authority()}};
    return one;
}

host_and_port at(std::string const& connect_string)
{
    return parse_hosts(connect_string).front();
}

bool openssl(std::vector<std::string> arguments)
{
    arguments.insert(arguments.begin(), "openssl");
    temporary_directory const output;
    subprocess_options options;
    options.output_file = output.path() + "/output";
    return subprocess(std::move(arguments), options).wait().success();
}

bool accepts(certificate_authority const& by, certificate const& what)
{
    return openssl({"verify", "-CAfile", by.certificate_file(), what.file});
}

auto refused()
{
    return [](std::runtime_error const& e) {
        BOOST_TEST_MESSAGE(e.what());
        return std::string(e.what()).find("no answer") == std::string::npos;
    };
}

} // namespace

BOOST_AUTO_TEST_SUITE(support_tls)

BOOST_AUTO_TEST_CASE(a_certificate_is_what_it_was_ordered_to_be)
{
    auto const& ours = *authority();
    certificate_authority const foreign;
    auto const good =
        ours.issue({.name = "A/b c", .dns_names = {"a.test", "b.test"}, .addresses = {"10.0.0.1"}});
    BOOST_TEST(accepts(ours, good));
    BOOST_TEST(!accepts(foreign, good));
    auto const named = [&](std::string const& how, std::string const& name) {
        return openssl(
            {"verify", "-CAfile", ours.certificate_file(), "-verify_" + how, name, good.file});
    };
    BOOST_TEST(named("hostname", "a.test"));
    BOOST_TEST(named("hostname", "b.test"));
    BOOST_TEST(!named("hostname", "c.test"));
    BOOST_TEST(named("ip", "10.0.0.1"));
    BOOST_TEST(!named("ip", "10.0.0.2"));

    BOOST_TEST(!accepts(ours, ours.issue({.name = "old", .expired = true})));
    BOOST_TEST(!accepts(ours, ours.self_signed({.name = "own"})));
    BOOST_TEST(!accepts(ours, foreign.issue({.name = "other"})));
    BOOST_TEST(ours.issue({.name = "A/b c"}).file != good.file);
}

BOOST_AUTO_TEST_CASE(a_server_tells_of_the_clients_of_both_ports)
{
    auto& s = server();
    tls_questioner const over_tls(*authority());
    BOOST_TEST(over_tls.ask(at(s.secure_connect_string()), "srvr", after(10s)).find("Mode: ") !=
               std::string::npos);
    BOOST_TEST(s.connections().empty());
    auto const before = s.packets_received();
    admin_session const plain(s.connect_string());
    BOOST_TEST(s.connections().size() == 1u);
    BOOST_TEST(s.connections().size() == 1u); // what asks is not counted, at either port
    BOOST_TEST(s.packets_received() == before + 1);
}

BOOST_AUTO_TEST_CASE(a_server_takes_no_stranger)
{
    certificate_authority const foreign;
    tls_questioner const stranger(foreign);
    BOOST_CHECK_EXCEPTION(stranger.ask(at(server().secure_connect_string()), "srvr", after(10s)),
                          std::runtime_error, refused());
    BOOST_CHECK_THROW(admin_session(server().secure_connect_string(), {.deadline = 1s}),
                      admin_error);
}

BOOST_AUTO_TEST_CASE(a_server_comes_back_at_its_secure_port)
{
    zookeeper_server own{{.tls = authority()}};
    tls_questioner const over_tls(*authority());
    own.restart();
    BOOST_TEST(over_tls.ask(at(own.secure_connect_string()), "ruok", after(10s)) == "imok");
}

BOOST_AUTO_TEST_CASE(the_proxy_speaks_tls_on_both_sides)
{
    tcp_proxy proxy(server().secure_connect_string(), proxy_tls(*authority()));
    tls_questioner const over_tls(*authority());
    BOOST_TEST(over_tls.ask(at(proxy.connect_string()), "ruok", after(10s)) == "imok");
    BOOST_TEST(over_tls.ask(at(proxy.connect_string()), "wchp", after(10s)).empty() == false);
    BOOST_TEST(proxy.accepted() == 2u);

    certificate_authority const foreign;
    tls_questioner const stranger(foreign);
    BOOST_CHECK_EXCEPTION(stranger.ask(at(proxy.connect_string()), "ruok", after(10s)),
                          std::runtime_error, refused());
    BOOST_CHECK_THROW(admin_session(proxy.connect_string(), {.deadline = 1s}), admin_error);

    // Neither the server nor the proxy takes the other for one of them.
    tcp_proxy to_plain_port(server().connect_string(), proxy_tls(*authority()));
    BOOST_CHECK_THROW(over_tls.ask(at(to_plain_port.connect_string()), "ruok", after(1s)),
                      std::runtime_error);
    BOOST_TEST(wait_until([&] { return proxy.live() == 0; }, 10s));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::support_tls_test
