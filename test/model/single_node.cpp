// The lock without a queue, in every order of events.
#include "explore.hpp"
#include "single_node_world.hpp"

#include <boost/test/unit_test.hpp>

namespace single = colock::model::single;
using colock::model::single::scenario;

namespace {

void explore(const scenario& s, std::size_t floor)
{
    colock::model::explore_by<single::exhaustive_walk>(s, floor);
}

} // namespace

BOOST_AUTO_TEST_SUITE(single_node_walks)

BOOST_AUTO_TEST_CASE(G1_G4_undisturbed)
{
    explore({.sessions = 3}, 4'200);
}

BOOST_AUTO_TEST_CASE(G1_G3_G4_three_one_cancels_and_a_connection_breaks)
{
    explore({.sessions = 3, .cancels = 1, .breaks = 1}, 91'000);
}

BOOST_AUTO_TEST_CASE(G1_G3_G4_everything_once)
{
    explore({.cancels = 1, .breaks = 1, .expiries = 1, .removals = 1}, 196'000);
    explore({.cancels = 1, .breaks = 1, .expiries = 1, .removals = 1, .strangers = 1}, 1'100'000);
}

BOOST_AUTO_TEST_CASE(G1_G4_the_directory_is_missing_and_may_vanish_again)
{
    explore({.reaps = 2, .directory_exists = false}, 1'200);
}

BOOST_AUTO_TEST_CASE(G1_G3_G4_a_connection_breaks_twice)
{
    explore({.breaks = 2}, 2'800);
}

BOOST_AUTO_TEST_CASE(G3_cancel_break_expiry)
{
    explore({.cancels = 1, .breaks = 1, .expiries = 1}, 27'000);
}

BOOST_AUTO_TEST_CASE(G3_two_cancels_and_two_breaks)
{
    explore({.cancels = 2, .breaks = 2}, 8'200);
}

BOOST_AUTO_TEST_CASE(G1_G5_the_node_is_deleted_by_somebody)
{
    explore({.removals = 2}, 4'700);
}

BOOST_AUTO_TEST_CASE(G1_G5_the_node_is_deleted_and_a_connection_breaks)
{
    explore({.breaks = 1, .removals = 1}, 11'000);
}

BOOST_AUTO_TEST_CASE(G5_it_is_deleted_before_it_is_watched)
{
    explore({.breaks = 1, .removals = 1, .own_watch = false}, 4'300);
}

BOOST_AUTO_TEST_CASE(G4_it_is_written_to_and_a_connection_breaks)
{
    explore({.breaks = 1, .changes = 2}, 5'100);
}

BOOST_AUTO_TEST_CASE(G1_G4_beside_a_foreign_service)
{
    explore({.breaks = 1, .strangers = 2}, 9'700);
}

BOOST_AUTO_TEST_CASE(G1_G3_the_foreign_service_a_cancel_a_deletion)
{
    explore({.cancels = 1, .removals = 1, .strangers = 1}, 22'000);
}

BOOST_AUTO_TEST_CASE(G1_G3_several_of_one_session)
{
    explore({.contenders = 2, .cancels = 1, .breaks = 1}, 390'000);
}

BOOST_AUTO_TEST_CASE(G1_G3_several_of_one_session_alone)
{
    explore({.sessions = 1, .contenders = 2, .cancels = 1, .breaks = 3, .strangers = 1}, 16'000);
}

BOOST_AUTO_TEST_CASE(G1_G3_several_of_one_session_and_a_deletion)
{
    explore(
        {.sessions = 1, .contenders = 2, .cancels = 1, .breaks = 2, .removals = 1, .strangers = 1},
        88'000);
}

BOOST_AUTO_TEST_CASE(try_one_waits_and_one_does_not)
{
    explore({.tries = 1, .cancels = 1, .breaks = 1}, 2'700);
}

BOOST_AUTO_TEST_CASE(try_several_of_one_session)
{
    explore({.contenders = 2, .tries = 2, .breaks = 1}, 86'000);
}

BOOST_AUTO_TEST_CASE(G4_two_refusals)
{
    explore({.cancels = 1, .refusals = 2}, 2'400);
}

BOOST_AUTO_TEST_CASE(G1_proofs_are_awaited)
{
    explore({.cancels = 1, .breaks = 1, .removals = 1, .changes = 1, .doubts = true}, 130'000);
}

BOOST_AUTO_TEST_CASE(G3_expiry_is_an_error)
{
    explore({.breaks = 1, .expiries = 2, .rejoin_on_expiry = false}, 15'000);
}

BOOST_AUTO_TEST_CASE(G3_a_walk_without_the_barrier_finds_the_orphan)
{
    const auto o =
        single::exhaustive_walk{single::scenario{.cancels = 1, .breaks = 1, .barrier = false}}();
    BOOST_TEST(!o.violated.empty());
}

BOOST_AUTO_TEST_SUITE_END()
