// `colock doctor` and the certificates that servers show.
#include <support/certificates.hpp>
#include <support/zookeeper_server.hpp>

#include "doctor_findings.hpp"

#include <boost/test/unit_test.hpp>

#include <memory>

namespace colock::test {

BOOST_AUTO_TEST_SUITE(health_certificates)

BOOST_AUTO_TEST_CASE(certificates_are_looked_at)
{
    const auto authority = std::make_shared<const certificate_authority>();
    zookeeper_options options;
    options.tls = authority;
    const zookeeper_server secure{options};
    const auto own = authority->issue({.name = "client"});
    const std::vector<std::string> ours{
        "--tls-ca", authority->certificate_file(), "--tls-cert", own.file, "--tls-key", own.key};
    const auto l = look(secure.secure_connect_string(), ours);
    BOOST_TEST(l.status == 0);
    BOOST_TEST(has(l.about("certificate"), "CN="), l.about("certificate"));
    BOOST_TEST(has(l.about("certificate"), "is for this name"), l.about("certificate"));
    BOOST_TEST(has(l.about("certificate"), "ours: CN=client"), l.about("certificate"));
    BOOST_TEST(has(l.about("leader"), "unknown: "));
    BOOST_TEST(has(l.about("tick"), "ok: tickTime is 2.0 s, by the limits"));

    auto named = ours;
    named.insert(named.end(), {"--tls-server-name", "zk1.example"});
    const auto misnamed = look(secure.secure_connect_string(), named);
    BOOST_TEST(misnamed.status == 1);
    BOOST_TEST(has(misnamed.about("certificate"), "error: "));
    BOOST_TEST(has(misnamed.about("certificate"), "is not for this name"));

    const certificate_authority foreign;
    auto others = ours;
    others[1] = foreign.certificate_file();
    const auto distrusted = look(secure.secure_connect_string(), others);
    BOOST_TEST(distrusted.status == 1);
    BOOST_TEST(has(distrusted.about("certificate"), "is not to be trusted: "));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test
