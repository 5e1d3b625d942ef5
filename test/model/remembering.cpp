// Every interleaving of clients that remember a lock's directory from one contender to the next: what decides whether a
// contender takes the uncontended fast path, and whether it writes the low-water mark. Each client has several
// contenders, one after the other. Operators write to the directory, and put another one in its place.

#include "walk.hpp"

using colock::model::explore;
using colock::model::explore_at_random;
using colock::model::scenario;

namespace {

// The first client has been alone there. Its next contender gets to know the directory, the one behind that writes the
// mark, if there is none of this client's, and the third one takes the fast path.
scenario alone(unsigned turns, scenario s)
{
    s.remembers = s.alone_before = true;
    s.turns = turns;
    return s;
}

// Every queue is long enough for the low-water mark.
scenario long_queues(scenario s)
{
    s.remembers = s.marks = true;
    return s;
}

} // namespace

BOOST_AUTO_TEST_SUITE(remembering)

BOOST_AUTO_TEST_CASE(G1_G4_one_client_alone)
{
    explore(alone(4, {.clients = 1}), 50);
    explore(alone(4, {.clients = 1, .fast_path = false}), 50);
    explore(alone(4, {.clients = 1, .cancels = 2, .breaks = 2}), 1'000);
    explore(alone(4, {.clients = 1, .breaks = 1, .refusals = 2}), 1'000);
    explore(alone(4, {.clients = 1, .breaks = 1, .expiries = 1, .removals = 1}), 1'000);
}

BOOST_AUTO_TEST_CASE(G1_G2_G4_two_clients)
{
    explore(alone(3, {.clients = 2, .one_by_one = true}), 1'000);
    explore(alone(3, {.clients = 2, .one_by_one = true, .first_version = 1}), 1'000);
    explore(alone(2, {.clients = 2, .first_version = 1}), 1'000);
}

BOOST_AUTO_TEST_CASE(G1_G3_G4_two_clients_and_one_cancels)
{
    explore(alone(3, {.clients = 2, .cancels = 1, .one_by_one = true, .first_version = 1}), 1'000);
}

BOOST_AUTO_TEST_CASE(G1_G3_G4_two_clients_and_a_connection_breaks)
{
    explore(alone(3, {.clients = 2, .breaks = 1, .one_by_one = true, .first_version = 1}), 1'000);
}

BOOST_AUTO_TEST_CASE(G1_G4_somebody_writes_to_the_directory)
{
    for (const unsigned version : {0U, 1U}) {
        explore(alone(5, {.clients = 1, .first_version = version, .overwrites = 1}), 100);
        explore(alone(5, {.clients = 1, .breaks = 1, .first_version = version, .overwrites = 1}),
                100);
        explore(
            alone(3, {.clients = 2, .one_by_one = true, .first_version = version, .overwrites = 1}),
            1'000);
    }
}

BOOST_AUTO_TEST_CASE(G1_G4_somebody_puts_another_directory_there)
{
    for (const unsigned version : {0U, 1U}) {
        explore(alone(5, {.clients = 1, .first_version = version, .replacements = 1}), 100);
        explore(alone(5, {.clients = 1, .breaks = 1, .first_version = version, .replacements = 1}),
                100);
        // Which may have been written to as often as the first one.
        explore(
            alone(6, {.clients = 1, .first_version = version, .overwrites = 1, .replacements = 1}),
            1'000);
    }
}

BOOST_AUTO_TEST_CASE(G1_G4_the_directory_is_removed)
{
    explore(alone(5, {.clients = 1, .breaks = 1, .reaps = 2}), 1'000);
    explore(alone(2, {.clients = 2, .reaps = 1, .one_by_one = true}), 1'000);
}

BOOST_AUTO_TEST_CASE(G1_G4_it_must_not_be_written_to)
{
    explore(alone(5, {.clients = 1, .writable = false}), 50);
    explore(alone(4, {.clients = 1, .breaks = 2, .writable = false, .first_version = 1}), 100);
    explore(long_queues({.clients = 2, .writable = false, .turns = 2}), 1'000);
}

BOOST_AUTO_TEST_CASE(G1_G4_somebody_elses_directory)
{
    explore(alone(4, {.clients = 1, .ours = false, .overwrites = 1}), 50);
    explore(long_queues({.clients = 2, .ours = false, .turns = 2}), 1'000);
}

BOOST_AUTO_TEST_CASE(G1_G4_it_has_a_child_that_is_no_contender)
{
    explore(alone(4, {.clients = 1, .stranger = true}), 50);
}

BOOST_AUTO_TEST_CASE(G1_G2_G4_long_queues)
{
    explore(long_queues({.clients = 2, .turns = 2}), 1'000);
    explore(long_queues({.clients = 2, .turns = 2, .fast_path = false}), 1'000);
    explore(long_queues({.clients = 2, .one_by_one = true, .turns = 2, .overwrites = 1}), 1'000);
    explore(long_queues({.clients = 2, .breaks = 1, .one_by_one = true, .turns = 2}), 1'000);
    auto both = alone(3, {.clients = 2, .marks = true, .one_by_one = true});
    explore(both, 1'000);
    both.fast_path = false;
    explore(both, 1'000);
}

BOOST_AUTO_TEST_CASE(random_paths)
{
    for (const bool marks : {false, true}) {
        const scenario s{.clients = 3,
                         .cancels = 2,
                         .breaks = 2,
                         .expiries = 1,
                         .removals = 1,
                         .changes = 1,
                         .refusals = 2,
                         .reaps = 1,
                         .marks = marks,
                         .remembers = true,
                         .turns = 4,
                         .alone_before = true,
                         .overwrites = 1};
        explore_at_random(s, 13);
    }
}

BOOST_AUTO_TEST_SUITE_END()
