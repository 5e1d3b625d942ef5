// The same conversations with `colock serve`, over the wire, and with the simulated server that it is made of. What
// conversation.cpp says of the simulated one holds for the other, too.
#include "compare.hpp"
#include "script.hpp"

#include <boost/test/unit_test.hpp>

using namespace world::conversation;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(served_conversation)

BOOST_AUTO_TEST_CASE(about_anything)
{
    const auto served = make_served_side({});
    const auto simulated = make_simulated_side({}, true);
    compare_about_anything(*served, *simulated);
}

BOOST_AUTO_TEST_CASE(about_lists_that_change)
{
    const auto served = make_served_side({});
    const auto simulated = make_simulated_side({}, true);
    compare_about_lists_that_change(*served, *simulated);
}

BOOST_AUTO_TEST_CASE(about_what_the_server_removes)
{
    const side_options o{.container_check = 100ms};
    const auto served = make_served_side(o);
    const auto simulated = make_simulated_side(o, true);
    compare(what_the_server_removes(*served), what_the_server_removes(*simulated));
}

BOOST_AUTO_TEST_SUITE_END()
