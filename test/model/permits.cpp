// The semaphore's rules, in every order of events.
#include "explore.hpp"
#include "permits_world.hpp"

#include <boost/test/unit_test.hpp>

namespace permits = colock::model::permits;
using colock::model::permits::scenario;

namespace {

void explore(const scenario& s, std::size_t floor)
{
    colock::model::explore_by<permits::exhaustive_walk>(s, floor);
}

} // namespace

BOOST_AUTO_TEST_SUITE(permits_model)

BOOST_AUTO_TEST_CASE(G1_G2_G4_undisturbed)
{
    explore({}, 1'200);
}

BOOST_AUTO_TEST_CASE(G1_G4_one_wants_many)
{
    explore({.sessions = 3, .wanted = {1, 2, 1}, .permits = 2}, 60'000);
}

BOOST_AUTO_TEST_CASE(G1_G4_several_of_one_session)
{
    explore({.acquisitions = 2}, 70'000);
}

BOOST_AUTO_TEST_CASE(G3_one_cancels_at_any_moment)
{
    explore({.cancels = 1, .deadlines = 1}, 20'000);
}

BOOST_AUTO_TEST_CASE(G3_one_of_several_cancels_and_a_connection_breaks)
{
    explore({.sessions = 1, .acquisitions = 2, .cancels = 1, .breaks = 2}, 15'000);
}

BOOST_AUTO_TEST_CASE(G1_G3_G4_a_connection_breaks)
{
    explore({.wanted = {2, 1}, .permits = 2, .breaks = 1}, 8'000);
}

BOOST_AUTO_TEST_CASE(G3_cancel_and_break)
{
    explore({.cancels = 1, .breaks = 1}, 45'000);
}

BOOST_AUTO_TEST_CASE(G3_a_deadline_and_two_breaks)
{
    explore({.deadlines = 1, .breaks = 2}, 110'000);
}

BOOST_AUTO_TEST_CASE(G1_G4_a_session_expires)
{
    explore({.breaks = 1, .expiries = 1}, 170'000);
}

BOOST_AUTO_TEST_CASE(G1_G5_a_session_expires_and_its_nodes_go_later)
{
    explore({.breaks = 1, .expiries = 1, .ghosts = true}, 230'000);
}

BOOST_AUTO_TEST_CASE(G3_expiry_is_an_error)
{
    explore({.cancels = 1, .expiries = 1, .rejoin_on_expiry = false}, 70'000);
}

BOOST_AUTO_TEST_CASE(G1_G4_permits_are_deleted_by_somebody)
{
    explore({.breaks = 1, .removals = 1}, 18'000);
}

BOOST_AUTO_TEST_CASE(G2_G4_a_place_in_the_queue_is_deleted_by_somebody)
{
    explore({.cancels = 1, .queue_removals = 1}, 80'000);
}

BOOST_AUTO_TEST_CASE(G2_G4_the_lock_of_the_queue_counts_as_lost)
{
    explore({.breaks = 1, .doubts = 1}, 38'000);
}

BOOST_AUTO_TEST_CASE(G4_the_directory_is_missing_and_may_vanish_again)
{
    explore({.refusals = 1, .reaps = 1, .directory_exists = false}, 11'000);
    explore({.refusals = 1, .reaps = 2, .directory_exists = false}, 50'000);
}

BOOST_AUTO_TEST_CASE(G4_the_directory_is_missing_and_a_connection_breaks)
{
    explore({.cancels = 1, .breaks = 1, .directory_exists = false}, 75'000);
}

BOOST_AUTO_TEST_CASE(G1_G4_the_limit_rises)
{
    explore({.permits = 0, .counter = true, .later = 2, .breaks = 1}, 15'000);
}

BOOST_AUTO_TEST_CASE(G1_G4_the_limit_rises_where_there_is_no_directory)
{
    explore({.sessions = 1,
             .permits = 0,
             .counter = true,
             .later = 1,
             .cancels = 1,
             .directory_exists = false},
            330);
}

BOOST_AUTO_TEST_CASE(G1_G4_the_limit_falls)
{
    explore({.permits = 2, .counter = true, .later = 1, .cancels = 1}, 28'000);
}

BOOST_AUTO_TEST_CASE(try_beside_one_who_waits)
{
    explore({.tries = 1, .cancels = 1, .breaks = 1}, 40'000);
}

BOOST_AUTO_TEST_CASE(try_with_a_counter)
{
    explore({.tries = 2, .counter = true, .cancels = 1, .breaks = 1}, 40'000);
}

BOOST_AUTO_TEST_CASE(G1_others_have_another_number)
{
    explore({.elsewhere = 2, .cancels = 1, .breaks = 1}, 17'000);
}

BOOST_AUTO_TEST_CASE(G1_clients_have_different_numbers)
{
    explore({.acquisitions = 2, .numbers = {2, 1}, .directory_exists = false}, 280'000);
    explore({.numbers = {1, 2}, .cancels = 1, .breaks = 1, .directory_exists = false}, 1'000);
    explore({.numbers = {1, 2}, .elsewhere = 1, .expiries = 1, .reaps = 1}, 1'000);
}

BOOST_AUTO_TEST_CASE(G1_a_lock_of_another_kind_comes_at_any_moment)
{
    explore({.rivals = 1}, 1'000);
    explore({.cancels = 1, .breaks = 1, .rivals = 1, .directory_exists = false}, 10'000);
    explore({.permits = 0, .counter = true, .later = 1, .rivals = 1, .directory_exists = false},
            1'000);
}

BOOST_AUTO_TEST_CASE(a_lock_of_another_kind)
{
    explore({.other_kind = true, .cancels = 1}, 3'500);
}

BOOST_AUTO_TEST_SUITE_END()
