// When a job runs: periods, records, and the rule.
#include "run/once_per.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace colock::test::once_per_test {

using namespace colock::cli;
using namespace std::chrono_literals;

namespace {

servers_time at(int year, unsigned month, unsigned day, std::chrono::milliseconds time = 0ms)
{
    return std::chrono::sys_days{std::chrono::year{year} / static_cast<int>(month) /
                                 static_cast<int>(day)} +
           time;
}

std::string nearest(const char* text, servers_time to)
{
    return text_of(schedule{text}.due_of(to));
}

job_terms once_per(const char* text)
{
    job_terms t;
    t.once_per.emplace(text);
    return t;
}

bool runs(const job_terms& terms, const std::optional<run_record>& last, servers_time joined)
{
    return std::holds_alternative<starts>(decide(terms, last, joined, joined, "me"));
}

} // namespace

BOOST_AUTO_TEST_SUITE(once_per_rule)

BOOST_AUTO_TEST_CASE(a_run_belongs_to_the_nearest_moment)
{
    BOOST_TEST(nearest("1h", at(2026, 11, 27, 2h + 55min)) == "2026-11-27T03:00:00Z");
    BOOST_TEST(nearest("1h", at(2026, 11, 27, 3h + 29min)) == "2026-11-27T03:00:00Z");
    BOOST_TEST(nearest("1w", at(2026, 11, 28)) == "2026-11-26T00:00:00Z");      // a Thursday
    BOOST_TEST(nearest("1w@4d3h", at(2026, 11, 28)) == "2026-11-23T03:00:00Z"); // a Monday
    BOOST_TEST(nearest("1h@30m", at(2026, 11, 27, 3h + 29min)) == "2026-11-27T03:30:00Z");
    BOOST_TEST(nearest("1h@30m", at(2026, 11, 27, 3h + 59min)) == "2026-11-27T03:30:00Z");
    BOOST_TEST(nearest("1h", at(2026, 11, 27, 3h + 30min)) == "2026-11-27T04:00:00Z");
    const process_zone utc{"UTC"};
    BOOST_TEST(nearest("daily@03:00", at(2026, 11, 27, 14h)) == "2026-11-27T03:00:00Z");
    BOOST_TEST(nearest("daily@03:00", at(2026, 11, 27, 20h)) == "2026-11-27T03:00:00Z");
    BOOST_TEST(nearest("daily@03:00", at(2026, 11, 27, 22h)) == "2026-11-28T03:00:00Z");
    BOOST_TEST(nearest("daily@00:00", at(2026, 11, 27, -2min)) == "2026-11-27T00:00:00Z");
}

BOOST_AUTO_TEST_CASE(a_day_has_the_hours_of_its_zone)
{
    const schedule s{"daily@02:30Europe/Berlin"};
    BOOST_TEST(s.zone() == "Europe/Berlin");
    const process_zone there{s.zone()};
    // It springs forward on 2026-03-29, when there is no 02:30, and falls back on 2026-10-25, when there are two.
    std::map<servers_time, int> days;
    for (auto t = at(2026, 1, 1, 12h); t < at(2027, 1, 1); t += 1h) {
        ++days[s.due_of(t)];
    }
    BOOST_TEST(days.size() == 366u); // and the moment of the next year's first day
    for (auto it = std::next(days.begin()); it != days.end(); ++it) {
        const auto since = it->first - std::prev(it)->first;
        BOOST_TEST((since >= 23h && since <= 25h));
    }
    BOOST_TEST(text_of(s.due_of(at(2026, 7, 1))) == "2026-07-01T00:30:00Z");
    BOOST_TEST(text_of(s.due_of(at(2026, 12, 1))) == "2026-12-01T01:30:00Z");
    const process_zone back{"UTC"};
}

