#include "report/waiting_report.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <vector>

namespace colock::test::waiting_report_test {

namespace {

using namespace std::chrono_literals;
using colock::protocol::next_waiting_report;

BOOST_AUTO_TEST_SUITE(waiting_report)

BOOST_AUTO_TEST_CASE(reports_of_one_waiter_get_rarer_up_to_a_pause)
{
    const auto began = 1000s;
    std::vector<std::chrono::nanoseconds> after;
    for (std::chrono::nanoseconds now = began; after.size() != 10;) {
        now = next_waiting_report(began, now);
        after.push_back(now - began);
    }
    const std::vector<std::chrono::nanoseconds> expected{5s,   10s,  20s,  40s,  80s,
                                                         160s, 320s, 640s, 960s, 1280s};
    BOOST_TEST((after == expected));
}

BOOST_AUTO_TEST_CASE(a_report_that_comes_late_makes_up_for_none)
{
    BOOST_TEST((next_waiting_report(0s, 4999ms) == 5s));
    BOOST_TEST((next_waiting_report(0s, 5s) == 10s));
    BOOST_TEST((next_waiting_report(0s, 39s) == 40s));
    BOOST_TEST((next_waiting_report(0s, 41s) == 80s));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace

} // namespace colock::test::waiting_report_test
