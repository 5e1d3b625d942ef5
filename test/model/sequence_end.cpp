// Every interleaving of contenders in a directory whose counter is near its end: newcomers make way until the queue is
// empty, the directory is removed, and the numbers begin anew.

#include "walk.hpp"

using colock::model::explore;
using colock::protocol::last_number;
using colock::protocol::late_from_number;

BOOST_AUTO_TEST_SUITE(sequence_end)

BOOST_AUTO_TEST_CASE(G1_G4_undisturbed_near_the_end)
{
    explore({.clients = 2, .first_number = late_from_number}, 2'460);
    explore({.first_number = late_from_number, .one_by_one = true}, 66'800);
    explore({.first_number = late_from_number}, 1'900'000);
    explore({.first_number = late_from_number - 1}, 670'000);
    explore({.first_number = late_from_number - 2}, 50'000);
}

BOOST_AUTO_TEST_CASE(G1_G3_G4_readers_and_writers)
{
    for (const auto* who : {"rrr", "wrr", "rrw", "rwr", "wrw"}) {
        explore({.readers = who, .first_number = late_from_number - 1}, 420'000);
    }
    for (const auto* who : {"rr", "rw", "wr"}) {
        explore({.clients = 2, .readers = who, .first_number = late_from_number - 1}, 1'390);
        explore({.clients = 2, .readers = who, .breaks = 1, .first_number = late_from_number},
                19'700);
    }
    explore({.readers = "rrw", .first_number = late_from_number}, 1'700'000);
}

BOOST_AUTO_TEST_CASE(G3_one_cancels)
{
    explore({.clients = 2, .cancels = 1, .first_number = late_from_number - 1}, 4'400);
    explore({.cancels = 1, .first_number = late_from_number - 1}, 1'600'000);
}

BOOST_AUTO_TEST_CASE(G4_connections_break_near_the_end)
{
    explore({.clients = 2, .breaks = 3, .first_number = late_from_number}, 10'000);
    explore({.clients = 2, .breaks = 3, .first_number = late_from_number - 1}, 10'000);
}

BOOST_AUTO_TEST_CASE(G3_two_cancel_and_connections_break)
{
    explore({.clients = 2, .cancels = 2, .breaks = 2, .first_number = late_from_number}, 320'000);
    explore({.clients = 2, .cancels = 2, .breaks = 2, .first_number = late_from_number - 1},
            180'000);
}

BOOST_AUTO_TEST_CASE(G4_G5_sessions_expire)
{
    explore({.clients = 2, .breaks = 1, .expiries = 1, .first_number = late_from_number}, 490'000);
    explore({.clients = 2, .breaks = 1, .expiries = 1, .first_number = late_from_number - 1},
            360'000);
    explore({.clients = 2,
             .cancels = 1,
             .expiries = 1,
             .first_number = late_from_number,
             .rejoin_on_expiry = false},
            44'000);
}

BOOST_AUTO_TEST_CASE(G1_G5_nodes_are_deleted_and_written_to)
{
    explore({.clients = 2, .breaks = 1, .removals = 1, .first_number = late_from_number}, 470'000);
    explore({.clients = 2, .removals = 1, .changes = 1, .first_number = late_from_number - 1},
            120'000);
    explore({.clients = 2, .removals = 1, .first_number = late_from_number, .doubts = true},
            73'000);
}

BOOST_AUTO_TEST_CASE(G4_requests_are_refused)
{
    explore({.clients = 2, .cancels = 1, .refusals = 2, .first_number = late_from_number}, 140'000);
    explore({.clients = 2, .removals = 1, .refusals = 2, .first_number = late_from_number - 1},
            980'000);
}

// A contender forgets with its node what a listing has shown. So fewer states follow a departure than ways lead to it.
BOOST_AUTO_TEST_CASE(G4_the_server_deletes_the_directory_first)
{
    explore({.clients = 2, .breaks = 1, .reaps = 1, .first_number = late_from_number}, 74'000);
}

BOOST_AUTO_TEST_CASE(try_does_not_wait_for_the_directory)
{
    explore({.clients = 2, .tries = 1, .cancels = 1, .breaks = 1, .first_number = late_from_number},
            10'000);
    explore({.tries = 2, .readers = "rrr", .first_number = late_from_number}, 238'000);
    explore({.tries = 1, .readers = "rwr", .cancels = 1, .first_number = late_from_number - 1},
            930'000);
}

// It makes no way, and removes no directory.
BOOST_AUTO_TEST_CASE(G1_G4_beside_a_process_that_knows_nothing_of_it)
{
    for (const auto* who : {"rw", "wr", "ww", "rr"}) {
        explore({.clients = 2, .readers = who, .foreigner = true, .first_number = late_from_number},
                75'000);
        explore({.clients = 2,
                 .readers = who,
                 .cancels = 1,
                 .foreigner = true,
                 .first_number = late_from_number - 1},
                361'000);
    }
    explore({.clients = 2,
             .readers = "wr",
             .breaks = 1,
             .foreigner = true,
             .first_number = late_from_number - 1},
            1'141'000);
}

// A directory with data, with another list or with other children stays. Each contender makes way once.
BOOST_AUTO_TEST_CASE(G2_G4_a_directory_that_is_to_stay)
{
    explore({.first_number = late_from_number, .replaceable = false}, 10'000);
    explore({.first_number = late_from_number, .stranger = true}, 10'000);
    for (const bool stranger : {false, true}) {
        explore({.clients = 2,
                 .cancels = 1,
                 .breaks = 2,
                 .first_number = late_from_number,
                 .replaceable = stranger,
                 .stranger = stranger},
                10'000);
        explore({.clients = 2,
                 .expiries = 1,
                 .first_number = late_from_number,
                 .replaceable = stranger,
                 .stranger = stranger},
                1'000);
    }
}

// Numbers that may come again are never granted. Those who get one delete the directory when they have gone.
BOOST_AUTO_TEST_CASE(G1_G3_at_the_end)
{
    for (const auto number : {last_number - 1, last_number, (std::int64_t{1} << 31) - 2}) {
        explore({.clients = 2, .cancels = 1, .breaks = 2, .first_number = number}, 1'000);
        explore({.first_number = number}, 1'000);
        explore({.first_number = number, .replaceable = false}, 1'000);
        explore({.clients = 2, .tries = 1, .breaks = 1, .first_number = number}, 100);
        explore({.clients = 2, .readers = "rw", .breaks = 1, .first_number = number}, 1'000);
    }
}

BOOST_AUTO_TEST_SUITE_END()
