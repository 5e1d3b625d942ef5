// Walks through everything that can happen to the users of one path in one client: the cohort that lets them in, the
// contenders that stand in the queue for them, ZooKeeper, and another client in the queue.
#include "explore.hpp"
#include "hand_off_checks.hpp"

using colock::model::hand_off::laboratory;
using colock::model::hand_off::scenario;
using colock::model::hand_off::world;

namespace {

void explore(const scenario& s, std::size_t floor)
{
    colock::model::explore_by<colock::model::depth_first_walk<world, laboratory>>(s, floor);
}

} // namespace

BOOST_AUTO_TEST_SUITE(hand_off)

BOOST_AUTO_TEST_CASE(G1_G2_G4_undisturbed)
{
    explore({}, 37'100);
    explore({.users = {2, 2}}, 47'800);
    explore({.users = {4}}, 1'000);
    explore({.users = {3, 1}, .max_grants = 2}, 37'800);
}

BOOST_AUTO_TEST_CASE(G4_some_only_try)
{
    explore({.users = {1, 1}, .tries = 1}, 46'000);
    explore({.users = {2, 1}, .tries = 1}, 430'000);
}

BOOST_AUTO_TEST_CASE(G3_waiters_cancel_at_any_moment)
{
    explore({.users = {2, 1}, .cancels = 2}, 48'000);
    explore({.users = {3, 1}, .cancels = 1}, 238'000);
    explore({.users = {1, 1}, .tries = 1, .cancels = 2}, 138'000);
}

BOOST_AUTO_TEST_CASE(G2_G3_G4_the_connection_breaks)
{
    explore({.breaks = 1}, 374'000);
    explore({.users = {3}, .breaks = 2}, 21'000);
    explore({.users = {2, 1}, .cancels = 1, .breaks = 1}, 185'000);
}

BOOST_AUTO_TEST_CASE(G1_G3_G5_the_session_expires)
{
    explore({.users = {2, 1}, .expiries = 1}, 65'700);
    explore({.users = {2, 1}, .expiries = 1, .rejoin_on_expiry = false}, 43'600);
    explore({.users = {3}, .expiries = 2}, 23'800);
}

BOOST_AUTO_TEST_CASE(G1_G5_a_node_is_deleted_by_somebody)
{
    explore({.users = {2, 1}, .removals = 1}, 185'000);
    explore({.users = {3}, .removals = 1}, 8'000);
}

BOOST_AUTO_TEST_CASE(G2_G3_a_node_lingers)
{
    explore({.users = {3, 1}, .lingers = true}, 49'000);
    explore({.users = {2, 1}, .lingers = true, .cancels = 1}, 43'000);
    explore({.users = {2, 1}, .lingers = true, .breaks = 1}, 116'000);
    explore({.users = {2, 1}, .lingers = true, .expiries = 1}, 129'000);
    explore({.users = {1, 1}, .lingers = true, .removals = 1}, 26'000);
}

BOOST_AUTO_TEST_CASE(G1_G4_readers_hold_it_together)
{
    explore({.users = {3, 1}, .readers = true}, 32'700);
    explore({.users = {2, 1}, .readers = true, .cancels = 1}, 23'900);
    explore({.users = {2, 1}, .readers = true, .breaks = 1}, 43'800);
    explore({.users = {2, 1}, .readers = true, .expiries = 1}, 54'100);
    explore({.users = {2, 1}, .readers = true, .removals = 1}, 167'000);
}

BOOST_AUTO_TEST_CASE(G1_G3_G4_near_the_end_of_the_numbers)
{
    using colock::protocol::late_from_number;
    explore({.users = {3}, .first_number = late_from_number}, 100);
    explore({.users = {1, 1}, .first_number = late_from_number}, 100);
    explore({.users = {2, 1}, .first_number = late_from_number}, 1'000);
    explore({.users = {2, 1}, .first_number = late_from_number - 1}, 1'000);
    explore({.users = {2}, .cancels = 1, .breaks = 1, .first_number = late_from_number}, 1'000);
}

BOOST_AUTO_TEST_CASE(two_adversities)
{
    explore({.users = {1, 1}, .cancels = 1, .breaks = 1, .expiries = 1}, 62'000);
    explore({.users = {1, 1}, .breaks = 1, .expiries = 1, .removals = 1}, 416'000);
    explore({.users = {2, 2}, .cancels = 1, .breaks = 1}, 1'903'000);
    explore({.users = {2, 1}, .breaks = 1, .expiries = 1}, 468'000);
    explore({.users = {2, 1}, .breaks = 1, .removals = 1}, 1'053'000);
    explore({.users = {2, 1}, .expiries = 1, .removals = 1}, 2'254'000);
    explore({.users = {2, 1}, .lingers = true, .cancels = 1, .breaks = 1}, 438'000);
    explore({.users = {2, 1}, .lingers = true, .breaks = 1, .removals = 1}, 3'102'000);
    explore({.users = {2, 1}, .tries = 1, .breaks = 1}, 4'262'000);
}

BOOST_AUTO_TEST_SUITE_END()
