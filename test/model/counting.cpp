// Every interleaving of contenders on the uncontended fast path, which join by the transaction that counts the children of the
// directory. They are wrong about that as often as can be.

#include "protocol/contender.hpp"
#include "walk.hpp"

using colock::model::explore;
using colock::model::scenario;

namespace {

scenario counting(scenario s)
{
    s.counts = true;
    return s;
}

} // namespace

BOOST_AUTO_TEST_SUITE(counting_the_children)

BOOST_AUTO_TEST_CASE(G1_G2_G4_undisturbed)
{
    explore(counting({}), 28'000);
    explore(counting({.clients = 4}), 3'100'000);
    explore(counting({.directory_exists = false}), 210'000);
    explore(counting({.elders = 1}), 180'000);
}

BOOST_AUTO_TEST_CASE(G1_G4_one_does_not)
{
    for (const auto* who : {"s--", "-s-", "--s"}) {
        explore(counting({.silent = who}), 40'000);
    }
}

BOOST_AUTO_TEST_CASE(G3_one_cancels)
{
    explore(counting({.cancels = 1}), 220'000);
    explore(counting({.clients = 2, .cancels = 1, .breaks = 1}), 10'800);
}

BOOST_AUTO_TEST_CASE(G4_a_connection_breaks)
{
    explore(counting({.clients = 2, .breaks = 2}), 12'000);
    explore(counting({.breaks = 1}), 277'000);
}

BOOST_AUTO_TEST_CASE(G4_a_request_is_refused)
{
    explore(counting({.refusals = 1}), 260'000);
}

BOOST_AUTO_TEST_CASE(G1_G5_a_session_expires)
{
    explore(counting({.clients = 2, .expiries = 1}), 6'100);
    explore(counting({.expiries = 1}), 970'000);
}

BOOST_AUTO_TEST_CASE(G1_G5_a_node_is_deleted_by_somebody)
{
    explore(counting({.clients = 2, .breaks = 1, .removals = 1}), 32'000);
    explore(counting({.removals = 1}), 670'000);
}

BOOST_AUTO_TEST_CASE(G4_the_directory_is_removed)
{
    explore(counting({.clients = 2, .breaks = 1, .reaps = 2}), 35'600);
    explore(counting({.reaps = 1}), 250'000);
}

BOOST_AUTO_TEST_CASE(G1_proofs_are_awaited)
{
    explore(counting({.doubts = true}), 61'000);
}

BOOST_AUTO_TEST_CASE(G1_G4_some_share)
{
    explore(counting({.readers = "rr"}), 25'000);
    explore(counting({.readers = "-r", .downgrades = 1, .foreigner = true}), 3'300'000);
}

BOOST_AUTO_TEST_CASE(G1_G4_some_only_try)
{
    explore(counting({.tries = 1}), 36'000);
}

// A contender forgets with its node what a listing has shown. So fewer states follow a departure than ways lead to it.
BOOST_AUTO_TEST_CASE(G4_the_directory_must_not_be_written_to)
{
    explore(counting({.writable = false}), 74'000);
    explore(counting({.clients = 2, .breaks = 1, .writable = false}), 6'600);
}

BOOST_AUTO_TEST_CASE(G1_G4_it_has_a_child_that_is_no_contender)
{
    explore(counting({.stranger = true}), 55'000);
}

BOOST_AUTO_TEST_CASE(G1_G4_its_numbers_end)
{
    explore(counting({.clients = 2, .first_number = colock::protocol::drain_from_number}), 3'800);
    explore(counting({.first_number = colock::protocol::drain_from_number, .one_by_one = true}),
            92'000);
    explore(counting({.first_number = colock::protocol::drain_from_number}), 1'600'000);
    explore(
        counting(
            {.clients = 2, .breaks = 1, .first_number = colock::protocol::drain_from_number - 1}),
        6'700);
}

BOOST_AUTO_TEST_CASE(G1_numbers_end_without_draining)
{
    for (const auto number : {colock::protocol::last_number - 1, colock::protocol::last_number,
                              (std::int64_t{1} << 31) - 1}) {
        explore(counting({.clients = 2, .breaks = 1, .first_number = number, .drains = false}),
                100);
    }
}

BOOST_AUTO_TEST_CASE(G1_G4_others_leave_marks)
{
    explore(counting({.elders = 3, .marks = true, .one_by_one = true}), 200'000);
    explore(counting({.elders = 3, .marks = true, .silent = "-s-", .one_by_one = true}), 140'000);
}

BOOST_AUTO_TEST_CASE(random_paths)
{
    const scenario s{.clients = 5,
                     .cancels = 2,
                     .breaks = 3,
                     .expiries = 2,
                     .removals = 2,
                     .changes = 2,
                     .refusals = 2,
                     .reaps = 2,
                     .counts = true,
                     .silent = "--s"};
    colock::model::explore_at_random(s, 12);
}

BOOST_AUTO_TEST_SUITE_END()
