// What comes of making a directory whose ancestors may be there, gone or forbidden.
#include "queue/making_directory.hpp"

#include <boost/test/unit_test.hpp>

#include <vector>

namespace colock::test::making_directory_test {

using colock::protocol::outcome_of_making;

BOOST_AUTO_TEST_SUITE(making_directory)

BOOST_AUTO_TEST_CASE(what_comes_of_making_a_directory)
{
    const error_code there = zookeeper_errc::node_exists;
    const error_code denied = zookeeper_errc::no_auth;
    const error_code missing = zookeeper_errc::no_node;
    const error_code no_chroot = errc::no_chroot;
    const auto outcome = [](const std::vector<error_code>& of_each) {
        return outcome_of_making(of_each);
    };
    BOOST_TEST(!outcome({there, {}}));
    BOOST_TEST(!outcome({denied, there})); // it may be forbidden to create an ancestor that exists
    BOOST_TEST(outcome({denied, missing}) == denied);
    BOOST_TEST(outcome({there, denied}) == denied);
    BOOST_TEST(!outcome({there, missing})); // the ancestor has gone again: try again
    BOOST_TEST(outcome({missing, missing}) == no_chroot);
    BOOST_TEST(outcome({missing}) == no_chroot);
    BOOST_TEST(outcome({}) == no_chroot);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::making_directory_test
