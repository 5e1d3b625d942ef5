// `colock run` that is killed: the next one's command starts as soon as nothing is left of the first one's.
#include <support/figures.hpp>
#include <support/run.hpp>

#include "journal.hpp"
#include "run_scene.hpp"

#include <boost/test/unit_test.hpp>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::test::cli_guard_test {

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

// The session guard among the children of a process; 0: none.
pid_t guard_below(pid_t parent)
{
    for (const auto& thread :
         std::filesystem::directory_iterator{"/proc/" + std::to_string(parent) + "/task"}) {
        std::ifstream children{thread.path() / "children"};
        for (pid_t child = 0; children >> child;) {
            if (file_text("/proc/" + std::to_string(child) + "/cmdline")
                    .starts_with("session-guard")) {
                return child;
            }
        }
    }
    return 0;
}

// What loses its parent becomes a child of this process: the first session guard of a `colock run` does.
struct adopts_orphans {
    adopts_orphans() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }
    ~adopts_orphans() { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }
};

// A command with all that it starts, of which each process notes in a journal that it is alive.
struct tree {
    std::string_view name;
    std::vector<std::string> habits; // of journal_writer
    bool obeys;                      // SIGTERM
};

const tree trees[] = {{"obeys SIGTERM", {"family"}, true},
                      {"ignores SIGTERM, has left its group", {"family", "stubborn"}, false},
                      {"ignores SIGTERM, has left its group, and forks as fast as it can",
                       {"family", "stubborn", "forking"},
                       false}};

std::vector<std::string> writer(const std::string& journal, const std::string& run,
                                const std::string& milliseconds,
                                const std::vector<std::string>& habits = {})
{
    std::vector<std::string> words{COLOCK_JOURNAL_WRITER, journal, run, milliseconds};
    words.insert(words.end(), habits.begin(), habits.end());
    return words;
}

constexpr std::chrono::milliseconds grace = 500ms;

// Kills the supervisor of such a tree, and returns after how long the next command has begun.
std::chrono::nanoseconds time_to_next_command(const tree& t)
{
    scene s;
    const auto journal = s.files.path() + "/journal";
    colock_process first{s.servers, s.with(with_long_session({"--grace", "500ms"}),
                                           writer(journal, "first", "60000", t.habits))};
    BOOST_REQUIRE(wait_until([&] { return !read_journal(journal).empty(); }, patience));
    colock_process second{s.servers, s.with(long_session, writer(journal, "second", "50"))};
    BOOST_REQUIRE(s.queue_has(2));
    const auto killed = clock_type::now(); // the clock of the journal
    first.process().kill();
    BOOST_TEST(second.status() == 0, second.err());
    const auto runs = read_journal(journal);
    BOOST_REQUIRE(runs.size() == 2U);
    BOOST_TEST(overlaps(runs) == 0, t.name << ": " << runs.front().processes
                                           << " processes, of which the last one lived for "
                                           << runs.front().last - runs.back().first
                                           << " ns beside the next command");
    return std::chrono::nanoseconds{runs.back().first} - killed.time_since_epoch();
}

// Whether a program elsewhere starts what is at that place as seen from its directory. Others may put files beside it, or not.
bool starts_guard(const std::string& place, bool is_shared)
{
    namespace fs = std::filesystem;
    scene s;
    const fs::path program = s.files.path() + "/prefix/bin/colock",
                   guard = (program.parent_path() / place).lexically_normal(),
                   trace = s.files.path() + "/started";
    fs::create_directories(program.parent_path());
    fs::copy_file(COLOCK_PROGRAM, program);
    fs::create_directories(guard.parent_path());
    std::ofstream{guard} << "#!/bin/sh\n: >" << trace.string() << '\n';
    fs::permissions(guard, fs::perms::owner_all);
    if (is_shared) {
        fs::permissions(guard.parent_path(), fs::perms::all | fs::perms::sticky_bit);
    }
    colock_process run{s.servers, s.with({}, {"true"}), {}, program};
    BOOST_TEST(run.status() == 0, run.err());
    return is_shared ? fs::exists(trace) : wait_until([&] { return fs::exists(trace); }, patience);
}

} // namespace

BOOST_AUTO_TEST_SUITE(cli_guard, *boost::unit_test::fixture<one_server>())

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

BOOST_AUTO_TEST_CASE(G5_the_next_command_starts_when_nothing_is_alive)
{
    for (const auto& t : trees) {
        BOOST_TEST((time_to_next_command(t) < soon), t.name);
    }
}

