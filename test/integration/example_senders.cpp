// A sender that is stopped by another one leaves no node.
#include "example_scene.hpp"

using namespace colock::test;

BOOST_FIXTURE_TEST_CASE(senders_take_a_lock_or_give_up, example_scene)
{
    example alone{"senders", {server.hosts()}};
    BOOST_TEST(alone.line().starts_with("granted, token "));
    BOOST_TEST(alone.wait().success());
    check_nothing_left();
}
