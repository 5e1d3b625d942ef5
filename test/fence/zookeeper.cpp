// ZooKeeper refuses the late write of an earlier holder, by guarded().
#include "fence_scene.hpp"

using namespace colock::test;

BOOST_AUTO_TEST_SUITE(fence_zookeeper)

BOOST_AUTO_TEST_CASE(a_late_write_is_refused)
{
    fence_scene scene{"fenced_zookeeper", "nothing"};
    auto stale = scene.start();
    scene.write_late(stale);
    // When its connection was found lost only after the first attempt, it cannot know what became of that.
    const auto said = stale.line();
    const auto has = [&](const char* part) { return said.find(part) != said.npos; };
    BOOST_TEST((has("refused: ") || has("may have been carried out") || has("session expired")),
               said);
    BOOST_TEST(stale.wait().code == 1);
    BOOST_TEST(scene.reads() == "good news");
}

BOOST_AUTO_TEST_CASE(what_another_has_written_is_shown_printable)
{
    fence_scene scene{"fenced_zookeeper", "nothing"};
    scene.start().writes("news\x1b[2J");
    BOOST_TEST(scene.reads() == "news\\x1b[2J");
}

BOOST_AUTO_TEST_SUITE_END()