// One that takes the place of another one is a child of the supervisor: not of the command, and nobody waits for its end.
BOOST_FIXTURE_TEST_CASE(a_guard_that_is_killed_is_replaced, adopts_orphans)
{
    scene s;
    colock_process first{s.servers, s.with(long_session, s.holding())};
    BOOST_REQUIRE(s.runs());
    const auto original = guard_below(::getpid());
    BOOST_REQUIRE(original != 0);
    ::kill(original, SIGKILL);
    BOOST_TEST(::waitpid(original, nullptr, 0) == original);
    BOOST_REQUIRE(wait_until([&] { return guard_below(first.pid()) != 0; }, patience));
    const auto second = guard_below(first.pid());
    ::kill(second, SIGKILL);
    BOOST_TEST(wait_until([&] { return ::kill(second, 0) != 0; }, patience)); // nothing is left
    BOOST_REQUIRE(wait_until([&] { return guard_below(first.pid()) != 0; }, patience));
    const auto third = guard_below(first.pid());
    s.enough();
    BOOST_TEST(first.status() == 0, first.err());
    BOOST_TEST(wait_until(
        [&] { return ::kill(third, 0) != 0 || ::waitpid(third, nullptr, WNOHANG) == third; },
        patience));
}

// Beside the program or in its prefix, which may have been moved.
BOOST_AUTO_TEST_CASE(the_program_finds_its_guard_where_strangers_put_nothing)
{
    for (const auto* const place : {"colock-session-guard", COLOCK_PLACE_OF_GUARD}) {
        BOOST_TEST(starts_guard(place, false), place);
        BOOST_TEST(!starts_guard(place, true), place);
    }
}

// Nobody else would notice, until a crash costs the time-out of a session.
BOOST_AUTO_TEST_CASE(a_guard_that_cannot_be_started_is_told)
{
    namespace fs = std::filesystem;
    scene s;
    const fs::path program = s.files.path() + "/bin/colock";
    fs::create_directories(program.parent_path());
    fs::copy_file(COLOCK_PROGRAM, program);
    const auto guard = program.parent_path() / "colock-session-guard";
    std::ofstream{guard} << "#!/bin/sh\nexit 1\n"; // not executable
    const auto said_by = [&](std::vector<std::string> words) {
        colock_process p{s.servers, std::move(words), {}, program};
        BOOST_TEST(p.status() == 0, p.err());
        return p.out() + p.err();
    };
    const auto* const fault = "no session guard: ";
    const std::vector<std::string> verbose_ones[] = {
        s.with({"-v"}, {"true"}),
        {"elect", "-v", s.path + "-election", "--", "true"},
        {"run", "-v", "--shards", "1", s.path + "-shards", "--", "true"}};
    for (const auto& words : verbose_ones) {
        const auto said = said_by(words);
        BOOST_TEST(has(said, fault), said);
    }
    BOOST_TEST(said_by(s.with({}, {"true"})) == "");
    const auto found = said_by({"doctor"});
    BOOST_TEST(has(found, "warning  guard       no session guard: "), found);
    fs::permissions(guard, fs::perms::owner_all);
    const auto ended = said_by({"doctor"});
    BOOST_TEST(has(ended, "warning  guard "), ended);
}

BOOST_FIXTURE_TEST_CASE(nor_is_it_ended_with_the_tree, adopts_orphans)
{
    scene s;
    colock_process first{s.servers, s.with(long_session, s.holding())};
    BOOST_REQUIRE(s.runs());
    const auto original = guard_below(::getpid());
    BOOST_REQUIRE(original != 0);
    ::kill(original, SIGKILL);
    ::waitpid(original, nullptr, 0);
    BOOST_REQUIRE(wait_until([&] { return guard_below(first.pid()) != 0; }, patience));
    ::kill(guardian_of(first.pid()), SIGKILL);
    BOOST_TEST(first.status() == 125);
    BOOST_TEST(s.queue() == 0);
}

// COLOCK_TEST_REPEAT: fewer of each.
BOOST_AUTO_TEST_CASE(G5_two_hundred_of_each_soak, *boost::unit_test::disabled())
{
    for (const auto& t : trees) {
        const double least = t.obeys ? 0 : milliseconds(grace);
        std::vector<double> times(static_cast<std::size_t>(repetitions(200)));
        std::ranges::generate(times, [&] { return milliseconds(time_to_next_command(t)); });
        std::cout << "figure: a tree that " << t.name << ": " << times.size()
                  << " supervisors killed, the next command after " << quantile(times, 0.5)
                  << " ms (median), " << quantile(times, 1) << " ms (most)\n";
        BOOST_TEST(quantile(times, 0) >= least);
        BOOST_TEST(quantile(times, 1) <= least + 500);
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::cli_guard_test
