// The same conversations with `colock serve`, over the wire. What conversation.cpp says of the simulated server holds for the
// other one, too.
#include "compare.hpp"
#include "script.hpp"

#include <boost/test/unit_test.hpp>

using namespace world::conversation;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(served_conversation)

// With the simulated server that it is made of.
BOOST_AUTO_TEST_CASE(about_anything)
{
    const auto served = make_served_side({}, true);
    const auto simulated = make_simulated_side({}, true);
    compare_about_anything(*served, *simulated);
}

BOOST_AUTO_TEST_CASE(about_lists_that_change)
{
    const auto served = make_served_side({}, true);
    const auto simulated = make_simulated_side({}, true);
    compare_about_lists_that_change(*served, *simulated);
}

BOOST_AUTO_TEST_CASE(about_what_the_server_removes)
{
    const side_options o{.container_check = 100ms};
    const auto served = make_served_side(o, true);
    const auto simulated = make_simulated_side(o, true);
    compare(what_the_server_removes(*served), what_the_server_removes(*simulated));
}

// With a real one, and nothing in between.
BOOST_AUTO_TEST_CASE(about_anything_with_a_real_server)
{
    const auto real = make_real_side({});
    const auto served = make_served_side({}, real->exists_needs_read());
    compare_about_anything(*served, *real);
}

BOOST_AUTO_TEST_CASE(about_lists_that_change_with_a_real_server)
{
    const auto real = make_real_side({});
    const auto served = make_served_side({}, real->exists_needs_read());
    compare_about_lists_that_change(*served, *real);
}

BOOST_AUTO_TEST_CASE(about_what_a_real_server_removes)
{
    const side_options o{.container_check = 100ms};
    const auto real = make_real_side(o);
    const auto served = make_served_side(o, real->exists_needs_read());
    compare(what_the_server_removes(*served), what_the_server_removes(*real));
}

BOOST_AUTO_TEST_SUITE_END()
