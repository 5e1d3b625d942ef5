// Times on the command line, as other tools take them.
#include "connect/duration.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <stdexcept>

namespace colock::test::duration_test {

using colock::cli::parse_duration;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(duration)

BOOST_AUTO_TEST_CASE(numbers_and_units_in_falling_order)
{
    const std::pair<const char*, std::chrono::milliseconds> all[] = {{"10", 10s},
                                                                     {"0", 0ms},
                                                                     {"1.5", 1500ms},
                                                                     {"10s", 10s},
                                                                     {"1.5s", 1500ms},
                                                                     {"500ms", 500ms},
                                                                     {"5m", 5min},
                                                                     {"5min", 5min},
                                                                     {"1h30m", 90min},
                                                                     {"1h 30min", 90min},
                                                                     {"2d", 48h},
                                                                     {"1w", 168h},
                                                                     {"1m30s500ms", 90'500ms},
                                                                     {"4 min 10 s", 250s},
                                                                     {"0.5h", 30min},
                                                                     {"10sec", 10s}};
    for (const auto& [text, time] : all) {
        BOOST_TEST((parse_duration(text) == time), text);
    }
}

BOOST_AUTO_TEST_CASE(whatever_else_is_refused)
{
    for (const auto* text : {"", "s", "soon", "-1", "1x", "1h30", "30m1h", "1m1m", "1 2", "1,5s",
                             "1e3", "inf", "nan", "10 000", "1H", "99999999d"}) {
        BOOST_CHECK_THROW(static_cast<void>(parse_duration(text)), std::invalid_argument);
    }
}

// What colock shows, it also takes.
BOOST_AUTO_TEST_CASE(what_is_shown_can_be_typed)
{
    for (const auto time : {350ms, 12'300ms, 250'000ms, 12'000'000ms, 180'000'000ms}) {
        BOOST_TEST((parse_duration(colock::cli::shown(time)) == time), colock::cli::shown(time));
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::duration_test
