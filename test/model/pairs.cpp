// Every interleaving of three contenders and two different adversities, and of some more: about ten
// million states each.

#include "walk.hpp"

using colock::model::explore;

BOOST_AUTO_TEST_SUITE(pairs)

BOOST_AUTO_TEST_CASE(G3_cancel_and_break)
{
    explore({.cancels = 1, .breaks = 1}, 2'800'000);
}

BOOST_AUTO_TEST_CASE(G3_cancel_and_expiry)
{
    explore({.cancels = 1, .expiries = 1}, 11'000'000);
}

BOOST_AUTO_TEST_CASE(G3_cancel_and_deletion)
{
    explore({.cancels = 1, .removals = 1}, 9'000'000);
}

BOOST_AUTO_TEST_CASE(G1_break_and_expiry)
{
    explore({.breaks = 1, .expiries = 1}, 12'000'000);
}

BOOST_AUTO_TEST_CASE(G1_break_and_deletion)
{
    explore({.breaks = 1, .removals = 1}, 11'000'000);
}

BOOST_AUTO_TEST_CASE(G1_expiry_and_deletion)
{
    explore({.expiries = 1, .removals = 1, .one_by_one = true}, 1'000'000);
}

BOOST_AUTO_TEST_CASE(G1_break_expiry_and_deletion)
{
    explore({.breaks = 1, .expiries = 1, .removals = 1, .one_by_one = true}, 12'000'000);
}

BOOST_AUTO_TEST_CASE(G2_G4_four_undisturbed)
{
    explore({.clients = 4}, 4'500'000);
}

BOOST_AUTO_TEST_CASE(G7_two_of_four_cancel_and_lose_their_nodes)
{
    explore({.clients = 4, .cancels = 1, .removals = 1, .one_by_one = true}, 4'200'000);
}

BOOST_AUTO_TEST_CASE(G7_one_of_five_loses_its_node)
{
    explore({.clients = 5, .removals = 1, .one_by_one = true}, 6'000'000);
}

// See sequence_end.cpp.

BOOST_AUTO_TEST_CASE(G3_one_cancels_at_the_end_of_the_numbers)
{
    explore({.cancels = 1, .first_number = colock::protocol::late_from_number}, 5'700'000);
}

BOOST_AUTO_TEST_CASE(G4_a_connection_breaks_at_the_end_of_the_numbers)
{
    explore({.breaks = 1, .first_number = colock::protocol::late_from_number - 1}, 6'300'000);
}

BOOST_AUTO_TEST_SUITE_END()
