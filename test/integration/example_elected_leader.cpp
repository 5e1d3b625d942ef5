// When the leader of the example is killed, another candidate takes over, and the third one hears of it.
#include <support/wait_until.hpp>

#include "example_scene.hpp"

namespace colock::test::example_elected_leader_test {

BOOST_AUTO_TEST_SUITE(example_elected_leader)

BOOST_FIXTURE_TEST_CASE(another_candidate_takes_over, example_scene)
{
    constexpr auto leading = "leading, with fencing token ";
    const auto candidates = [&](std::size_t count) {
        return wait_until([&] { return server.nodes("/locks/scheduler").size() == count; }, 30s);
    };
    example a{"elected_leader", {"a", server.hosts()}};
    const auto first = a.skip_to(leading);
    example b{"elected_leader", {"b", server.hosts()}};
    b.line_after("the leader is a");
    BOOST_REQUIRE(candidates(2));
    example c{"elected_leader", {"c", server.hosts()}};
    c.line_after("the leader is a");
    BOOST_REQUIRE(candidates(3));

    a.kill();
    const auto second = b.skip_to(leading);
    BOOST_TEST(first < second);
    c.skip_to("the leader is b");
    BOOST_TEST(c.running());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::example_elected_leader_test
