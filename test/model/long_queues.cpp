// Every interleaving of contenders in a queue of which they do not see all: behind others that leave in any order.

#include "walk.hpp"

using colock::model::explore;
using colock::model::scenario;

namespace {

scenario behind(unsigned elders, scenario s)
{
    s.elders = elders;
    s.one_by_one = true;
    return s;
}

} // namespace

BOOST_AUTO_TEST_SUITE(long_queues)

BOOST_AUTO_TEST_CASE(G1_G2_G4_undisturbed)
{
    explore(behind(3, {}), 10'000);
    explore(behind(3, {.clients = 4}), 100'000);
    explore({.elders = 1}, 100'000);
}

BOOST_AUTO_TEST_CASE(G3_one_cancels)
{
    explore(behind(1, {.cancels = 1}), 10'000);
    explore(behind(1, {.clients = 4, .cancels = 1}), 100'000);
    explore(behind(3, {.cancels = 1, .patient_elders = true}), 100'000);
}

BOOST_AUTO_TEST_CASE(G4_a_connection_breaks)
{
    explore(behind(3, {.clients = 2, .breaks = 1}), 10'000);
    explore(behind(1, {.breaks = 1}), 10'000);
    explore(behind(3, {.breaks = 1}), 500'000);
}

BOOST_AUTO_TEST_CASE(G4_a_request_is_refused)
{
    explore(behind(1, {.refusals = 1}), 10'000);
    explore(behind(3, {.refusals = 1}), 500'000);
}

BOOST_AUTO_TEST_CASE(G1_G5_a_session_expires)
{
    explore(behind(1, {.clients = 2, .expiries = 1}), 5'000);
    explore(behind(3, {.clients = 2, .expiries = 1}), 100'000);
    explore(behind(1, {.expiries = 1}), 100'000);
    explore(behind(3, {.expiries = 1, .patient_elders = true}), 500'000);
}

BOOST_AUTO_TEST_CASE(G1_G5_a_node_is_deleted_by_somebody)
{
    explore(behind(1, {.removals = 1}), 50'000);
    explore(behind(3, {.removals = 1, .patient_elders = true}), 500'000);
    explore(behind(1, {.breaks = 1, .removals = 1}), 500'000);
}

BOOST_AUTO_TEST_CASE(G1_proofs_are_awaited)
{
    explore(behind(3, {.doubts = true}), 10'000);
}

BOOST_AUTO_TEST_SUITE_END()
