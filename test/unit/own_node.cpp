#include "queue/own_node.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace colock::test::own_node_test {

namespace {

using colock::detail::own_node;

const std::string me = "me"; // what it is made with

BOOST_AUTO_TEST_SUITE(own_nodes)

BOOST_AUTO_TEST_CASE(a_request_is_news_once)
{
    own_node node;
    BOOST_TEST(!node.read("me", me));
    BOOST_TEST(!node.is_asked_for());
    BOOST_TEST(node.read("__REVOKE__", me));
    BOOST_TEST(node.is_asked_for());
    BOOST_TEST(!node.read("__REVOKE__", me));
    BOOST_TEST(!node.read("me\n__REVOKE__", me)); // what is written back
    BOOST_TEST(node.is_asked_for());
    BOOST_TEST(node.data(me) == "me");
}

// What a leader has proclaimed is written back, and not what the node was made with.
BOOST_AUTO_TEST_CASE(a_request_does_not_take_the_place_of_what_the_owner_has_written)
{
    own_node node;
    node.keep("I, the leader", me);
    BOOST_TEST(node.read("__REVOKE__", me));
    BOOST_TEST(node.data(me) == "I, the leader");
    node.keep("me", me);
    BOOST_TEST(node.data(me) == "me");
}

BOOST_AUTO_TEST_CASE(nobody_has_asked_for_a_node_that_is_made_anew)
{
    own_node node;
    node.keep("I, the leader", me);
    BOOST_TEST(node.read("__REVOKE__", me));
    node.begin_anew();
    BOOST_TEST(!node.is_asked_for());
    BOOST_TEST(node.data(me) == "me");
    BOOST_TEST(node.read("__REVOKE__", me));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace

} // namespace colock::test::own_node_test
