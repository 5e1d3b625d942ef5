// The same conversations with a real ZooKeeper server and with the simulated one. What both say is compared, line by
// line.
#include "compare.hpp"
#include "script.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>

using namespace world::conversation;
using namespace std::chrono_literals;

namespace {

void talk_about_anything(const side_options& o)
{
    const auto real = make_real_side(o);
    const auto simulated = make_simulated_side(o, real->exists_needs_read());
    compare_about_anything(*real, *simulated);
}

} // namespace

BOOST_AUTO_TEST_SUITE(conversation)

BOOST_AUTO_TEST_CASE(about_anything)
{
    talk_about_anything({});
}

BOOST_AUTO_TEST_CASE(about_anything_with_three_servers)
{
    talk_about_anything({.servers = 3});
}

BOOST_AUTO_TEST_CASE(about_lists_that_change)
{
    for (const std::size_t servers : {1u, 3u}) {
        const side_options o{.servers = servers};
        const auto real = make_real_side(o);
        const auto simulated = make_simulated_side(o, real->exists_needs_read());
        BOOST_TEST_CONTEXT("servers " << servers)
        {
            compare_about_lists_that_change(*real, *simulated);
        }
    }
}

BOOST_AUTO_TEST_CASE(about_the_end_of_the_numbers)
{
    const side_options o{.from = near_the_end()};
    const auto real = make_real_side(o);
    const auto simulated = make_simulated_side(o, real->exists_needs_read());
    compare(the_end_of_the_numbers(*real, 1), the_end_of_the_numbers(*simulated, 1));
}

BOOST_AUTO_TEST_CASE(about_what_the_server_removes)
{
    const side_options o{.container_check = 100ms};
    const auto real = make_real_side(o);
    const auto simulated = make_simulated_side(o, real->exists_needs_read());
    compare(what_the_server_removes(*real), what_the_server_removes(*simulated));
}

BOOST_AUTO_TEST_SUITE_END()
