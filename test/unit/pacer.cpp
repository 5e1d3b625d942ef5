#include "session/pacer.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <vector>

namespace colock::test::pacer_test {

namespace {

using namespace std::chrono_literals;
using colock::protocol::pacer;
using time_point = pacer::time_point;

constexpr std::uint32_t seed = 1;

// The times of repetitions of which each brings about the next one at once.
std::vector<time_point> busy_loop(pacer::duration (pacer::*because)(time_point))
{
    pacer p{seed};
    std::vector<time_point> times;
    for (time_point now = 1h; times.size() != 200;) {
        now += (p.*because)(now);
        times.push_back(now);
    }
    return times;
}

BOOST_AUTO_TEST_SUITE(pacing)

BOOST_AUTO_TEST_CASE(a_machine_that_has_just_started_does_not_wait)
{
    pacer p{seed};
    BOOST_TEST((p.refused(0s) == 0s));
}

BOOST_AUTO_TEST_CASE(no_loop_turns_more_than_thirty_times_in_any_second)
{
    for (const auto because : {&pacer::refused, &pacer::fired}) {
        const auto times = busy_loop(because);
        for (std::size_t i = 30; i < times.size(); ++i) {
            BOOST_TEST((times[i] - times[i - 30] > 1s));
        }
    }
}

BOOST_AUTO_TEST_CASE(refusals_pause_from_the_second_on_and_begin_anew_after_ten_seconds)
{
    pacer p{seed};
    time_point now = 1h;
    for (int round = 0; round != 2; ++round) {
        BOOST_TEST((p.refused(now) == 0s));
        for (auto full = 1ms; full < 1s; full *= 2) {
            const auto pause = p.refused(now);
            BOOST_TEST((pause >= full / 2 && pause <= full));
            now += pause;
        }
        for (int i = 0; i != 40; ++i) {
            const auto pause = p.refused(now);
            BOOST_TEST((pause >= 500ms && pause <= 1s));
            now += pause;
        }
        now += 9s;
        BOOST_TEST((p.refused(now) >= 500ms));
        now += 12s;
    }
}

BOOST_AUTO_TEST_CASE(what_changes_less_than_ten_times_a_second_is_looked_at_at_once)
{
    pacer p{seed};
    for (time_point now = 1h; now < 1h + 1min; now += 101ms) {
        BOOST_TEST((p.fired(now) == 0s));
    }
}

BOOST_AUTO_TEST_CASE(the_pause_after_an_event_is_short)
{
    pacer p{seed};
    time_point now = 1h;
    for (int i = 0; i != 100; ++i) {
        const auto pause = p.fired(now);
        BOOST_TEST((pause <= 100ms));
        now += pause;
    }
}

BOOST_AUTO_TEST_CASE(events_do_not_delay_the_first_refusal)
{
    pacer p{seed};
    time_point now = 1h;
    for (int i = 0; i != 100; ++i) {
        now += p.fired(now);
    }
    BOOST_TEST((p.refused(now) == 0s));
}

BOOST_AUTO_TEST_CASE(what_makes_progress_never_waits)
{
    pacer p{seed};
    for (int i = 0; i != 100; ++i) {
        BOOST_TEST((p.refused(1h) == 0s));
        BOOST_TEST((p.fired(1h) == 0s));
        p.progressed();
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace

} // namespace colock::test::pacer_test
