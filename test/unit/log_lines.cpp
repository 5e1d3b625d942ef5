#include "report/log_lines.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>

namespace colock::test::log_lines_test {

namespace {

using colock::detail::log_lines;

BOOST_AUTO_TEST_SUITE(lines_for_the_log)

BOOST_AUTO_TEST_CASE(one_caller_is_sent_for_all_lines)
{
    log_lines lines;
    BOOST_TEST(!lines.send()); // there is none
    lines.add(log_level::debug, "first");
    lines.add(log_level::info, "second");
    BOOST_TEST(lines.send());
    BOOST_TEST(!lines.send()); // somebody is on the way
    const log_lines::lines expected{{log_level::debug, "first"}, {log_level::info, "second"}};
    BOOST_TEST((lines.take() == expected));
    BOOST_TEST(!lines.send());
    lines.add(log_level::debug, "third");
    BOOST_TEST(lines.send());
}

BOOST_AUTO_TEST_CASE(lines_for_which_nobody_could_be_sent_wait_for_the_next_caller)
{
    log_lines lines;
    lines.add(log_level::debug, "first");
    BOOST_TEST(lines.send());
    lines.not_sent();
    BOOST_TEST(lines.any());
    BOOST_TEST(lines.send());
    BOOST_TEST(lines.take().size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_log_that_is_too_slow_gets_the_oldest_lines_and_the_number_of_the_others)
{
    log_lines lines;
    for (std::size_t i = 0; i != log_lines::most + 3; ++i) {
        lines.add(log_level::debug, std::to_string(i));
    }
    const auto taken = lines.take();
    BOOST_TEST_REQUIRE(taken.size() == log_lines::most + 1);
    BOOST_TEST(taken.front().second == "0");
    BOOST_TEST(taken[log_lines::most - 1].second == std::to_string(log_lines::most - 1));
    BOOST_TEST((taken.back().first == log_level::warning));
    BOOST_TEST(taken.back().second ==
               "3 lines left out: they came up faster than the log took them");
    lines.add(log_level::debug, "next");
    BOOST_TEST(lines.take().size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace

} // namespace colock::test::log_lines_test
