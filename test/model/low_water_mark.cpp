// Every interleaving of contenders that write low-water marks, however short the queue. Foreign contenders that stand
// before them leave, or give up, in any order and without a mark. With one of them the third contender cannot see all, and
// may find the mark of the first; with three also the others ask for one.

#include "walk.hpp"

using colock::model::explore;
using colock::model::scenario;

namespace {

scenario behind(unsigned elders, scenario s)
{
    s.elders = elders;
    s.marks = s.one_by_one = true;
    return s;
}

} // namespace

BOOST_AUTO_TEST_SUITE(low_water_mark)

BOOST_AUTO_TEST_CASE(G1_G2_G4_undisturbed)
{
    explore(behind(3, {}), 150'000);
    explore(behind(3, {.clients = 4}), 600'000);
    explore(behind(3, {.marked = true}), 150'000);
    explore({.elders = 1, .marks = true}, 1'000'000);
    explore({.cancels = 1, .elders = 1, .marks = true}, 14'190'000);
}

// One in the middle, or the first or the last one, is of an old version.
BOOST_AUTO_TEST_CASE(G1_G4_one_knows_no_marks)
{
    for (const auto* who : {"s--", "-s-", "--s"}) {
        explore(behind(3, {.silent = who}), 100'000);
    }
    explore(behind(3, {.clients = 4, .silent = "-s--"}), 420'000);
}

// A contender forgets with its node what a listing has shown. So fewer states follow a departure than ways lead to it.
BOOST_AUTO_TEST_CASE(G3_one_cancels)
{
    explore(behind(1, {.cancels = 1}), 54'000);
    explore(behind(1, {.clients = 4, .cancels = 1}), 594'000);
    explore(behind(1, {.cancels = 2, .breaks = 1}), 3'190'000);
    explore(behind(3, {.cancels = 1, .patient_elders = true, .marked = true}), 500'000);
    explore(behind(3, {.cancels = 1}), 4'590'000);
}

BOOST_AUTO_TEST_CASE(G4_a_connection_breaks)
{
    explore(behind(3, {.clients = 2, .breaks = 1}), 100'000);
    explore(behind(1, {.breaks = 1}), 97'000);
    explore(behind(3, {.breaks = 1}), 2'420'000);
}

BOOST_AUTO_TEST_CASE(G4_a_request_is_refused)
{
    explore(behind(1, {.refusals = 1}), 67'000);
    explore(behind(3, {.refusals = 1}), 1'420'000);
}

BOOST_AUTO_TEST_CASE(G1_G5_a_session_expires)
{
    explore(behind(1, {.clients = 2, .expiries = 1}), 32'000);
    explore(behind(3, {.clients = 2, .expiries = 1}), 1'362'000);
    explore(behind(1, {.expiries = 1}), 700'000);
    explore(behind(3, {.expiries = 1, .patient_elders = true}), 8'260'000);
    explore(behind(1, {.cancels = 1, .expiries = 1}), 8'780'000);
}

BOOST_AUTO_TEST_CASE(G1_G5_a_node_is_deleted_by_somebody)
{
    explore(behind(1, {.removals = 1}), 400'000);
    explore(behind(3, {.removals = 1, .patient_elders = true}), 5'200'000);
    explore(behind(1, {.breaks = 1, .removals = 1}), 6'380'000);
    explore(behind(1, {.clients = 4, .removals = 1}), 8'500'000);
}

BOOST_AUTO_TEST_CASE(G1_proofs_are_awaited)
{
    explore(behind(3, {.doubts = true}), 160'000);
}

BOOST_AUTO_TEST_CASE(G3_the_directory_must_not_be_written_to)
{
    explore(behind(3, {.writable = false}), 150'000);
    explore(behind(3, {.breaks = 1, .patient_elders = true, .writable = false}), 700'000);
}

BOOST_AUTO_TEST_CASE(G1_a_mark_cannot_be_true)
{
    explore(behind(1, {.lies = 1}), 32'000);
    explore(behind(3, {.clients = 2, .lies = 1}), 81'000);
    explore(behind(3, {.lies = 1}), 1'100'000);
}

// No contender has to ask first whose it is, nor does its first listing differ from later ones.
BOOST_AUTO_TEST_CASE(G1_G4_the_directory_is_recognised)
{
    explore(behind(3, {.recognised = true}), 119'000);
    explore(behind(3, {.breaks = 1, .recognised = true}), 1'520'000);
}

BOOST_AUTO_TEST_CASE(somebody_elses_directory_is_not_written_to)
{
    explore(behind(3, {.ours = false}), 130'000);
}

BOOST_AUTO_TEST_CASE(random_paths)
{
    for (const auto* who : {"", "--s-s"}) {
        const scenario s{.clients = 5,
                         .cancels = 2,
                         .breaks = 3,
                         .expiries = 2,
                         .removals = 2,
                         .changes = 2,
                         .refusals = 2,
                         .reaps = 1,
                         .elders = 3,
                         .marks = true,
                         .silent = who};
        colock::model::explore_at_random(s, 11);
    }
}

BOOST_AUTO_TEST_SUITE_END()
