// Every interleaving of contenders that leave notes in the directory, however short the queue. Foreign contenders that
// stand before them leave, or give up, in any order and without a note. With three of them the first contender asks for
// a note, and learns whose the directory is; the third one may find the note of the first.

#include "explore.hpp"

using colock::model::explore;
using colock::model::scenario;

namespace {

scenario behind_three(scenario s)
{
    s.elders = 3;
    s.notes = s.one_by_one = true;
    return s;
}

} // namespace

BOOST_AUTO_TEST_SUITE(notes)

BOOST_AUTO_TEST_CASE(G1_G2_G4_undisturbed)
{
    explore(behind_three({}), 150'000);
    explore(behind_three({.clients = 4}), 600'000);
    explore(behind_three({.noted = true}), 150'000);
}

// One in the middle, or the first or the last one, is of an old version.
BOOST_AUTO_TEST_CASE(G1_G4_one_knows_no_notes)
{
    for (const auto* who : {"s--", "-s-", "--s"}) {
        explore(behind_three({.silent = who}), 100'000);
    }
    explore(behind_three({.clients = 4, .silent = "-s--"}), 420'000);
}

BOOST_AUTO_TEST_CASE(G3_one_cancels)
{
    explore(behind_three({.cancels = 1}), 4'200'000);
    explore(behind_three({.cancels = 1, .patient_elders = true, .noted = true}), 500'000);
}

BOOST_AUTO_TEST_CASE(G4_a_connection_breaks)
{
    explore(behind_three({.breaks = 1}), 2'420'000);
}

BOOST_AUTO_TEST_CASE(G4_a_request_is_refused)
{
    explore(behind_three({.refusals = 1}), 1'420'000);
}

BOOST_AUTO_TEST_CASE(G1_G5_a_session_expires)
{
    explore(behind_three({.expiries = 1, .patient_elders = true}), 1'000'000);
}

BOOST_AUTO_TEST_CASE(G1_G5_a_node_is_deleted_by_somebody)
{
    explore(behind_three({.removals = 1, .patient_elders = true}), 1'000'000);
}

BOOST_AUTO_TEST_CASE(G1_proofs_are_awaited)
{
    explore(behind_three({.doubts = true}), 160'000);
}

BOOST_AUTO_TEST_CASE(G3_the_directory_must_not_be_written_to)
{
    explore(behind_three({.writable = false}), 150'000);
    explore(behind_three({.breaks = 1, .patient_elders = true, .writable = false}), 200'000);
}

BOOST_AUTO_TEST_CASE(somebody_elses_directory_is_not_written_to)
{
    explore(behind_three({.ours = false}), 140'000);
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
                         .notes = true,
                         .silent = who};
        const auto since = std::chrono::steady_clock::now();
        const std::size_t paths = colock::model::too_large < 1'000'000 ? 2'000 : 20'000;
        const auto o = colock::model::random_walk{s, 11}(paths);
        report(o, since);
        BOOST_TEST(o.ends == paths);
    }
}

// ---- minutes

BOOST_AUTO_TEST_CASE(soak_G1_G5_a_session_expires)
{
    explore(behind_three({.expiries = 1}), 21'000'000);
}

BOOST_AUTO_TEST_CASE(soak_G1_G5_a_node_is_deleted_by_somebody)
{
    explore(behind_three({.removals = 1}), 19'000'000);
}

BOOST_AUTO_TEST_CASE(soak_G1_G2_G4_they_come_at_any_time)
{
    explore({.elders = 3, .notes = true}, 16'000'000);
}

BOOST_AUTO_TEST_SUITE_END()