BOOST_AUTO_TEST_CASE(what_is_no_period_is_refused)
{
    for (const char* const bad : {"",
                                  "0",
                                  "1ms",
                                  "1500ms",
                                  "-1h",
                                  "1h@",
                                  "1h@1h",
                                  "1h@61m",
                                  "daily",
                                  "daily@",
                                  "daily@3",
                                  "daily@3:00",
                                  "daily@24:00",
                                  "daily@03:60",
                                  "daily@03:0",
                                  "daily@03-00",
                                  "weekly",
                                  "daily@03:00Nowhere/Here",
                                  "daily@03:00../../etc/passwd",
                                  "daily@03:00/etc/localtime",
                                  "daily@03:00Europe",
                                  "daily@03:00 UTC",
                                  "1e9d"}) {
        BOOST_TEST_CONTEXT(bad)
        {
            BOOST_CHECK_THROW(schedule{bad}, std::invalid_argument);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_record_is_read_as_it_was_written)
{
    run_record r{at(2026, 11, 27, 3h), run_record::result::failure, 3, at(2026, 11, 27, 3h + 5min),
                 "00000000000000130000000000000001"};
    BOOST_TEST(text_of(r) == "colock job due=2026-11-27T03:00:00Z ended=failure failed=3 "
                             "not-before=2026-11-27T03:05:00Z by=00000000000000130000000000000001");
    BOOST_TEST((record_in(text_of(r)) == r));
    BOOST_TEST((record_in(text_of(run_record{})) == run_record{}));
    r.not_before += 1ms; // never sooner
    BOOST_TEST((record_in(text_of(r))->not_before == at(2026, 11, 27, 3h + 5min + 1s)));
}

BOOST_AUTO_TEST_CASE(other_texts_are_no_records)
{
    const auto good = text_of(run_record{at(2026, 11, 27), {}, 0, {}, "x"});
    BOOST_TEST(record_in(good).has_value());
    for (std::size_t n = 0; n + 5 < good.size(); ++n) {
        BOOST_TEST(!record_in(good.substr(0, n)), n);
    }
    std::minstd_rand random{1};
    for (int i = 0; i != 20'000; ++i) {
        auto text = good;
        for (auto n = random() % 4 + 1; n != 0; --n) {
            text[random() % text.size()] = static_cast<char>(random());
        }
        if (const auto r = record_in(text)) { // whatever it is, it can be written
            BOOST_TEST(text_of(*r).size() < 1'000u);
        }
    }
}

BOOST_AUTO_TEST_CASE(once_in_each_period)
{
    const auto terms = once_per("1h");
    const auto due = at(2026, 11, 27, 3h);
    BOOST_TEST(runs(terms, {}, due));
    for (const auto ended :
         {run_record::result::none, run_record::result::success, run_record::result::failure}) {
        const run_record last{
            due, ended, ended == run_record::result::failure ? 1u : 0u, {}, "other"};
        BOOST_TEST(!runs(terms, last, due - 10min));
        BOOST_TEST(!runs(terms, last, due + 29min));
        BOOST_TEST(runs(terms, last, due + 31min));
        BOOST_TEST(runs(terms, last, due + 1h));
    }
    // A machine that woke in the afternoon does not take the coming night's run.
    const auto night = once_per("daily@03:00UTC");
    BOOST_TEST(
        !runs(night, run_record{due, run_record::result::success, 0, {}, "other"}, due + 13h));
    BOOST_TEST(
        runs(night, run_record{due, run_record::result::success, 0, {}, "other"}, due + 19h));
    // The answer to the own write was lost.
    BOOST_TEST(runs(terms, run_record{due, {}, 0, {}, "me"}, due));
}

BOOST_AUTO_TEST_CASE(a_record_of_the_future_stops_nothing)
{
    const auto due = at(2026, 11, 27, 3h);
    const auto decided =
        decide(once_per("1h"), run_record{due + 5h, {}, 0, {}, "other"}, due, due, "me");
    BOOST_REQUIRE(std::holds_alternative<starts>(decided));
    BOOST_TEST(std::get<starts>(decided).warning.find("set back") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(another_period_at_the_path_warns)
{
    const auto first = at(2026, 11, 27, 11h + 30min);
    const auto half =
        std::get<starts>(decide(once_per("30m@15m"), run_record{first, {}, 0, {}, "other"},
                                first + 16min, first + 16min, "half"));
    BOOST_TEST(text_of(half.record.due) == "2026-11-27T11:45:00Z");
    const auto again = std::get<starts>(
        decide(once_per("1h@30m"), half.record, first + 17min, first + 17min, "me"));
    BOOST_TEST(text_of(again.record.due) == "2026-11-27T11:30:00Z");
    BOOST_TEST(again.warning.find("another --once-per") != std::string::npos, again.warning);
}

BOOST_AUTO_TEST_CASE(a_run_between_two_moments_warns)
{
    const auto warning = [](servers_time joined, const char* period = "1h") {
        return std::get<starts>(decide(once_per(period), {}, joined, joined, "me")).warning;
    };
    BOOST_TEST(warning(at(2026, 11, 27, 3h + 14min)) == "");
    BOOST_TEST(warning(at(2026, 11, 27, 3h + 31min)) != "");
    BOOST_TEST(warning(at(2026, 11, 27, 3h + 29min), "1h@0") == "");
    BOOST_TEST(warning(at(2026, 11, 27, 3h) + 499ms, "1s") == "");
    BOOST_TEST(warning(at(2026, 11, 27, 20h), "daily@03:00UTC") == "");
}

// A person who tries the line of a nightly in the evening takes the night's run away.
BOOST_AUTO_TEST_CASE(a_run_far_ahead_of_its_moment_warns)
{
    const auto warning = [](servers_time joined) {
        return std::get<starts>(decide(once_per("daily@03:00UTC"), {}, joined, joined, "me"))
            .warning;
    };
    BOOST_TEST(warning(at(2026, 11, 26, 22h)).find("the one at 2026-11-27T03:00:00Z") !=
               std::string::npos);
    BOOST_TEST(warning(at(2026, 11, 27, 2h + 44min)) != "");
    BOOST_TEST(warning(at(2026, 11, 27, 2h + 45min)) == "");
    BOOST_TEST(warning(at(2026, 11, 27, 13h)) == "");
}

BOOST_AUTO_TEST_CASE(how_the_run_has_ended_is_told)
{
    const auto due = at(2026, 11, 27, 3h);
    const auto text = [&](run_record::result ended) {
        const std::uint64_t failed = ended == run_record::result::failure ? 1 : 0;
        const auto decided =
            decide(once_per("1h"), run_record{due, ended, failed, {}, "other"}, due, due, "me");
        return text_of(std::get<has_run>(decided));
    };
    BOOST_TEST(text(run_record::result::success) ==
               "the job has run for 2026-11-27T03:00:00Z, and does not run again");
    BOOST_TEST(text(run_record::result::failure).find("failed") != std::string::npos);
    BOOST_TEST(text(run_record::result::none).find("nobody") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(after_a_failure_it_may_run_again)
{
    auto terms = once_per("1h");
    terms.again_on_failure = 2;
    const auto due = at(2026, 11, 27, 3h);
    std::optional<run_record> last;
    int number = 0;
    for (; runs(terms, last, due); ++number) {
        last = std::get<starts>(decide(terms, last, due, due, std::to_string(number))).record;
        BOOST_TEST(!runs(terms, last, due)); // it goes on, or has crashed
        last->ended = run_record::result::failure;
        ++last->failed;
    }
    BOOST_TEST(number == 3);
    BOOST_TEST(runs(terms, last, due + 1h));
    last->ended = run_record::result::success;
    BOOST_TEST(!runs(terms, last, due));
}

// A waiter whose session has ended has a new place in the queue, and a run of another night may have come between.
BOOST_AUTO_TEST_CASE(who_waits_for_days_runs_for_the_night_in_which_it_came)
{
    const auto terms = once_per("1h");
    const auto joined = at(2026, 11, 27, 2h + 55min), newest = at(2026, 11, 27, 8h + 10min);
    const auto run_for = [&](const std::optional<run_record>& last) {
        const auto decided = decide(terms, last, joined, newest, "me");
        const auto* const s = std::get_if<starts>(&decided);
        return s ? text_of(s->record.due) + s->warning : "";
    };
    BOOST_TEST(run_for({}) == "2026-11-27T03:00:00Z");
    const run_record later{at(2026, 11, 27, 8h), run_record::result::failure, 1, {}, "other"};
    BOOST_TEST(run_for(later) == "");
    BOOST_TEST(run_for(run_record{at(2026, 11, 27, 10h), {}, 0, {}, "other"}).find("set back") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_crash_is_a_failure_on_request)
{
    auto terms = once_per("1h");
    terms.again_on_failure = 2;
    terms.again_after_crash = true;
    const auto due = at(2026, 11, 27, 3h);
    std::optional<run_record> last;
    int number = 0;
    for (; runs(terms, last, due); ++number) {
        last = std::get<starts>(decide(terms, last, due, due, std::to_string(number))).record;
    }
    BOOST_TEST(number == 3);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::once_per_test
