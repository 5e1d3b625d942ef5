// `colock run` that is killed: the next one's command starts as soon as nothing is left of the first one's.
#include "run_scene.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

using namespace colock::test;
using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

namespace {

// Sessions of thirty seconds: what is granted within a third of that was granted because of the guard.
const std::vector<std::string> long_session{"--session-timeout", "30s"};
constexpr auto soon = 10s;

std::vector<std::string> with_long_session(std::vector<std::string> more)
{
    more.insert(more.begin(), long_session.begin(), long_session.end());
    return more;
}

pid_t guardian_of(pid_t supervisor)
{
    const auto number = std::to_string(supervisor);
    std::ifstream children{"/proc/" + number + "/task/" + number + "/children"};
    pid_t first = -1;
    children >> first;
    return first;
}

} // namespace

BOOST_TEST_GLOBAL_FIXTURE(one_server);

BOOST_AUTO_TEST_SUITE(cli_guard)

BOOST_AUTO_TEST_CASE(the_next_command_starts_when_the_tree_has_ended)
{
    scene s;
    colock_process first{s.servers, s.with(long_session, s.holding())};
    BOOST_REQUIRE(s.runs());
    const auto begin = clock_type::now();
    first.process().kill();
    BOOST_TEST(s.run(long_session, {"true"}).status == 0);
    const auto took = clock_type::now() - begin;
    BOOST_TEST_MESSAGE("the next command has ended after " << took / 1ms << " ms");
    BOOST_TEST((took < soon));
}

// One that ignores SIGTERM, and has left its group.
BOOST_AUTO_TEST_CASE(G5_never_while_anything_of_the_tree_runs)
{
    scene s;
    const auto file = s.files.path() + "/written";
    const auto script = "trap '' TERM; touch " + s.files.path() +
                        "/runs; setsid sh -c 'while :; do date +%s%N > " + file + "; done' & wait";
    colock_process first{s.servers,
                         s.with(with_long_session({"--grace", "1s"}), {"sh", "-c", script})};
    BOOST_REQUIRE(s.runs());
    const auto begin = clock_type::now();
    first.process().kill();
    const auto result = s.run(
        long_session,
        {"sh", "-c", "cp " + file + ' ' + file + "2; sleep 0.5; cmp " + file + ' ' + file + '2'});
    BOOST_TEST(result.status == 0);
    const auto took = clock_type::now() - begin;
    BOOST_TEST((took > 1s));
    BOOST_TEST((took < soon));
}

BOOST_AUTO_TEST_CASE(when_the_guardian_is_killed_as_well_nobody_knows_that_the_tree_has_ended)
{
    scene s;
    colock_process first{s.servers, s.with(long_session, s.holding())};
    BOOST_REQUIRE(s.runs());
    const auto guardian = guardian_of(first.pid());
    BOOST_REQUIRE(guardian > 0);
    ::kill(guardian, SIGSTOP); // so that it says nothing in between
    first.process().kill();
    ::kill(guardian, SIGKILL);
    BOOST_TEST(s.run(with_long_session({"--timeout", "3s"}), {"true"}).status != 0);
    s.enough();
}

BOOST_AUTO_TEST_CASE(one_that_waits_leaves_no_node)
{
    scene s;
    colock_process first{s.servers, s.with(long_session, s.holding())};
    BOOST_REQUIRE(s.runs());
    colock_process second{s.servers, s.with(long_session, {"true"})};
    BOOST_REQUIRE(s.queue_has(2));
    const auto begin = clock_type::now();
    second.process().kill();
    BOOST_TEST(s.queue_has(1));
    BOOST_TEST((clock_type::now() - begin < soon));
    s.enough();
    BOOST_TEST(first.status() == 0);
}

BOOST_AUTO_TEST_SUITE_END()
