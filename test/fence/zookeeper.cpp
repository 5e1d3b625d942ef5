// ZooKeeper refuses the late write of an earlier holder, by guarded().
#include "fence_scene.hpp"

using namespace colock::test;

BOOST_AUTO_TEST_SUITE(fence_zookeeper)

BOOST_AUTO_TEST_CASE(a_late_write_is_refused)
{
    fence_scene{"fenced_zookeeper", "nothing"}.late_write_is_refused();
}

BOOST_AUTO_TEST_CASE(what_another_has_written_is_shown_printable)
{
    fence_scene scene{"fenced_zookeeper", "nothing"};
    scene.start().writes("news\x1b[2J");
    BOOST_TEST(scene.reads() == "news\\x1b[2J");
}

BOOST_AUTO_TEST_SUITE_END()
