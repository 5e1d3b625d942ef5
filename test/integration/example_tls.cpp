// The example of TLS takes its lock below a root that its certificate alone may write to.
#include <support/certificates.hpp>
#include <support/zookeeper_server.hpp>

#include "example_scene.hpp"

namespace colock::test::example_tls_test {

BOOST_AUTO_TEST_SUITE(example_tls)

BOOST_AUTO_TEST_CASE(a_certificate_is_all_that_it_takes)
{
    const auto authority = std::make_shared<const certificate_authority>();
    const zookeeper_server server{{.tls = authority}};
    authority->issue({.name = "client"}); // client.pem and client.key
    for (int i = 0; i != 2; ++i) {        // who makes the root, and who finds it
        example p{"tls", {server.secure_connect_string(), authority->directory()}};
        BOOST_TEST(p.line_after("the till is mine, by token ").size() == 32U);
        BOOST_TEST(p.rest().empty());
        BOOST_TEST(p.wait().success());
    }
    example without{"tls", {server.connect_string(), "/nowhere"}};
    BOOST_TEST(without.wait().code == 1);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::example_tls_test
