// Every interleaving of readers and writers in one queue, also with a process of Curator's that holds the write
// lock first and may step down to a reader: with the number that it had, which is lower than all that wait.

#include "walk.hpp"

using colock::model::explore;

BOOST_AUTO_TEST_SUITE(sharing)

BOOST_AUTO_TEST_CASE(G1_G2_G4_undisturbed)
{
    explore({.readers = "rrw"}, 30'000);
    explore({.readers = "rwr"}, 30'000);
    explore({.readers = "wrr"}, 30'000);
    explore({.readers = "wrw"}, 30'000);
    explore({.readers = "rrr"}, 30'000);
}

BOOST_AUTO_TEST_CASE(G3_one_cancels)
{
    explore({.readers = "rwr", .cancels = 1}, 360'000);
    explore({.readers = "wrw", .cancels = 1}, 460'000);
}

BOOST_AUTO_TEST_CASE(G4_a_connection_breaks)
{
    for (const auto* who : {"rw", "wr"}) {
        explore({.clients = 2, .readers = who, .breaks = 2}, 21'000);
    }
    explore({.readers = "rwr", .breaks = 1}, 550'000);
    explore({.readers = "wrw", .breaks = 1}, 560'000);
}

BOOST_AUTO_TEST_CASE(G5_a_session_expires)
{
    for (const auto* who : {"rw", "wr"}) {
        explore({.clients = 2, .readers = who, .breaks = 1, .expiries = 1}, 82'000);
    }
    explore({.readers = "rwr", .expiries = 1}, 1'700'000);
    explore({.readers = "wrw", .expiries = 1}, 2'000'000);
}

BOOST_AUTO_TEST_CASE(G1_G5_a_node_is_deleted_by_somebody)
{
    for (const auto* who : {"rw", "wr"}) {
        explore({.clients = 2, .readers = who, .breaks = 1, .removals = 1}, 73'000);
    }
    explore({.readers = "rwr", .removals = 1}, 1'600'000);
    explore({.readers = "wrw", .removals = 1}, 2'000'000);
}

BOOST_AUTO_TEST_CASE(try_two_of_three_one_cancels)
{
    explore({.tries = 2, .readers = "rrw", .cancels = 1}, 50'000);
    explore({.tries = 2, .readers = "wwr", .cancels = 1}, 50'000);
    explore({.tries = 2, .readers = "wrr", .cancels = 1}, 50'000);
}

BOOST_AUTO_TEST_CASE(G7_four_queue_up_and_one_cancels)
{
    for (const auto* who : {"wrrw", "wrww", "rwrw", "rrrw"}) {
        explore({.clients = 4, .readers = who, .cancels = 1, .one_by_one = true}, 30'000);
    }
}

BOOST_AUTO_TEST_CASE(G7_a_writer_wakes_the_readers_behind_it_and_no_others)
{
    explore({.clients = 5, .readers = "wrrrw", .one_by_one = true}, 30'000);
    explore({.clients = 5, .readers = "wrrwr", .one_by_one = true}, 30'000);
}

// ---- stepping down

BOOST_AUTO_TEST_CASE(G1_G2_G4_one_steps_down)
{
    for (const auto* who : {"wr", "ww"}) {
        explore({.clients = 2, .readers = who, .downgrades = 2}, 3'500);
    }
    explore({.readers = "wrr", .downgrades = 1}, 280'000);
    for (const auto* who : {"wrw", "wwr", "www"}) {
        explore({.readers = who, .downgrades = 1}, 500'000);
    }
}

BOOST_AUTO_TEST_CASE(G3_one_steps_down_and_one_cancels_or_loses_its_connection)
{
    explore({.clients = 2, .readers = "wr", .cancels = 1, .breaks = 2, .downgrades = 2}, 289'000);
    explore({.clients = 2, .readers = "ww", .cancels = 1, .breaks = 2, .downgrades = 2}, 550'000);
}

// Its next transaction tells what became of the one whose answer was lost.
BOOST_AUTO_TEST_CASE(G3_one_steps_down_and_may_list_no_more)
{
    for (const auto* who : {"wr", "ww"}) {
        explore({.clients = 2,
                 .readers = who,
                 .cancels = 1,
                 .breaks = 1,
                 .denials = 1,
                 .downgrades = 1},
                who[1] == 'w' ? 141'000 : 78'000);
    }
}

// A contender forgets with its node what a listing has shown. So fewer states follow a loss than ways lead to it.
BOOST_AUTO_TEST_CASE(G5_one_steps_down_and_loses_its_node_or_its_session)
{
    for (const auto* who : {"ww", "wr"}) {
        const std::size_t more = who[1] == 'w' ? 200'000 : 0;
        explore({.clients = 2, .readers = who, .breaks = 1, .removals = 1, .downgrades = 1},
                313'000 + more);
        explore({.clients = 2, .readers = who, .breaks = 1, .expiries = 1, .downgrades = 1},
                341'000 + more);
        explore({.clients = 2, .readers = who, .refusals = 2, .downgrades = 1}, 70'000);
    }
}

// ---- beside a process that steps down

BOOST_AUTO_TEST_CASE(G1_G4_a_writer_becomes_a_reader)
{
    for (const auto* who : {"rw", "wr", "ww", "rr"}) {
        explore({.clients = 2, .readers = who, .foreigner = true}, 1'000);
    }
    explore({.readers = "wrw", .foreigner = true}, 1'400'000);
    explore({.readers = "rww", .foreigner = true}, 1'400'000);
}

BOOST_AUTO_TEST_CASE(G1_a_writer_becomes_a_reader_and_a_connection_breaks)
{
    explore({.clients = 2, .readers = "ww", .breaks = 2, .foreigner = true}, 330'000);
    explore({.clients = 2, .readers = "rw", .breaks = 2, .foreigner = true}, 262'000);
}

BOOST_AUTO_TEST_CASE(G1_a_writer_becomes_a_reader_and_another_cancels_or_is_robbed)
{
    explore({.clients = 2, .readers = "ww", .removals = 1, .foreigner = true}, 374'000);
    explore({.clients = 2, .readers = "rw", .removals = 1, .foreigner = true}, 242'000);
    explore({.clients = 2, .readers = "ww", .cancels = 1, .foreigner = true}, 126'000);
    explore({.clients = 2, .readers = "ww", .cancels = 1, .removals = 1, .foreigner = true},
            2'500'000);
    explore({.clients = 2, .readers = "rw", .cancels = 1, .removals = 1, .foreigner = true},
            1'400'000);
}

BOOST_AUTO_TEST_SUITE_END()
