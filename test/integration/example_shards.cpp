// One process owns all shards; a second one takes half of them; when the first one is killed the second one owns all; and it
// hands everything on when it is told to end.
#include "example_scene.hpp"

#include <csignal>
#include <set>
#include <string>

namespace colock::test::example_shards_test {

namespace {

struct scene : example_scene {
    // The shards that the program says it owns, until they are so many.
    static std::set<int> shards_of(example& program, std::size_t count)
    {
        std::set<int> all;
        while (all.size() != count) {
            all.insert(std::stoi(program.skip_to("owns ")));
        }
        return all;
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(example_shards)

BOOST_FIXTURE_TEST_CASE(shards_move_to_those_who_live, scene)
{
    example a{"shards", {"a", server.hosts()}};
    BOOST_TEST(shards_of(a, 8).size() == 8u);
    example b{"shards", {"b", server.hosts()}};
    const auto half = shards_of(b, 4);
    a.kill();
    const auto rest = shards_of(b, 4);
    for (const auto each : half) {
        BOOST_TEST(!rest.contains(each));
    }
    example c{"shards", {"c", server.hosts()}};
    shards_of(c, 4);
    b.send_signal(SIGTERM);
    b.skip_to("has handed everything on");
    shards_of(c, 4);
    BOOST_TEST(c.running());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::example_shards_test
