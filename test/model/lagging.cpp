// Every interleaving of contenders whose servers fall behind the leader, at any moment and for any time: a lagging server
// shows an old state, and tells of no change, until it catches up or has to answer a write.

#include "walk.hpp"

using colock::model::explore;
using colock::model::explore_at_random;
using colock::model::scenario;
using colock::protocol::late_from_number;

namespace {

scenario lagging(scenario s, unsigned times = 1)
{
    s.lags = times;
    return s;
}

} // namespace

BOOST_AUTO_TEST_SUITE(lagging_servers)

BOOST_AUTO_TEST_CASE(G1_G2_G4_undisturbed)
{
    explore(lagging({}), 510'000);
    explore(lagging({.clients = 2}, 3), 12'000);
    explore(lagging({.clients = 2, .directory_exists = false}), 14'000);
    explore(lagging({.directory_exists = false}), 4'800'000);
}

BOOST_AUTO_TEST_CASE(G3_one_cancels)
{
    explore(lagging({.clients = 2, .cancels = 1}, 2), 1'000);
    explore(lagging({.cancels = 1, .one_by_one = true}), 1'000);
}

BOOST_AUTO_TEST_CASE(G4_a_connection_breaks)
{
    explore(lagging({.clients = 2, .breaks = 2}, 2), 1'000);
    explore(lagging({.breaks = 1, .one_by_one = true}), 1'000);
}

BOOST_AUTO_TEST_CASE(G1_G5_a_session_expires)
{
    explore(lagging({.clients = 2, .expiries = 1}, 2), 1'000);
    explore(lagging({.expiries = 1, .one_by_one = true}), 1'000);
}

BOOST_AUTO_TEST_CASE(G1_G5_a_node_is_deleted_by_somebody)
{
    explore(lagging({.clients = 2, .removals = 1}, 2), 1'000);
    explore(lagging({.removals = 1, .one_by_one = true}), 1'000);
    explore(lagging({.clients = 2, .removals = 1, .doubts = true}), 1'000);
}

BOOST_AUTO_TEST_CASE(G4_a_node_is_written_to)
{
    explore(lagging({.clients = 2, .changes = 2}, 2), 1'000);
}

BOOST_AUTO_TEST_CASE(G1_G4_some_only_try)
{
    explore(lagging({.clients = 2, .tries = 1}, 2), 8'000);
    explore(lagging({.tries = 1}), 460'000);
}

BOOST_AUTO_TEST_CASE(G1_G2_G4_readers_and_writers)
{
    for (const auto* who : {"wr", "rw"}) {
        explore(lagging({.clients = 2, .readers = who, .breaks = 1}, 2), 1'000);
        explore(lagging({.clients = 2, .readers = who, .foreigner = true}, 2), 1'000);
    }
    explore(lagging({.readers = "wrw"}), 490'000);
}

BOOST_AUTO_TEST_CASE(G1_G4_one_steps_down)
{
    explore(lagging({.clients = 2, .readers = "ww", .breaks = 1, .downgrades = 1}), 1'000);
}

BOOST_AUTO_TEST_CASE(G1_G2_G4_near_the_end_of_the_numbers)
{
    explore(lagging({.clients = 2, .first_number = late_from_number}, 2), 1'000);
    explore(lagging({.clients = 2, .breaks = 1, .first_number = late_from_number - 1}), 1'000);
    explore(lagging({.first_number = late_from_number - 1}), 9'800'000);
}

BOOST_AUTO_TEST_CASE(G1_G2_G4_behind_others)
{
    explore(lagging({.elders = 1, .one_by_one = true}, 2), 1'000);
    explore(lagging({.breaks = 1, .elders = 1, .one_by_one = true}), 100'000);
}

BOOST_AUTO_TEST_CASE(random_paths)
{
    for (const auto elders : {0U, 1U}) {
        explore_at_random(lagging({.clients = 4,
                                   .cancels = 2,
                                   .breaks = 2,
                                   .expiries = 1,
                                   .removals = 2,
                                   .changes = 1,
                                   .refusals = 2,
                                   .reaps = 1,
                                   .elders = elders},
                                  3),
                          14);
    }
}

BOOST_AUTO_TEST_SUITE_END()
