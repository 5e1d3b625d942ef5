// Every interleaving of contenders, their server and an adversary, with the contenders that ship.
// What has to be true in each state is in world.hpp; a test's name says which guarantee it is
// chiefly about.
//
// A walk has one adversity, or several when it has fewer contenders; pairs.cpp has them in pairs.

#include "walk.hpp"

using colock::model::explore;

BOOST_AUTO_TEST_SUITE(interleavings)

// ---- three contenders

BOOST_AUTO_TEST_CASE(G1_G2_G4_undisturbed)
{
    explore({}, 35'000);
}

BOOST_AUTO_TEST_CASE(G3_one_cancels_at_any_moment)
{
    explore({.cancels = 1}, 300'000);
}

BOOST_AUTO_TEST_CASE(G3_all_may_cancel_at_any_moment)
{
    explore({.clients = 2, .cancels = 2}, 3'700);
    explore({.cancels = 3}, 1'300'000);
}

BOOST_AUTO_TEST_CASE(G4_a_connection_breaks)
{
    explore({.breaks = 1}, 350'000);
}

BOOST_AUTO_TEST_CASE(G4_connections_break_twice)
{
    explore({.clients = 2, .breaks = 2}, 21'000);
    explore({.breaks = 2}, 1'700'000);
}

BOOST_AUTO_TEST_CASE(G5_a_session_expires)
{
    explore({.clients = 2, .expiries = 1}, 12'000);
    explore({.expiries = 1, .one_by_one = true}, 43'000);
    explore({.expiries = 1}, 1'200'000);
}

BOOST_AUTO_TEST_CASE(G5_a_session_expires_and_that_is_an_error)
{
    explore({.clients = 2, .expiries = 1, .rejoin_on_expiry = false}, 6'500);
    explore({.expiries = 1, .rejoin_on_expiry = false}, 500'000);
}

BOOST_AUTO_TEST_CASE(G1_G5_a_node_is_deleted_by_somebody)
{
    explore({.clients = 2, .removals = 1}, 11'000);
    explore({.removals = 1, .one_by_one = true}, 28'000);
    explore({.removals = 1}, 1'100'000);
}

BOOST_AUTO_TEST_CASE(G5_a_node_is_deleted_and_holders_do_not_watch_theirs)
{
    explore({.clients = 2, .removals = 1, .own_watch = false}, 4'700);
    explore({.removals = 1, .own_watch = false}, 600'000);
}

BOOST_AUTO_TEST_CASE(G1_a_node_is_deleted_while_a_proof_is_awaited)
{
    explore({.clients = 2, .removals = 1, .doubts = true}, 16'000);
    explore({.removals = 1, .doubts = true}, 3'400'000);
}

BOOST_AUTO_TEST_CASE(G3_one_cancels_while_a_proof_is_awaited)
{
    explore({.clients = 2, .cancels = 1, .doubts = true}, 5'500);
    explore({.cancels = 1, .doubts = true}, 890'000);
}

BOOST_AUTO_TEST_CASE(G4_a_connection_breaks_while_a_proof_is_awaited)
{
    explore({.clients = 2, .breaks = 1, .doubts = true}, 7'800);
    explore({.breaks = 1, .doubts = true}, 810'000);
}

// Lists are under way when the proof is asked for, and may be answered before it comes.
BOOST_AUTO_TEST_CASE(G1_two_requests_are_refused_while_a_proof_is_awaited)
{
    explore({.clients = 2, .refusals = 2, .doubts = true}, 1'000);
}

BOOST_AUTO_TEST_CASE(G4_a_node_is_written_to)
{
    explore({.changes = 1}, 300'000);
}

BOOST_AUTO_TEST_CASE(G4_a_request_is_refused)
{
    explore({.clients = 2, .refusals = 2}, 5'000);
    explore({.refusals = 1}, 690'000);
}

BOOST_AUTO_TEST_CASE(G4_the_directory_is_missing_and_may_vanish_again)
{
    explore({.clients = 2, .reaps = 1, .directory_exists = false}, 10'000);
    explore({.reaps = 1, .directory_exists = false}, 1'700'000);
}

BOOST_AUTO_TEST_CASE(try_two_of_three_one_cancels)
{
    explore({.tries = 2, .cancels = 1}, 150'000);
}

BOOST_AUTO_TEST_CASE(try_three_a_connection_breaks)
{
    explore({.tries = 3, .breaks = 1}, 200'000);
}

BOOST_AUTO_TEST_CASE(try_one_of_three_a_session_expires)
{
    explore({.clients = 2, .tries = 1, .expiries = 1}, 11'000);
    explore({.tries = 1, .expiries = 1}, 900'000);
}

BOOST_AUTO_TEST_CASE(try_one_of_three_a_node_is_deleted)
{
    explore({.clients = 2, .tries = 1, .removals = 1}, 9'000);
    explore({.tries = 1, .removals = 1}, 800'000);
}

// ---- four contenders queue up, so that a herd would show

BOOST_AUTO_TEST_CASE(G7_one_of_four_cancels)
{
    explore({.clients = 4, .cancels = 1, .one_by_one = true}, 60'000);
}

BOOST_AUTO_TEST_CASE(G7_one_of_four_loses_its_connection)
{
    explore({.clients = 4, .breaks = 1, .one_by_one = true}, 100'000);
}

BOOST_AUTO_TEST_CASE(G7_one_of_four_loses_its_session)
{
    explore({.expiries = 1, .one_by_one = true}, 43'000);
    explore({.clients = 4, .expiries = 1, .one_by_one = true}, 600'000);
}

BOOST_AUTO_TEST_CASE(G7_one_of_four_loses_its_node)
{
    explore({.clients = 4, .removals = 1, .one_by_one = true}, 350'000);
}

// ---- two contenders, more adversity

BOOST_AUTO_TEST_CASE(G4_three_breaks)
{
    explore({.clients = 2, .breaks = 3}, 35'000);
}

BOOST_AUTO_TEST_CASE(G3_two_cancels_two_breaks)
{
    explore({.clients = 2, .cancels = 2, .breaks = 2}, 80'000);
}

BOOST_AUTO_TEST_CASE(G3_cancel_break_expiry)
{
    explore({.clients = 2, .cancels = 1, .breaks = 1, .expiries = 1}, 200'000);
}

BOOST_AUTO_TEST_CASE(G3_cancel_break_deletion)
{
    explore({.clients = 2, .cancels = 1, .breaks = 1, .removals = 1}, 180'000);
}

BOOST_AUTO_TEST_CASE(G1_break_expiry_deletion)
{
    explore({.clients = 2, .expiries = 1, .removals = 1}, 175'000);
    explore({.clients = 2, .breaks = 1, .expiries = 1, .removals = 1}, 750'000);
}

BOOST_AUTO_TEST_CASE(G1_break_write_deletion)
{
    explore({.clients = 2, .breaks = 1, .removals = 1, .changes = 1}, 180'000);
}

BOOST_AUTO_TEST_CASE(G1_cancel_two_deletions_and_the_directory_vanishes)
{
    explore({.clients = 2, .removals = 2, .reaps = 1}, 390'000);
    explore({.clients = 2, .cancels = 1, .removals = 2, .reaps = 1}, 900'000);
}

BOOST_AUTO_TEST_CASE(G4_two_breaks_expiry_and_the_directory_is_missing)
{
    explore({.clients = 2, .breaks = 1, .expiries = 1, .directory_exists = false}, 285'000);
    explore({.clients = 2, .breaks = 2, .expiries = 1, .directory_exists = false}, 600'000);
}

BOOST_AUTO_TEST_CASE(G3_two_cancels_and_two_refusals)
{
    explore({.clients = 2, .cancels = 2, .refusals = 2}, 65'000);
}

BOOST_AUTO_TEST_CASE(G5_two_refusals_and_a_deletion)
{
    explore({.clients = 2, .removals = 1, .refusals = 2}, 170'000);
}

BOOST_AUTO_TEST_CASE(G4_two_refusals_and_the_directory_is_missing)
{
    explore({.clients = 2, .refusals = 2, .directory_exists = false}, 40'000);
}

// ---- one contender, against everything

BOOST_AUTO_TEST_CASE(G3_alone_against_everything)
{
    explore({.clients = 1,
             .cancels = 1,
             .breaks = 2,
             .expiries = 1,
             .removals = 1,
             .refusals = 1,
             .reaps = 1,
             .directory_exists = false},
            120'000);
}

BOOST_AUTO_TEST_CASE(try_alone_is_never_busy)
{
    explore({.clients = 1,
             .tries = 1,
             .cancels = 1,
             .breaks = 1,
             .expiries = 1,
             .removals = 1,
             .refusals = 1,
             .reaps = 1,
             .directory_exists = false},
            50'000);
    explore({.clients = 1,
             .tries = 1,
             .cancels = 1,
             .breaks = 2,
             .expiries = 2,
             .removals = 1,
             .refusals = 2,
             .reaps = 1,
             .directory_exists = false},
            900'000);
}

// ---- the model is not too kind

BOOST_AUTO_TEST_CASE(G3_is_broken_without_the_barrier)
{
    const colock::model::scenario s{.clients = 1, .cancels = 1, .breaks = 1, .barrier = false};
    const auto o = colock::model::exhaustive_walk{s}();
    BOOST_TEST(o.violated.starts_with("G3: a contender is gone, and its node is left"), o.violated);
}

BOOST_AUTO_TEST_CASE(G3_is_broken_when_the_session_is_offered_where_old_requests_lie)
{
    const colock::model::scenario s{
        .clients = 1, .cancels = 1, .breaks = 1, .stalls = true, .offers = 1, .careful = false};
    const auto o = colock::model::exhaustive_walk{s}();
    BOOST_TEST(o.violated.starts_with("G3: a contender is gone, and its node is left"), o.violated);
}

// ---- servers that stall

BOOST_AUTO_TEST_CASE(G3_a_server_stalls_and_attempts_are_given_up)
{
    explore({.clients = 1, .cancels = 1, .breaks = 2, .stalls = true, .offers = 2}, 8'000);
}

BOOST_AUTO_TEST_CASE(G3_a_server_stalls_while_two_contend)
{
    explore({.clients = 2, .cancels = 1, .breaks = 1, .stalls = true, .offers = 1}, 10'000);
}

BOOST_AUTO_TEST_CASE(G3_a_server_stalls_while_a_writer_steps_down)
{
    explore(
        {.clients = 2, .readers = "wr", .breaks = 1, .downgrades = 1, .stalls = true, .offers = 1},
        10'000);
}

// ---- six contenders, everything at once, some paths out of many

BOOST_AUTO_TEST_CASE(random_paths)
{
    for (const std::size_t tries : {0u, 2u}) {
        const colock::model::scenario s{.clients = 6,
                                        .tries = tries,
                                        .cancels = 2,
                                        .breaks = 4,
                                        .expiries = 2,
                                        .removals = 2,
                                        .changes = 2,
                                        .refusals = 2,
                                        .reaps = 1,
                                        .directory_exists = false};
        colock::model::explore_at_random(s, 7 + tries);
    }
}

BOOST_AUTO_TEST_SUITE_END()
