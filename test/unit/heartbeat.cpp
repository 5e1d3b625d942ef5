// The bound until which a session is safe, and the beats that move it, in virtual time. In the ensemble that
// the cases have in mind, a follower tells its leader of its clients twice a tick.
#include "session/heartbeat.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <random>

namespace colock::test::heartbeat_test {

using colock::protocol::heartbeat;
using colock::protocol::validity;
using namespace std::chrono_literals;

namespace {

constexpr auto tick = 2s;
constexpr auto timeout = 10s;
constexpr validity::duration margin = 100ms;
constexpr auto epoch = 1000s; // when the connection was begun

bool is_far(validity::time_point t)
{
    return t == validity::time_point::max();
}

// Plays the server: answers what the heartbeat sends, after a time.
struct beating {
    heartbeat beat{tick, 1};
    validity::time_point now = epoch;
    validity::duration round_trip = 1ms;
    int reads = 0;
    int writes = 0;

    beating() { beat.connected(now, timeout); }

    void write() // a lock's
    {
        const auto sent = now;
        now += round_trip;
        static_cast<void>(beat.answered(sent, now, true));
    }
    // Runs on to the next beat, or until then.
    bool step(validity::time_point until)
    {
        const auto next = beat.next();
        if (next > until) {
            now = std::max(now, until);
            return false;
        }
        now = std::max(now, next);
        const auto o = beat.due(now);
        BOOST_REQUIRE((o.read || o.write || o.check));
        const auto sent = now;
        now += o.read || o.write ? round_trip : 0ms;
        if (o.read) {
            ++reads;
            static_cast<void>(beat.answered(sent, now, false));
            beat.read_answered(false, now);
        }
        if (o.write) {
            ++writes;
            proved |= beat.answered(sent, now, !refuses);
            beat.write_answered(refuses, now);
        }
        return true;
    }
    void run(validity::duration time)
    {
        const auto until = now + time;
        while (step(until)) {
        }
    }
    bool proved = false;
    bool refuses = false; // the writes
};

} // namespace

BOOST_AUTO_TEST_SUITE(heartbeats)

BOOST_AUTO_TEST_CASE(a_connection_alone_proves_nothing)
{
    heartbeat beat{tick, 1};
    beat.connected(epoch, timeout);
    BOOST_TEST((beat.safe_until() == validity::time_point{0}));
    BOOST_TEST(!beat.answered(epoch + 1ms, epoch + 2ms, false));
    BOOST_TEST((beat.safe_until() == validity::time_point{0}));
}

BOOST_AUTO_TEST_CASE(the_first_write_on_a_connection_proves_it_from_its_beginning)
{
    heartbeat beat{tick, 1};
    beat.connected(epoch, timeout);
    static_cast<void>(beat.answered(epoch + 1s, epoch + 1s + 5ms, true));
    BOOST_TEST((beat.safe_until() == epoch + timeout - margin));
}

// What a follower forwards does not tell the leader about the session: the obvious formula, from the
// write's own sending, would say 5 s more here.
BOOST_AUTO_TEST_CASE(a_write_does_not_count_for_itself)
{
    heartbeat beat{tick, 1};
    beat.connected(epoch, timeout);
    static_cast<void>(beat.answered(epoch + 5s, epoch + 5s + 1ms, true));
    BOOST_TEST((beat.safe_until() == epoch + timeout - margin));
}

BOOST_AUTO_TEST_CASE(a_contact_counts_for_writes_that_are_sent_three_quarters_of_a_tick_later)
{
    for (const auto& [later, counts] : {std::pair{1499ms, false}, std::pair{1500ms, true}}) {
        heartbeat beat{tick, 1};
        beat.connected(epoch, timeout);
        const auto answered = epoch + 2s + 10ms;
        static_cast<void>(beat.answered(epoch + 2s, answered, false));
        static_cast<void>(beat.answered(answered + later, answered + later + 1ms, true));
        BOOST_TEST((beat.safe_until() == (counts ? epoch + 2s : epoch) + timeout - margin));
    }
}

BOOST_AUTO_TEST_CASE(a_write_slower_than_half_a_tick_is_no_evidence)
{
    for (const auto& [took, counts] : {std::pair{1001ms, false}, std::pair{1000ms, true}}) {
        heartbeat beat{tick, 1};
        beat.connected(epoch, timeout);
        static_cast<void>(beat.answered(epoch + 1ms, epoch + 1ms + took, true));
        BOOST_TEST((beat.safe_until() != validity::time_point{0}) == counts);
    }
}

// The server was cut off from its leader. The leader's pings and a write go through together when the cut is over.
BOOST_AUTO_TEST_CASE(behind_a_slow_write_contacts_settle_anew)
{
    for (const auto& [later, counts] : {std::pair{1499ms, false}, std::pair{1500ms, true}}) {
        heartbeat beat{tick, 1};
        beat.connected(epoch, timeout);
        static_cast<void>(beat.answered(epoch + 1ms, epoch + 2ms, true));
        static_cast<void>(beat.answered(epoch + 4s, epoch + 4s + 1ms, false));
        const auto mended = epoch + 7s;
        static_cast<void>(beat.answered(epoch + 3s, mended, true));
        static_cast<void>(beat.answered(mended + later, mended + later + 1ms, true));
        BOOST_TEST((beat.safe_until() == (counts ? epoch + 4s : epoch) + timeout - margin));
    }
}

// The leader itself has heard of the session then.
BOOST_AUTO_TEST_CASE(the_beginning_of_a_connection_has_not_to_settle_behind_a_slow_write)
{
    heartbeat beat{tick, 1};
    beat.connected(epoch, timeout);
    static_cast<void>(beat.answered(epoch + 1ms, epoch + 2s, true));
    static_cast<void>(beat.answered(epoch + 2s, epoch + 2s + 1ms, true));
    BOOST_TEST((beat.safe_until() == epoch + timeout - margin));
}

BOOST_AUTO_TEST_CASE(contacts_of_one_connection_prove_nothing_on_the_next)
{
    heartbeat beat{tick, 1};
    beat.connected(epoch, timeout);
    static_cast<void>(beat.answered(epoch + 4s, epoch + 4s + 1ms, false));
    beat.disconnected();
    BOOST_TEST(!beat.answered(epoch + 5s, epoch + 6s, true)); // too late
    beat.connected(epoch + 3s, timeout);                      // an attempt that took long
    static_cast<void>(beat.answered(epoch + 8s, epoch + 8s + 1ms, true));
    BOOST_TEST((beat.safe_until() == epoch + 3s + timeout - margin));
}

BOOST_AUTO_TEST_CASE(the_bound_outlives_the_connection_and_ends_with_the_session)
{
    beating b;
    b.write();
    const auto bound = b.beat.safe_until();
    b.beat.disconnected();
    BOOST_TEST((b.beat.safe_until() == bound));
    b.beat.ended();
    BOOST_TEST((b.beat.safe_until() == validity::time_point{0}));
}

BOOST_AUTO_TEST_CASE(without_locks_it_reads_six_times_in_a_time_out_and_never_writes)
{
    beating b;
    b.run(100s);
    BOOST_TEST(b.reads == 60);
    BOOST_TEST(b.writes == 0);
}

BOOST_AUTO_TEST_CASE(a_lock_is_safe_as_soon_as_it_is_created_however_long_the_client_was_idle)
{
    std::minstd_rand random{1};
    for (int i = 0; i != 200; ++i) {
        beating b;
        b.run(1ms * static_cast<int>(random() % 60'000));
        b.write();
        BOOST_TEST((b.beat.safe_until() - b.now >= validity::attainable(timeout, tick)));
    }
}

BOOST_AUTO_TEST_CASE(while_a_lock_is_held_the_bound_stays_ahead)
{
    for (const auto& [t, k] : {std::pair{10s, 2000ms}, std::pair{4s, 2000ms},
                               std::pair{30s, 2000ms}, std::pair{1s, 200ms}}) {
        beating b;
        b.beat = heartbeat{k, 1};
        b.beat.connected(b.now, t);
        b.round_trip = 10ms;
        b.run(7s);
        b.write();
        b.beat.add_holder(0ns);
        auto least = b.beat.safe_until() - b.now;
        const auto end = b.now + 100 * t;
        while (b.step(end)) {
            least = std::min(least, b.beat.safe_until() - b.now);
        }
        BOOST_TEST((least >= validity::attainable(t, k)));
        BOOST_TEST((validity::attainable(t, k) > 0s));
        BOOST_TEST(b.writes <= 601);
    }
}

BOOST_AUTO_TEST_CASE(one_who_is_next_in_line_keeps_it_beating_too)
{
    beating b;
    b.beat.count_next_in_line(true);
    b.run(60s);
    BOOST_TEST(b.writes >= 20);
    BOOST_TEST((b.beat.safe_until() > b.now));
    b.beat.count_next_in_line(false);
    const auto writes = b.writes;
    b.run(60s);
    BOOST_TEST(b.writes == writes);
}

BOOST_AUTO_TEST_CASE(beats_end_with_the_last_holder)
{
    beating b;
    b.write();
    b.beat.add_holder(0ns);
    b.beat.add_holder(1s);
    b.run(60s);
    BOOST_TEST(b.writes >= 20);
    b.beat.remove_holder(0ns);
    const auto writes = b.writes;
    b.run(60s);
    BOOST_TEST(b.writes >= writes + 20);
    b.beat.remove_holder(1s);
    const auto last = b.writes;
    b.run(60s);
    BOOST_TEST(b.writes == last);
}

// The leader counts by the new time-out also what it heard of before.
BOOST_AUTO_TEST_CASE(a_smaller_time_out_draws_the_bound_in_and_makes_no_flood_of_writes)
{
    beating b;
    b.beat = heartbeat{tick, 1};
    b.beat.connected(b.now, 40s);
    b.write();
    b.beat.add_holder(0ns);
    b.run(60s);
    BOOST_TEST((b.beat.safe_until() - b.now > 20s));
    b.beat.disconnected();
    b.now += 1s;
    const auto again = b.now;
    b.beat.connected(again, timeout);
    BOOST_TEST((b.beat.safe_until() == again + timeout - margin));
    const auto writes = b.writes;
    b.write(); // the barrier
    b.run(100s);
    BOOST_TEST((b.beat.safe_until() - b.now >= validity::attainable(timeout, tick)));
    BOOST_TEST(b.writes - writes <= 61);
    // A greater one proves nothing by itself.
    const auto bound = b.beat.safe_until();
    b.beat.disconnected();
    b.beat.connected(b.now, 40s);
    BOOST_TEST((b.beat.safe_until() == bound));
}

BOOST_AUTO_TEST_CASE(a_time_out_of_less_than_a_tick_makes_no_flood_of_reads)
{
    beating b;
    b.beat = heartbeat{tick, 1};
    b.beat.connected(b.now, 600ms);
    b.run(10s);
    BOOST_TEST(b.reads <= 100);
}

BOOST_AUTO_TEST_CASE(a_server_that_refuses_the_proof_is_asked_again_at_the_clients_own_pace)
{
    beating b;
    b.round_trip = 10us;
    b.run(10s);
    b.refuses = true;
    b.beat.count_next_in_line(true);
    b.beat.await_proof();
    b.run(1s);
    BOOST_TEST(b.writes >= 5);
    BOOST_TEST(b.writes <= 30);
    b.run(60s);
    BOOST_TEST(b.writes <= 200);
    BOOST_TEST(!b.proved);
    b.refuses = false;
    b.run(2s);
    BOOST_TEST(b.proved);
}

BOOST_AUTO_TEST_CASE(a_busy_client_sends_no_beats)
{
    beating b;
    b.write();
    b.beat.add_holder(0ns);
    for (int i = 0; i != 1000; ++i) {
        b.run(100ms);
        b.write();
    }
    BOOST_TEST(b.reads == 0);
    BOOST_TEST(b.writes <= 1); // before the first contact of the lock's own had settled
}

BOOST_AUTO_TEST_CASE(a_proof_that_is_waited_for_comes_soon)
{
    beating b;
    b.write();
    b.now += 60s; // the process was stopped
    b.beat.await_proof();
    b.run(3s);
    BOOST_TEST(b.proved);
    BOOST_TEST((b.beat.safe_until() > b.now));
}

BOOST_AUTO_TEST_CASE(holders_are_told_when_their_bound_has_passed_those_with_the_longest_lead_first)
{
    beating b;
    b.write();
    b.beat.add_holder(2s);
    b.beat.add_holder(0s);
    b.beat.add_holder(2s);
    b.beat.disconnected();
    const auto bound = b.beat.safe_until();
    BOOST_TEST((b.beat.next() == bound - 2s));
    BOOST_TEST(!b.beat.overdue(bound - 2s - 1ns));
    BOOST_TEST(b.beat.due(bound - 2s).check);
    b.beat.remove_holder(2s);
    b.beat.remove_holder(2s);
    BOOST_TEST((b.beat.next() == bound));
    BOOST_TEST(!b.beat.due(bound - 1ns).check);
    BOOST_TEST(b.beat.due(bound).check);
    b.beat.remove_holder(0s);
    BOOST_TEST(is_far(b.beat.next()));
}

// A holder that does not let go must not keep the timer busy.
BOOST_AUTO_TEST_CASE(a_check_is_ordered_once)
{
    beating b;
    b.write();
    b.beat.add_holder(2s);
    b.beat.add_holder(0s);
    b.beat.disconnected();
    const auto bound = b.beat.safe_until();
    BOOST_TEST(b.beat.due(bound - 1s).check);
    BOOST_TEST(!b.beat.due(bound - 1s).check);
    BOOST_TEST((b.beat.next() == bound)); // of the other holder
    BOOST_TEST(b.beat.due(bound).check);
    BOOST_TEST(!b.beat.due(bound + 1h).check);
    BOOST_TEST(is_far(b.beat.next()));
}

BOOST_AUTO_TEST_CASE(a_check_is_ordered_again_for_another_bound)
{
    beating b;
    b.write();
    b.beat.add_holder(0s);
    const auto bound = b.beat.safe_until();
    BOOST_TEST(b.beat.due(bound).check);
    b.now = bound + 1s;
    b.beat.disconnected();
    b.beat.connected(b.now, timeout);
    b.write();
    BOOST_TEST((b.beat.safe_until() > bound));
    BOOST_TEST(!b.beat.overdue(b.now));
    BOOST_TEST(b.beat.due(b.beat.safe_until()).check);
}

// A shorter time-out takes the bound back behind the last check.
BOOST_AUTO_TEST_CASE(a_check_is_ordered_again_when_the_bound_goes_back)
{
    beating b;
    b.write();
    const auto bound = b.beat.safe_until();
    b.beat.add_holder(2s);
    b.beat.add_holder(0s);
    const auto checked = bound - 1s;
    BOOST_TEST(b.beat.due(checked).check);
    b.beat.remove_holder(2s);
    b.beat.disconnected();
    b.beat.connected(epoch + 1s, timeout / 2);
    BOOST_TEST((b.beat.safe_until() < checked));
    BOOST_TEST(b.beat.overdue(checked));
    BOOST_TEST(b.beat.due(checked).check);
}

BOOST_AUTO_TEST_CASE(one_beat_is_under_way_at_a_time)
{
    heartbeat beat{tick, 1};
    beat.connected(epoch, timeout);
    beat.add_holder(0ns);
    BOOST_TEST(beat.due(epoch + 3s).read);
    BOOST_TEST(!beat.due(epoch + 9s).read);
    beat.read_answered(false, epoch);
    BOOST_TEST(beat.due(epoch + 9s).read);
}

BOOST_AUTO_TEST_CASE(a_time_out_that_is_too_short_for_the_tick_is_never_safe)
{
    BOOST_TEST((validity::attainable(2s, 2s) <= 0s));
    BOOST_TEST((validity::attainable(4s, 2s) > 0s)); // the shortest that servers grant by default

    // As docs/operating.md has them.
    BOOST_TEST((validity::shortest_timeout(0s, 2s) == 3'808ms));
    BOOST_TEST((validity::shortest_timeout(3'500ms, 2s) == 9'138ms));
    for (const auto t : {1ms, 200ms, 2'000ms, 0x7fffffffms}) {
        for (const auto margin : {0ms, 1ms, 777ms, 3'500ms, 0x7fffffffms}) {
            const auto shortest = validity::shortest_timeout(margin, t);
            BOOST_TEST((validity::attainable(shortest, t) > margin));
            BOOST_TEST((validity::attainable(shortest - 1ms, t) <= margin));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::heartbeat_test
