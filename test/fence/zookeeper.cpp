// ZooKeeper refuses the late write of an earlier holder, by guarded().
#include "fence_scene.hpp"

using namespace colock::test;

BOOST_AUTO_TEST_SUITE(fence_zookeeper)

BOOST_AUTO_TEST_CASE(a_late_write_is_refused)
{
    fence_scene{"fenced_zookeeper", "nothing"}.late_write_is_refused();
}

BOOST_AUTO_TEST_SUITE_END()
