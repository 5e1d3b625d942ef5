#include "session/backoff.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace colock::test::backoff_test {

namespace {

using namespace std::chrono_literals;
using colock::protocol::backoff;
using time_point = backoff::time_point;

constexpr std::uint32_t seed = 1;

// The times of the first attempts on `addresses` servers that are all away.
std::vector<time_point> attempts(backoff& b, std::size_t addresses, std::size_t count)
{
    std::vector<time_point> times;
    time_point now = 1h;
    while (times.size() != count) {
        for (std::size_t i = 0; i != addresses; ++i) {
            now += b.delay(now, addresses);
            b.attempt(now);
            times.push_back(now);
        }
        b.next_pass();
    }
    return times;
}

BOOST_AUTO_TEST_SUITE(back_off)

BOOST_AUTO_TEST_CASE(a_machine_that_has_just_started_does_not_wait)
{
    backoff b{50ms, 1s, seed};
    BOOST_TEST((b.delay(0s, 3) == 0s));
}

BOOST_AUTO_TEST_CASE(the_first_pass_does_not_wait)
{
    backoff b{50ms, 1s, seed};
    const auto times = attempts(b, 3, 3);
    BOOST_TEST((times.front() == times.back()));
}

BOOST_AUTO_TEST_CASE(there_are_never_more_than_ten_attempts_in_a_second)
{
    for (const std::size_t addresses : {1U, 2U, 3U, 7U, 25U}) {
        backoff b{1ms, 2ms, seed};
        const auto times = attempts(b, addresses, addresses * 40);
        for (std::size_t i = 10; i < times.size(); ++i) {
            BOOST_TEST((times[i] - times[i - 10] >= 1s));
        }
    }
}

BOOST_AUTO_TEST_CASE(pauses_grow_from_the_minimum_to_the_maximum_and_half_of_each_is_chance)
{
    backoff b{100ms, 800ms, seed};
    const time_point now = 1h;
    for (const auto full : {100ms, 200ms, 400ms, 800ms, 800ms, 800ms}) {
        b.next_pass();
        std::vector<backoff::duration> pauses;
        for (int i = 0; i != 200; ++i) {
            pauses.push_back(b.delay(now, 1));
        }
        const auto [least, most] = std::ranges::minmax(pauses);
        BOOST_TEST((least >= full / 2));
        BOOST_TEST((most <= full));
        BOOST_TEST((most > least));
    }
    b.reset();
    BOOST_TEST((b.delay(now, 1) == 0s));
}

BOOST_AUTO_TEST_CASE(the_pause_is_spread_over_the_addresses)
{
    backoff b{1s, 1s, seed};
    b.next_pass();
    BOOST_TEST((b.delay(1h, 4) <= 250ms));
}

BOOST_AUTO_TEST_CASE(many_passes_do_not_overflow)
{
    backoff b{50ms, 1s, seed};
    for (int i = 0; i != 10'000; ++i) {
        b.next_pass();
    }
    const auto pause = b.delay(1h, 1);
    BOOST_TEST((pause >= 500ms && pause <= 1s));
}

BOOST_AUTO_TEST_CASE(the_longest_times_do_not_overflow)
{
    constexpr std::chrono::milliseconds longest{0x7fffffff};
    backoff b{longest, longest, seed};
    for (int i = 0; i != 20; ++i) {
        b.next_pass();
        const auto pause = b.delay(1h, 1);
        BOOST_TEST((pause >= longest / 2 && pause <= longest));
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace

} // namespace colock::test::backoff_test
