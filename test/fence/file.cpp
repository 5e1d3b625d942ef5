// A file refuses the late write of an earlier holder.
#include <support/temporary_directory.hpp>

#include "fence_scene.hpp"

using namespace colock::test;

namespace {

struct in_file {
    const temporary_directory directory;
    fence_scene scene{"fenced_file", "nothing", directory.path() + "/note.txt"};
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(fence_file, in_file)

BOOST_AUTO_TEST_CASE(a_late_write_is_refused)
{
    scene.late_write_is_refused();
}

BOOST_AUTO_TEST_CASE(a_write_after_reading_is_refused)
{
    scene.write_after_reading_is_refused();
}

BOOST_AUTO_TEST_SUITE_END()
