// Jobs that every machine starts, and that run once: with a real server.
#include <support/matches.hpp>
#include <support/one_server.hpp>
#include <support/tcp_proxy.hpp>

#include "run/once_per.hpp"
#include "run_scene.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <regex>
#include <string>
#include <vector>

namespace colock::test::cli_once_test {

using namespace std::chrono_literals;

namespace {

struct job : scene {
    const std::string log = files.path() + "/log";

    std::vector<std::string> logs(const std::string& end = "true") const
    {
        return {"sh", "-c", "echo ran >>" + log + "; " + end};
    }
    std::size_t times() const
    {
        const auto text = file_text(log);
        return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    }
    std::string record()
    {
        admin_session admin{servers};
        return admin.get(path + ".runs");
    }
};

constexpr const char* long_period = "1000d";

} // namespace

BOOST_AUTO_TEST_SUITE(cli_once, *boost::unit_test::fixture<one_server>())

BOOST_AUTO_TEST_CASE(one_of_many_machines_runs_it_and_the_others_say_nothing)
{
    job j;
    std::vector<std::unique_ptr<colock_process>> machines;
    for (int i = 0; i != 6; ++i) {
        machines.push_back(std::make_unique<colock_process>(
            j.servers, j.with({"--once-per", long_period}, j.logs("sleep 0.2"))));
    }
    for (auto& m : machines) {
        BOOST_TEST(m->status() == 0);
        BOOST_TEST(m->out() == "");
    }
    BOOST_TEST(j.times() == 1u);
    BOOST_TEST(has(j.record(), "ended=success"));
    const auto later = j.run({"--once-per", long_period, "--json"}, j.logs());
    BOOST_TEST(later.status == 0);
    BOOST_TEST(has(later.err, R"("reason":"has_run")"));
    BOOST_TEST(has(later.err, R"("ended":"success")"), later.err);
    BOOST_TEST(has(later.err, R"("event":"released")"), later.err);
    BOOST_TEST(has(j.run({"--once-per", long_period, "-v"}, j.logs()).err, "the job has run for "));
    BOOST_TEST(j.times() == 1u);
    BOOST_TEST(j.queue() == 0u);
}

BOOST_AUTO_TEST_CASE(it_runs_again_in_the_next_period)
{
    job j;
    BOOST_TEST(wait_until(
        [&] {
            j.run({"--once-per", "2s"}, j.logs());
            return j.times() == 3;
        },
        patience));
}

BOOST_AUTO_TEST_CASE(after_a_failure_the_next_machine_runs_it_if_asked)
{
    job j;
    BOOST_TEST(j.run({"--once-per", long_period}, j.logs("exit 3")).status == 3);
    const auto later = j.run({"--once-per", long_period, "-v"}, j.logs());
    BOOST_TEST((later.status == 0 && has(later.err, " and failed")), later.err);
    BOOST_TEST(
        has(j.run({"--once-per", long_period, "--json"}, j.logs()).err, R"("ended":"failure")"));
    BOOST_TEST(j.times() == 1u);
    const std::vector<std::string> again{"--once-per", long_period, "--again-on-failure", "2"};
    BOOST_TEST(j.run(again, j.logs("exit 4")).status == 4);
    BOOST_TEST(j.run(again, {"/nowhere"}).status == 127); // it took no lock
    BOOST_TEST(j.run(again, j.logs("kill $$")).status == 143);
    BOOST_TEST(j.run(again, j.logs()).status == 0);
    BOOST_TEST(j.times() == 3u);
    BOOST_TEST(has(j.record(), "failed=3"));
}

BOOST_AUTO_TEST_CASE(G1_a_crash_counts_as_a_run_unless_asked)
{
    job j;
    const std::vector<std::string> once{"--once-per", long_period, "--again-on-failure", "1"};
    colock_process first{j.servers, j.with(once, j.logs("sleep 100"))};
    BOOST_REQUIRE(wait_until([&] { return j.times() == 1; }, patience));
    ::kill(first.pid(), SIGKILL);
    const auto later = j.run(once, j.logs());
    BOOST_TEST(later.status == 0);
    BOOST_TEST(has(later.err, "nobody has written down"), later.err);
    BOOST_TEST(j.times() == 1u);
    BOOST_TEST(has(j.record(), "ended=none"));
    auto asked = once;
    asked.push_back("--again-after-crash");
    BOOST_TEST(j.run(asked, j.logs()).status == 0);
    BOOST_TEST(j.times() == 2u);
}

// Its session ends while it waits. A run that counted from the new place would be that of another night.
BOOST_AUTO_TEST_CASE(a_run_counts_from_its_first_place_in_the_queue)
{
    constexpr std::int64_t period = 4'000; // no longer than the session
    job j;
    colock_process holder{j.servers, j.with({}, j.holding())};
    BOOST_REQUIRE(j.runs());
    colock_process waiter{j.servers, j.with({"--once-per", "4s", "--session-timeout", "4s",
                                             "--tick", "500ms", "--grace", "100ms"},
                                            j.logs())};
    BOOST_REQUIRE(j.queue_has(2));
    admin_session admin{j.servers};
    std::int64_t joined = 0;
    for (const auto& node : admin.children(j.path)) {
        joined = std::max(joined, admin.exists(j.path + '/' + node)->ctime);
    }
    BOOST_REQUIRE(waiter.process().stop());
    BOOST_REQUIRE(j.queue_has(1));
    waiter.process().resume();
    BOOST_REQUIRE(j.queue_has(2));
    j.enough();
    BOOST_TEST(waiter.status() == 0);
    BOOST_TEST(holder.status() == 0);
    const auto due = std::chrono::sys_time<std::chrono::milliseconds>{
        std::chrono::milliseconds{(joined + period / 2) / period * period}};
    BOOST_TEST(has(j.record(), "due=" + colock::cli::text_of(due)), j.record());
}

BOOST_AUTO_TEST_CASE(a_deposed_holder_writes_nothing)
{
    job j;
    colock_process first{
        j.servers, j.with({"--once-per", long_period, "--grace", "100ms"}, j.logs("sleep 100"))};
    BOOST_REQUIRE(wait_until([&] { return j.times() == 1; }, patience));
    const auto before = j.record();
    admin_session admin{j.servers};
    for (const auto& each : admin.children(j.path)) {
        admin.remove(j.path + '/' + each);
    }
    BOOST_TEST(first.status() == 120);
    BOOST_TEST(j.record() == before);
}

BOOST_AUTO_TEST_CASE(a_job_is_held_for_some_time_by_a_lock_that_has_gone)
{
    job j;
    const auto began = std::chrono::steady_clock::now();
    BOOST_TEST(j.run({"--hold-at-least", "4s"}, j.logs()).status == 0);
    BOOST_TEST(j.run({"--hold-at-least", "1h"}, j.logs()).status == 0); // waits
    BOOST_TEST((std::chrono::steady_clock::now() - began > 4s));
    BOOST_TEST(j.run({"--try", "--hold-at-least", "1s"}, j.logs()).status == 123);
    BOOST_TEST(j.run({"--timeout", "500ms", "--hold-at-least", "1s"}, j.logs()).status == 124);
    BOOST_TEST(j.times() == 2u);
    const auto why = run_colock(j.servers, {"why", j.path});
    BOOST_TEST(has(why.out, "; " + j.path + ".runs: colock job "), why.out);
}

BOOST_AUTO_TEST_CASE(a_command_that_holds_for_too_long_is_ended)
{
    job j;
    const auto kind = j.run({"--max-hold", "300ms", "--json"}, {"sleep", "100"});
    BOOST_TEST(kind.status == 124);
    BOOST_TEST(has(kind.err, R"("reason":"held_too_long")"));
    const auto began = std::chrono::steady_clock::now();
    const auto deaf = j.run({"--max-hold", "300ms", "--grace", "500ms", "--safety-margin", "1s"},
                            {"sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"});
    BOOST_TEST(deaf.status == 124);
    BOOST_TEST((std::chrono::steady_clock::now() - began < 20s));
    BOOST_TEST(has(deaf.err, "--max-hold"));
    BOOST_TEST(j.run({"--max-hold", "1m"}, {"sh", "-c", "exit 5"}).status == 5);
    BOOST_TEST(j.queue() == 0u);
}

BOOST_AUTO_TEST_CASE(a_node_of_somebody_else_is_no_record)
{
    job j;
    admin_session admin{j.servers};
    admin.create(j.path + ".runs", "something");
    const auto r = j.run({"--once-per", long_period}, j.logs());
    BOOST_TEST(r.status == 122);
    BOOST_TEST(has(r.err, j.path + ".runs"));
    BOOST_TEST(j.times() == 0u);
    BOOST_TEST(j.record() == "something");
}

BOOST_AUTO_TEST_CASE(what_could_not_run_has_failed)
{
    job j;
    const auto bad = j.files.path() + "/bad";
    std::ofstream{bad} << "#!/nowhere/x\n";
    ::chmod(bad.c_str(), 0755);
    const std::vector<std::string> again{"--once-per", long_period, "--again-on-failure", "1"};
    const auto r = j.run(again, {bad});
    BOOST_TEST((r.status == 126 && has(r.err, "the interpreter")), r.err);
    BOOST_TEST(has(j.record(), "ended=failure"));
    BOOST_TEST(j.run(again, j.logs()).status == 0);
    BOOST_TEST(j.times() == 1u);
}

BOOST_AUTO_TEST_CASE(G1_a_run_whose_lock_was_lost_is_not_repeated_by_its_retry)
{
    job j;
    colock_process first{j.servers,
                         j.with({"--once-per", long_period, "--retry", "3", "--grace", "100ms"},
                                j.logs("sleep 100"))};
    BOOST_REQUIRE(wait_until([&] { return j.times() == 1; }, patience));
    admin_session admin{j.servers};
    for (const auto& each : admin.children(j.path)) {
        admin.remove(j.path + '/' + each);
    }
    BOOST_TEST(first.status() == 120);
    BOOST_TEST(has(first.err(), "the job's record decides"), first.err());
    BOOST_TEST(j.times() == 1u);
}

BOOST_AUTO_TEST_CASE(G1_its_own_lost_run_holds_back_each_retry)
{
    job j;
    colock_process first{
        j.servers, j.with({"--hold-at-least", "1h", "--retry", "3", "--grace", "100ms", "--json"},
                          j.logs("sleep 100"))};
    admin_session admin{j.servers};
    const auto lose = [&] {
        for (const auto& each : admin.children(j.path)) {
            admin.remove(j.path + '/' + each);
        }
    };
    const auto times_held_back = [&] {
        return matches(first.err(), std::regex{R"x("event":"(held_back)")x"}).size();
    };
    BOOST_REQUIRE(wait_until([&] { return j.times() == 1; }, patience));
    lose(); // while the command runs
    BOOST_TEST(wait_until([&] { return times_held_back() == 1; }, patience));
    lose(); // while it waits with the lock
    BOOST_TEST(wait_until([&] { return times_held_back() == 2 || j.times() == 2; }, patience));
    BOOST_TEST(j.times() == 1u);
    first.process().send_signal(SIGTERM);
    BOOST_TEST(first.status() == 143);
}

// The servers write the run down, their answer is lost, and so is the session: nothing has run.
BOOST_AUTO_TEST_CASE(a_run_that_is_written_down_unheard_is_made_by_its_retry)
{
    job j;
    tcp_proxy between{j.servers};
    auto unheard = between.on_reply(opcode::multi, reaction::hold, {.error = 0});
    colock_process first{between.connect_string(),
                         j.with({"--once-per", long_period, "--retry", "1", "--grace", "100ms",
                                 "--session-timeout", "5s"},
                                j.logs())};
    BOOST_REQUIRE(unheard.wait(patience));
    between.refuse(true);
    between.cut();
    BOOST_REQUIRE(j.queue_has(0));
    BOOST_TEST(has(j.record(), "ended=none"));
    BOOST_TEST(j.times() == 0u);
    between.refuse(false);
    BOOST_TEST(first.status() == 0);
    BOOST_TEST(j.times() == 1u);
    BOOST_TEST(has(j.record(), "ended=success"));
}

// The lock is held meanwhile, and would else be released without it.
BOOST_AUTO_TEST_CASE(the_end_is_written_down_however_slow_the_servers_are)
{
    job j;
    tcp_proxy between{j.servers};
    auto slow = between.on_request(opcode::multi, reaction::hold, {.nth = 2});
    colock_process p{between.connect_string(),
                     j.with({"--once-per", long_period, "--release-timeout", "50ms"}, j.logs())};
    BOOST_REQUIRE(slow.wait(patience));
    BOOST_TEST(!wait_until([&] { return !p.process().running(); }, 500ms));
    slow.release();
    BOOST_TEST(p.status() == 0);
    BOOST_TEST(has(j.record(), "ended=success"));
}

// No server hears of it before the lock is lost; the command has done its work all the same.
BOOST_AUTO_TEST_CASE(an_end_that_no_server_hears_is_told)
{
    job j;
    tcp_proxy between{j.servers};
    colock_process p{
        between.connect_string(),
        j.with({"--once-per", long_period, "--session-timeout", "5s", "--grace", "100ms"},
               j.holding())};
    BOOST_REQUIRE(j.runs());
    between.stall(true);
    j.enough();
    BOOST_TEST(p.status() == 0);
    BOOST_TEST(has(p.err(), "not written down: the lock was lost"), p.err());
    BOOST_TEST(has(j.record(), "ended=none"));
    between.cut();
    between.stall(false);
}

BOOST_AUTO_TEST_CASE(a_limit_gives_no_run_up_that_may_be_written_down)
{
    job j;
    tcp_proxy between{j.servers};
    auto held = between.on_reply(opcode::multi, reaction::hold, {.error = 0});
    colock_process first{between.connect_string(),
                         j.with({"--once-per", long_period, "--timeout", "3s"}, j.logs())};
    BOOST_REQUIRE(held.wait(patience));
    BOOST_TEST(!wait_until([&] { return !first.process().running(); }, 3500ms));
    held.release();
    BOOST_TEST(first.status() == 0);
    BOOST_TEST(j.times() == 1u);
}

BOOST_AUTO_TEST_CASE(processes_that_are_left_behind_do_not_hold_for_too_long)
{
    job j;
    const auto r =
        j.run({"--max-hold", "2s", "--grace", "3s", "--once-per", long_period},
              {"sh", "-c", "(trap '' TERM; for i in $(seq 50); do sleep 0.1; done) & exit 0"});
    BOOST_TEST(r.status == 0);
    BOOST_TEST(has(j.record(), "ended=success"));
}

BOOST_AUTO_TEST_CASE(a_record_that_is_spoilt_meanwhile_changes_no_status)
{
    job j;
    colock_process first{j.servers, j.with({"--once-per", long_period}, j.holding())};
    BOOST_REQUIRE(j.runs());
    admin_session admin{j.servers};
    admin.set(j.path + ".runs", "junk");
    j.enough();
    BOOST_TEST(first.status() == 0);
    BOOST_TEST(has(first.err(), "not written down"));
    BOOST_TEST(j.queue() == 0u);
}

BOOST_AUTO_TEST_CASE(a_record_that_has_gone_meanwhile_is_told)
{
    job j;
    colock_process first{j.servers, j.with({"--once-per", long_period}, j.holding())};
    BOOST_REQUIRE(j.runs());
    admin_session{j.servers}.remove(j.path + ".runs");
    j.enough();
    BOOST_TEST(first.status() == 0);
    BOOST_TEST(has(first.err(), "not written down: the record is gone"), first.err());
}

BOOST_AUTO_TEST_CASE(a_hostile_record_holds_back_only_those_who_do_not_wait)
{
    job j;
    admin_session admin{j.servers};
    BOOST_TEST(j.run({"--hold-at-least", "1ms"}, j.logs()).status == 0);
    admin.set(j.path + ".runs", "colock job due=1970-01-01T00:00:00Z ended=none failed=0 "
                                "not-before=9999-01-01T00:00:00Z by=x");
    BOOST_TEST(j.run({"--try", "--hold-at-least", "1s"}, j.logs()).status == 123);
    colock_process waits{j.servers, j.with({"--hold-at-least", "1s"}, j.logs())};
    BOOST_TEST(j.queue_has(1));
    waits.process().send_signal(SIGTERM);
    BOOST_TEST(waits.status() == 143);
    BOOST_TEST(j.times() == 1u);
    BOOST_TEST(j.queue_has(0));
}

BOOST_AUTO_TEST_CASE(who_is_held_back_makes_way_when_asked)
{
    job j;
    BOOST_TEST(j.run({"--hold-at-least", "1h"}, j.logs()).status == 0);
    BOOST_TEST(j.run({"--try", "--hold-at-least", "0"}, j.logs()).status == 123);
    colock_process waits{j.servers, j.with({"--hold-at-least", "1h", "--json"}, j.logs())};
    BOOST_TEST(wait_until([&] { return has(waits.err(), "held_back"); }, patience));
    BOOST_TEST(run_colock(j.servers, {"revoke", j.path}).status == 0);
    BOOST_TEST(waits.status() == 124);
    BOOST_TEST(j.times() == 1u);
}

BOOST_AUTO_TEST_CASE(an_outage_is_told_to_whom_the_last_run_holds_back)
{
    job j;
    BOOST_TEST(j.run({"--hold-at-least", "1h"}, j.logs()).status == 0);
    tcp_proxy between{j.servers};
    colock_process waits{between.connect_string(),
                         j.with({"--hold-at-least", "1h", "--json"}, j.logs())};
    BOOST_TEST(wait_until([&] { return has(waits.err(), "held_back"); }, patience));
    between.refuse(true, refusal::close_at_once);
    between.cut();
    BOOST_TEST(wait_until([&] { return has(waits.err(), "at_risk"); }, patience), waits.err());
    between.refuse(false);
    BOOST_TEST(wait_until([&] { return has(waits.err(), "safe_again"); }, patience), waits.err());
    waits.process().send_signal(SIGTERM);
    BOOST_TEST(waits.status() == 143);
}

BOOST_AUTO_TEST_CASE(holding_forgets_no_period)
{
    job j;
    BOOST_TEST(j.run({"--once-per", long_period}, j.logs()).status == 0);
    BOOST_TEST(j.run({"--hold-at-least", "1ms"}, j.logs()).status == 0);
    BOOST_TEST(j.run({"--once-per", long_period}, j.logs()).status == 0);
    BOOST_TEST(j.times() == 2u);
}

BOOST_AUTO_TEST_CASE(options_that_make_no_sense_together_are_refused)
{
    job j;
    const std::vector<std::vector<std::string>> bad{
        {"--once-per", "1h", "--shared"},
        {"--once-per", "1h", "--permits", "1/2"},
        {"--hold-at-least", "1h", "--shards", "3"},
        {"--max-hold", "1h", "--shards", "3"},
        {"--max-hold", "0"},
        {"--once-per", "soon"},
        {"--again-on-failure", "1"},
        {"--once-per", "1h", "--again-on-failure", "-1"},
        {"--shards", "3", "--again-on-failure", "1"},
        {"--once-per", "1h", "--again-after-crash"}};
    for (const auto& options : bad) {
        const auto r = j.run(options, j.logs());
        BOOST_TEST(r.status == 125, options.front() << ": " << r.err);
    }
    BOOST_TEST(j.times() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::cli_once_test
