// `colock elect`: who leads, commands that are started again, and the switch for all candidates.
#include <support/tcp_proxy.hpp>

#include "run/restarts.hpp"
#include "run/work_switch.hpp"
#include "run_scene.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace colock::test::cli_elect_test {

using namespace std::chrono_literals;

namespace {

struct candidates : scene {
    std::string at_switch = own_node() + "/switch";
    admin_session admin{servers};

    candidates() { admin.create_path(own_node()); }

    std::vector<std::string> elect(std::vector<std::string> options,
                                   std::vector<std::string> command)
    {
        auto words = with(std::move(options), std::move(command));
        words.front() = "elect";
        return words;
    }
    // Says in a file that it has started, and ends with this status.
    std::vector<std::string> counting(const std::string& end)
    {
        return {"sh", "-c", "echo x >>" + files.path() + "/starts; " + end};
    }
    std::size_t starts()
    {
        const auto text = file_text(files.path() + "/starts");
        return static_cast<std::size_t>(std::ranges::count(text, 'x'));
    }
    bool started(std::size_t times)
    {
        return wait_until([&] { return starts() >= times; }, patience);
    }
};

// Works until it is told to stop, or until the file `enough` is there.
std::string works(const temporary_directory& files)
{
    return "while [ ! -e " + files.path() + "/enough ]; do sleep 0.01; done";
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(cli_elect, candidates, *boost::unit_test::fixture<one_server>())

BOOST_AUTO_TEST_CASE(who_gets_no_lead_learns_who_has_it)
{
    colock_process leader{servers, elect({"--name", "the old scheduler"}, holding())};
    BOOST_REQUIRE(runs());
    for (const auto& [options, status] :
         {std::pair{std::vector<std::string>{"--try"}, 123},
          std::pair{std::vector<std::string>{"--timeout", "50ms"}, 124}}) {
        const auto r = run_colock(servers, elect(options, {"true"}));
        BOOST_TEST(r.status == status);
        BOOST_TEST(is_one_line(r.err), r.err);
        BOOST_TEST(has(r.err, path + " is led by "), r.err);
        BOOST_TEST(has(r.err, "(the old scheduler), "), r.err);
    }
    BOOST_TEST(run_colock(servers, elect({"--try", "-E", "0"}, {"true"})).status == 0);
    enough();
    BOOST_TEST(leader.status() == 0);
    BOOST_TEST(run_colock(servers, elect({"--try"}, {"true"})).status == 0);
    BOOST_TEST(run_colock(servers, elect({"--try", "--timeout", "1s"}, {"true"})).status == 125);
}

BOOST_AUTO_TEST_CASE(a_command_that_fails_is_started_again_and_one_that_is_done_is_not)
{
    colock_process p{servers, elect({"--restart", "on-failure"},
                                    counting("[ $(wc -l <" + files.path() + "/starts) = 2 ]"))};
    BOOST_TEST(p.status() == 0);
    BOOST_TEST(starts() == 2u);
    BOOST_TEST(is_one_line(p.err()), p.err());
    BOOST_TEST(has(p.err(), "has ended with status 1; it stands again in 1.0 s (retry 1)"),
               p.err());
    BOOST_TEST(queue() == 0u);
}

// As a deployment replaces it.
BOOST_AUTO_TEST_CASE(a_file_that_is_away_for_a_moment_ends_no_candidate)
{
    const auto program = files.path() + "/program";
    const auto make = [&](const std::string& text) {
        std::ofstream{program + ".new"} << "#!/bin/sh\n" << text << '\n';
        std::filesystem::permissions(program + ".new", std::filesystem::perms::owner_all);
        std::filesystem::rename(program + ".new", program);
    };
    make("rm \"$0\"; exit 1");
    colock_process p{servers, elect({"--restart", "on-failure"}, {program})};
    const auto is_away = [&] { return has(p.err(), "cannot be started: No such file"); };
    BOOST_TEST(wait_until(is_away, patience), p.err());
    make("exit 0");
    BOOST_TEST(p.status() == 0, p.err());
    BOOST_TEST(run_colock(servers, elect({"--restart", "always"}, {"/none"})).status == 127);
}

BOOST_AUTO_TEST_CASE(retry_limits_restarts_and_the_status_is_the_last_one)
{
    const auto r =
        run_colock(servers, elect({"--restart", "always", "--retry", "1"}, counting("exit 7")));
    BOOST_TEST(r.status == 7);
    BOOST_TEST(starts() == 2u);
    BOOST_TEST(run_colock(servers, elect({"--retry", "3"}, counting("exit 7"))).status == 7);
    BOOST_TEST(starts() == 3u);
}

BOOST_AUTO_TEST_CASE(a_signal_ends_restarts_while_the_command_runs_and_between_two_runs)
{
    {
        colock_process p{servers, elect({"--restart", "always"}, holding())};
        BOOST_REQUIRE(runs());
        p.process().send_signal(SIGTERM);
        BOOST_TEST(p.status() == 128 + SIGTERM);
    }
    colock_process p{servers, elect({"--restart", "always"}, counting("exit 0"))};
    BOOST_REQUIRE(wait_until([&] { return has(p.err(), "it stands again in 2.0 s"); }, patience));
    p.process().send_signal(SIGTERM);
    BOOST_TEST(p.status() == 128 + SIGTERM);
    BOOST_TEST(queue() == 0u);
}

BOOST_AUTO_TEST_CASE(another_candidate_leads_while_one_waits_to_stand_again)
{
    // At the end a signal meets a run that does not end by itself, or the time between two runs.
    const auto fails = "[ -e " + files.path() + "/enough ] && exec sleep 1000; exit 1";
    colock_process broken{servers, elect({"--restart", "on-failure"}, counting(fails))};
    BOOST_REQUIRE(started(1));
    colock_process sound{servers, elect({}, holding())};
    BOOST_TEST(runs());
    enough();
    BOOST_TEST(sound.status() == 0);
    broken.process().send_signal(SIGTERM);
    BOOST_TEST(broken.status() == 128 + SIGTERM);
}

// Without --retry, a loss is followed by another try, too.
BOOST_AUTO_TEST_CASE(who_has_lost_the_lead_stands_again)
{
    colock_process p{servers, elect({"--restart", "on-failure", "--grace", "100ms"},
                                    counting("trap 'exit 0' TERM; " + works(files)))};
    BOOST_REQUIRE(started(1));
    for (const auto& each : admin.children(path)) {
        admin.remove(path + '/' + each);
    }
    BOOST_TEST(started(2));
    enough();
    BOOST_TEST(p.status() == 0);
}

BOOST_AUTO_TEST_CASE(the_switch_pauses_the_work_and_lets_it_go_on)
{
    colock_process p{servers, elect({"--json", "--enabled-by", at_switch},
                                    counting("trap 'exit 9' TERM; " + works(files)))};
    BOOST_REQUIRE(wait_until([&] { return has(p.err(), "does not exist"); }, patience));
    BOOST_TEST(queue() == 0u);
    admin.create(at_switch, "Off\n");
    BOOST_TEST(starts() == 0u);
    admin.set(at_switch, "on");
    BOOST_REQUIRE(started(1));
    admin.set(at_switch, "still on");
    admin.set(at_switch, "0");
    BOOST_TEST(queue_has(0));
    BOOST_TEST(wait_until([&] { return has(p.err(), "is \\\"0\\\": the command is not started"); },
                          patience),
               p.err());
    admin.set(at_switch, "");
    BOOST_REQUIRE(started(2));
    admin.remove(at_switch);
    BOOST_TEST(queue_has(0));
    admin.create(at_switch);
    BOOST_REQUIRE(started(3));
    enough();
    BOOST_TEST(p.status() == 0);
}

BOOST_AUTO_TEST_CASE(the_switch_ends_a_command_that_does_not_want_to)
{
    admin.create(at_switch);
    colock_process p{servers, elect({"--grace", "100ms", "--enabled-by", at_switch},
                                    counting("trap '' TERM; " + works(files)))};
    BOOST_REQUIRE(started(1));
    admin.set(at_switch, "false");
    // Before that, a signal finds a command that was killed, whose status it does not change.
    BOOST_TEST(wait_until([&] { return has(p.err(), "the command is not started"); }, patience),
               p.err());
    BOOST_TEST(queue_has(0));
    p.process().send_signal(SIGTERM);
    BOOST_TEST(p.status() == 128 + SIGTERM);
}

BOOST_AUTO_TEST_CASE(a_waiter_leaves_the_queue_when_the_work_is_switched_off)
{
    admin.create(at_switch);
    colock_process leader{servers, elect({}, holding())};
    BOOST_REQUIRE(runs());
    colock_process waiter{servers, elect({"--enabled-by", at_switch + '/'}, counting("true"))};
    BOOST_REQUIRE(queue_has(2));
    admin.remove(at_switch);
    BOOST_TEST(queue_has(1));
    enough();
    BOOST_TEST(leader.status() == 0);
    BOOST_TEST(starts() == 0u);
    admin.create(at_switch);
    BOOST_TEST(waiter.status() == 0);
    BOOST_TEST(starts() == 1u);
}

BOOST_AUTO_TEST_CASE(a_limit_holds_for_the_switch_and_a_try_does_not_wait_for_it)
{
    const auto late =
        run_colock(servers, elect({"--timeout", "3s", "--enabled-by", at_switch}, {"true"}));
    BOOST_TEST(late.status == 124);
    BOOST_TEST(has(late.err, at_switch + " does not exist"), late.err);
    const auto busy = run_colock(servers, elect({"--try", "--enabled-by", at_switch}, {"true"}));
    BOOST_TEST(busy.status == 123);
    BOOST_TEST(is_one_line(busy.err), busy.err);
}

// Nobody has the lock, and nobody knows: a script that lets others run the command (-E 0) has to hear of it.
BOOST_AUTO_TEST_CASE(silent_servers_are_no_other_holder)
{
    admin.create(at_switch);
    for (const auto& [silent, words] :
         {std::pair{opcode::get_acl, elect({"--try", "-E", "0", "--acl", "parent"}, {"true"})},
          {opcode::exists, elect({"--try", "-E", "0", "--enabled-by", at_switch}, {"true"})}}) {
        tcp_proxy proxy{servers};
        const auto answer = proxy.on_reply(silent, reaction::hold);
        const auto r = run_colock(proxy.connect_string(), words);
        BOOST_TEST(r.status == 121);
        BOOST_TEST(is_one_line(r.err), r.err);
        BOOST_TEST(has(r.err, "no answer had come"), r.err);
    }
}

BOOST_AUTO_TEST_CASE(a_limit_holds_however_often_the_switch_is_turned)
{
    admin.create(at_switch);
    colock_process leader{servers, elect({}, holding())};
    BOOST_REQUIRE(runs());
    colock_process waiter{servers, elect({"--timeout", "2s", "--enabled-by", at_switch}, {"true"})};
    const auto turned = [&](const std::string& to, std::size_t length) {
        admin.set(at_switch, to);
        return wait_until([&] { return queue() == length || !waiter.process().running(); },
                          patience);
    };
    int turns = 0;
    while (waiter.process().running() && turns != 1000) {
        BOOST_REQUIRE(turned("off", 1));
        BOOST_REQUIRE(turned("on", 2));
        ++turns;
    }
    BOOST_TEST(turns < 1000);
    BOOST_TEST(waiter.status() == 124);
    enough();
    BOOST_TEST(leader.status() == 0);
}

BOOST_AUTO_TEST_CASE(a_switch_that_is_turned_during_an_outage_is_seen_after_it)
{
    admin.create(at_switch);
    tcp_proxy proxy{servers};
    colock_process p{proxy.connect_string(),
                     elect({"--enabled-by", at_switch}, counting(works(files)))};
    BOOST_REQUIRE(started(1));
    proxy.refuse(true);
    proxy.cut();
    admin.set(at_switch, "off");
    proxy.refuse(false);
    BOOST_TEST(queue_has(0));
    admin.set(at_switch, "on");
    BOOST_TEST(started(2));
    enough();
    BOOST_TEST(p.status() == 0);
}

BOOST_AUTO_TEST_CASE(a_switch_that_may_not_be_read_is_refused)
{
    admin.create(at_switch, "", admin_session::mode::persistent, {{31 & ~1, "world", "anyone"}});
    const auto r = run_colock(servers, elect({"--enabled-by", at_switch}, {"true"}));
    BOOST_TEST(r.status == 122);
    BOOST_TEST(is_one_line(r.err), r.err);
    BOOST_TEST(run_colock(servers, elect({"--enabled-by", "x"}, {"true"})).status == 125);
    BOOST_TEST(run_colock(servers, elect({"--restart", "often"}, {"true"})).status == 125);
}

BOOST_AUTO_TEST_CASE(texts_of_a_switch)
{
    for (const auto* text : {"off", "OFF", " false\n", "no", "0", "\t0 "}) {
        BOOST_TEST(!colock::cli::says_on(text), text);
    }
    for (const auto* text : {"", " ", "on", "1", "true", "offline", "00", "no longer off"}) {
        BOOST_TEST(colock::cli::says_on(text), text);
    }
}

BOOST_AUTO_TEST_CASE(pauses_grow_and_begin_anew)
{
    colock::cli::restart_pauses pauses;
    BOOST_TEST((pauses.next(1s) == 1s));
    BOOST_TEST((pauses.next(1s) == 2s));
    for (int i = 0; i != 10; ++i) {
        (void)pauses.next(1min);
    }
    BOOST_TEST((pauses.next(1s) == 1min));
    BOOST_TEST((pauses.next(61s) == 1s));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::cli_elect_test
