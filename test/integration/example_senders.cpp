// The example takes a lock, and releases it, by senders.
#include "example_scene.hpp"

namespace colock::test::example_senders_test {

BOOST_AUTO_TEST_SUITE(example_senders)

BOOST_FIXTURE_TEST_CASE(senders_take_a_lock, example_scene)
{
    example alone{"senders", {server.hosts()}};
    BOOST_TEST(alone.line().starts_with("granted, token "));
    BOOST_TEST(alone.wait().success());
    check_nothing_left();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::example_senders_test
