// Sessions that end with their processes, by a guard; and those that must not.
#include <colock/colock.hpp>
#include <support/link.hpp>
#include <support/outcome.hpp>
#include <support/print.hpp>
#include <support/run.hpp>
#include <support/subprocess.hpp>
#include <support/wait_until.hpp>
#include <support/zookeeper_server.hpp>

#include "own_helper.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace colock::test::session_guard_test {

using namespace std::chrono_literals;

namespace {

using clock_type = std::chrono::steady_clock;

struct scene {
    explicit scene(client_options options = {}) : options_{std::move(options)}
    {
        options_.hosts = link_hosts(server);
        zk.emplace(io, link_client(options_));
        const outcome<> connected;
        zk->async_connect(connected.handler());
        run_until(io, [&] { return connected.done(); });
        BOOST_REQUIRE(!connected.error());
        lock.emplace(*zk, "/lock");
    }

    // Starts a holder; it has the lock.
    subprocess& start(const std::string& what, bool open_input = false,
                      std::vector<std::string> words = {})
    {
        words.insert(words.end(),
                     {COLOCK_GUARDED_HOLDER, link_hosts(server), "/lock", helper.path, what});
        holder.emplace(std::move(words), subprocess_options{.environment = link_environment(),
                                                            .capture_output = true,
                                                            .open_input = open_input});
        BOOST_REQUIRE(holder->read_line(60s) == "alone");
        BOOST_REQUIRE(holder->read_line(60s) == "held");
        return *holder;
    }

    void create(const std::string& path)
    {
        const outcome<create_result> created;
        zk->async_create(path, "", create_mode::persistent, created.handler());
        run_until(io, [&] { return created.done(); });
    }
    // A waiter for the lock.
    void wait()
    {
        lock->async_lock(next.handler());
        io.restart();
        io.run_for(100ms);
        BOOST_REQUIRE(!next.done());
    }
    // Until it has the lock.
    clock_type::duration until_granted()
    {
        const auto begin = clock_type::now();
        run_until(io, [&] { return next.done(); });
        BOOST_TEST(!next.error());
        return clock_type::now() - begin;
    }
    client& connect_guarded(int consent, const error_code& expected = {})
    {
        options_.session_guard = {helper.path, consent};
        auto& made = guarded.emplace_back(io, link_client(options_));
        const outcome<> connected;
        made.async_connect(connected.handler());
        run_until(io, [&] { return connected.done(); });
        BOOST_TEST(connected.error() == expected);
        return made;
    }
    bool is_granted_within(std::chrono::milliseconds time)
    {
        io.restart();
        const auto end = clock_type::now() + time;
        while (!next.done() && io.run_one_until(end) != 0) {
        }
        return next.done();
    }

    own_helper helper;
    zookeeper_server server{link_servers()};
    client_options options_;
    asio::io_context io;
    std::optional<client> zk;
    std::optional<mutex> lock;
    outcome<unique_lock> next;
    std::optional<subprocess> holder;
    std::list<client> guarded;
};

// Only the superuser may, and in some containers nobody.
bool may_escape_the_oom_killer()
{
    std::ofstream file{"/proc/self/oom_score_adj"};
    const auto before = content(::getpid(), "oom_score_adj");
    const auto write = [&](const std::string& text) { return bool(file << text << std::flush); };
    return write("-1000") && write(before);
}

bool maps(pid_t pid, const std::string& file)
{
    return content(pid, "maps").find(file) != std::string::npos;
}

bool opens(pid_t pid, const std::string& file)
{
    std::error_code gone;
    for (const auto& each :
         std::filesystem::directory_iterator{"/proc/" + std::to_string(pid) + "/fd", gone}) {
        if (std::filesystem::read_symlink(each.path(), gone) == file) {
            return true;
        }
    }
    return false;
}

// Sessions last twenty seconds, where a test does not wait for their end. What a guard does is there in a tenth of one.
constexpr auto soon = 10s;

} // namespace

BOOST_AUTO_TEST_SUITE(session_guard)

BOOST_AUTO_TEST_CASE(a_killed_holder_has_lost_its_lock_at_once)
{
    scene s;
    s.start("hold");
    s.wait();
    s.holder->kill();
    const auto took = s.until_granted();
    BOOST_TEST_MESSAGE("granted after " << took / 1us << " us");
    BOOST_TEST((took < soon));
    BOOST_TEST(s.helper.is_gone());
}

BOOST_AUTO_TEST_CASE(a_guard_follows_its_client_to_other_servers)
{
    scene s;
    const tcp_proxy other = link_proxy(s.server);
    auto& holder = s.start("move", true);
    BOOST_REQUIRE(holder.write_input(other.connect_string() + "\n"));
    BOOST_REQUIRE(holder.read_line(60s) == "moved");
    const auto reached = other.accepted();
    s.wait();
    s.holder->kill();
    BOOST_TEST((s.until_granted() < soon));
    BOOST_TEST(other.accepted() == reached + 1);
}

BOOST_AUTO_TEST_CASE(so_has_one_that_ends_in_another_way)
{
    for (const auto* const what : {"leave", "throw"}) {
        scene s;
        s.start(what);
        s.lock->async_lock(s.next.handler());
        BOOST_TEST((s.until_granted() < soon), what);
        BOOST_TEST(s.helper.is_gone());
    }
}

BOOST_AUTO_TEST_CASE(an_owner_without_privileges_has_a_guard_like_it)
{
    const std::vector<std::string> as_nobody{"setpriv", "--reuid=65534", "--regid=65534",
                                             "--clear-groups"};
    const own_helper helper;
    std::filesystem::permissions(helper.directory.path(), std::filesystem::perms{0755});
    auto words = as_nobody;
    words.insert(words.end(), {"test", "-x", COLOCK_GUARDED_HOLDER, "-a", "-x", helper.path});
    if (::geteuid() != 0 || find_program("setpriv").empty() ||
        !subprocess{words}.wait().success()) {
        std::cout << "skipped: it needs root, setpriv, and a build that everybody can see\n";
        return;
    }
    scene s;
    std::filesystem::permissions(s.helper.directory.path(), std::filesystem::perms{0755});
    s.start("hold", false, as_nobody);
    const auto guards = s.helper.processes(1);
    BOOST_TEST(content(guards.front(), "status").find("\nUid:\t65534\t65534") != std::string::npos);
    s.wait();
    s.holder->kill();
    BOOST_TEST((s.until_granted() < soon));
    BOOST_TEST(s.helper.is_gone());
}

BOOST_AUTO_TEST_CASE(the_guard_has_what_the_servers_want_to_know)
{
    scene s;
    s.create("/service");
    s.lock.emplace(*s.zk, "/service/lock");
    s.start("below");
    s.wait();
    s.holder->kill();
    BOOST_TEST((s.until_granted() < soon));
}

BOOST_AUTO_TEST_CASE(all_clients_of_a_process_share_one)
{
    scene s;
    auto& first = s.connect_guarded(-1);
    BOOST_TEST(first.stats().session_guarded);
    BOOST_TEST(s.connect_guarded(-1).stats().session_guarded);
    s.helper.processes(1);
    const outcome<> closed;
    first.async_close(closed.handler());
    run_until(s.io, [&] { return closed.done(); });
    BOOST_TEST(!first.stats().session_guarded);
    s.helper.processes(1);
    s.guarded.clear();
    BOOST_TEST(wait_until( // the second one ends its session
        [&] {
            s.io.restart();
            s.io.poll();
            return s.helper.processes().empty();
        },
        60s));
}

BOOST_AUTO_TEST_CASE(run_returns_when_the_client_is_closed)
{
    own_helper helper;
    zookeeper_server server{link_servers()};
    asio::io_context io;
    client_options options;
    options.hosts = link_hosts(server);
    options.session_guard = {helper.path};
    for (int i = 0; i != 2; ++i) {
        client zk{io, link_client(options)};
        const outcome<> connected, closed;
        zk.async_connect(connected.handler());
        run_until(io, [&] { return connected.done(); });
        BOOST_REQUIRE(!connected.error());
        BOOST_TEST(zk.stats().session_guarded);
        zk.async_close(closed.handler());
        io.restart();
        const auto end = clock_type::now() + 30s;
        while (clock_type::now() < end && io.run_one_until(end) != 0) {
        }
        BOOST_TEST(closed.done());
        BOOST_TEST(io.stopped());
    }
}

BOOST_AUTO_TEST_CASE(no_pause_before_another_guard_outlives_the_client)
{
    int warnings = 0;
    scene s{{.session_guard = {"/nowhere/colock-session-guard"},
             .log = [&](log_level, std::string_view) { ++warnings; },
             .log_threshold = log_level::warning}};
    run_until(s.io, [&] { return warnings == 3; }); // the next one follows after four seconds
    const outcome<> closed;
    s.zk->async_close(closed.handler());
    run_until(s.io, [&] { return closed.done(); });
    const auto end = clock_type::now() + 3s;
    s.io.restart();
    while (clock_type::now() < end && s.io.run_one_until(end) != 0) {
    }
    BOOST_TEST(s.io.stopped());
}

BOOST_AUTO_TEST_CASE(a_holder_that_is_stopped_keeps_its_lock_for_its_session)
{
    scene s;
    s.start("hold");
    s.wait();
    BOOST_TEST(s.holder->stop());
    BOOST_TEST(!s.is_granted_within(2s));
    s.holder->resume();
    BOOST_TEST(!s.is_granted_within(2s));
    s.holder->kill();
    BOOST_TEST((s.until_granted() < soon));
}

BOOST_AUTO_TEST_CASE(a_holder_that_has_become_another_program_is_not_dead)
{
    scene s;
    s.start("exec");
    s.wait();
    BOOST_TEST(!s.is_granted_within(2s));
    BOOST_TEST(s.holder->running());
    BOOST_TEST(s.helper.is_gone()); // after one time-out
    s.until_granted();
    BOOST_TEST(s.holder->running());
}

BOOST_AUTO_TEST_CASE(a_forked_child_keeps_the_session_for_its_time_out)
{
    scene s;
    s.start("child");
    s.wait();
    const auto killed = clock_type::now();
    s.holder->kill();
    BOOST_TEST(!s.is_granted_within(2s));
    s.until_granted();
    BOOST_TEST((clock_type::now() - killed > 2s));
    BOOST_TEST(s.helper.is_gone());
}

BOOST_AUTO_TEST_CASE(a_client_that_is_closed_needs_no_guard)
{
    scene s;
    s.start("close");
    BOOST_TEST((s.holder->read_line(60s) == "closed"));
    s.lock->async_lock(s.next.handler());
    s.until_granted();
    BOOST_TEST(s.holder->running());
    s.holder->kill();
    BOOST_TEST(s.helper.is_gone());
}

BOOST_AUTO_TEST_CASE(a_guard_that_dies_is_replaced)
{
    scene s;
    s.start("hold");
    s.wait();
    const auto first = s.helper.processes(1);
    ::kill(first.front(), SIGKILL);
    BOOST_TEST(wait_until(
        [&] {
            const auto now = s.helper.processes();
            return now.size() == 1 && now != first;
        },
        60s));
    BOOST_TEST(!s.is_granted_within(1s)); // until it has been told
    s.holder->kill();
    BOOST_TEST((s.until_granted() < soon));
}

BOOST_AUTO_TEST_CASE(somebody_else_may_have_to_consent)
{
    scene s;
    s.start("consent", true);
    s.wait();
    s.holder->kill();
    BOOST_TEST(!s.is_granted_within(1s));
    BOOST_TEST(s.holder->write_input("y"));
    BOOST_TEST((s.until_granted() < soon));
}

BOOST_AUTO_TEST_CASE(who_leaves_without_consent_has_not_consented)
{
    scene s;
    s.start("consent", true);
    s.wait();
    s.holder->kill();
    s.holder->close_input();
    BOOST_TEST(s.helper.is_gone(soon));
    BOOST_TEST(!s.is_granted_within(1s));
}

BOOST_AUTO_TEST_CASE(the_next_guard_waits_for_the_same_consent)
{
    scene s;
    int ends[2];
    BOOST_REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    s.connect_guarded(-1);
    const auto without = s.helper.processes(1);
    const int one = ::fcntl(ends[0], F_DUPFD_CLOEXEC, 500); // nobody takes the number again
    const int again = ::fcntl(ends[0], F_DUPFD_CLOEXEC, 600);
    auto& first = s.connect_guarded(one);
    auto& second = s.connect_guarded(again);
    ::close(one);
    ::close(again);
    for (const auto each : s.helper.processes(2)) { // both clients have the same
        if (each != without.front()) {
            ::kill(each, SIGKILL);
        }
    }
    for (const bool expected : {false, true}) {
        for (const auto* const each : {&first, &second}) {
            run_until(s.io, [&] { return each->stats().session_guarded == expected; });
        }
    }
    s.helper.processes(2);
    ::close(ends[0]);
    ::close(ends[1]);
}

BOOST_AUTO_TEST_CASE(without_a_descriptor_for_it_nobody_consents)
{
    scene s;
    s.connect_guarded(-1);
    BOOST_TEST(!s.connect_guarded(1000).stats().session_guarded);
}

BOOST_AUTO_TEST_CASE(a_session_that_the_client_has_left_is_not_guarded)
{
    scene s;
    s.options_.chroot = "/nowhere";
    BOOST_TEST(!s.connect_guarded(-1, errc::no_chroot).stats().session_guarded);
    s.helper.processes(1);
}

BOOST_AUTO_TEST_CASE(a_guard_is_a_good_neighbour)
{
    scene s;
    s.start("hold");
    const auto all = s.helper.processes();
    BOOST_REQUIRE(all.size() == 1U);
    const auto guard = all.front();
    BOOST_TEST(::getsid(guard) == guard);
    BOOST_TEST(content(guard, "environ").empty());
    if (may_escape_the_oom_killer()) {
        BOOST_TEST(content(guard, "oom_score_adj") == "-1000\n");
    }
    std::error_code hidden; // a process that cannot be traced shows them to root only
    for (const auto& each :
         std::filesystem::directory_iterator{"/proc/" + std::to_string(guard) + "/fd", hidden}) {
        const auto number = std::stoi(each.path().filename());
        const auto target = std::filesystem::read_symlink(each.path()).string();
        const bool is_own = target.starts_with("anon_inode:") || target.starts_with("pipe:") ||
                            target == s.helper.module_path;
        BOOST_TEST((number <= 2 || number == 5 ? target == "/dev/null" : number <= 4 || is_own),
                   number << " is " << target);
    }
    for (const int each : {SIGTERM, SIGHUP, SIGINT}) {
        ::kill(guard, each);
    }
    s.wait();
    BOOST_TEST(s.helper.processes() == all);
    s.holder->kill();
    BOOST_TEST((s.until_granted() < soon));
    BOOST_TEST(s.helper.is_gone());
}

BOOST_AUTO_TEST_CASE(without_a_helper_the_client_works)
{
    std::vector<std::string> warnings;
    scene s{{.session_guard = {"/nowhere/colock-session-guard"},
             .log = [&](log_level, std::string_view line) { warnings.emplace_back(line); },
             .log_threshold = log_level::warning}};
    BOOST_TEST(!s.zk->stats().session_guarded);
    BOOST_REQUIRE(warnings.size() == 1U);
    BOOST_TEST(warnings.front().find("no session guard: /nowhere/colock-session-guard: No such "
                                     "file") == 0U,
               warnings.front());
}

// Or the process that exits as soon as it has started a guard would be the first one of the new namespace, and its last.
BOOST_AUTO_TEST_CASE(a_program_that_has_left_its_pid_namespace_can_still_fork)
{
    zookeeper_server server{link_servers()};
    const own_helper helper;
    const auto program = ::fork();
    if (program == 0) {
        if (::unshare(CLONE_NEWPID) != 0) {
            ::_exit(2);
        }
        bool is_told = false;
        asio::io_context io;
        client zk{io, link_client({.hosts = link_hosts(server),
                                   .session_guard = {helper.path},
                                   .log =
                                       [&](log_level, std::string_view line) {
                                           is_told = is_told ||
                                                     line.find("has left its PID") != line.npos;
                                       },
                                   .log_threshold = log_level::warning})};
        const outcome<> connected;
        zk.async_connect(connected.handler());
        try {
            run_until(io, [&] { return connected.done(); });
        } catch (...) {
            ::_exit(1); // the rest of the suite is not for this process
        }
        const auto child = ::fork();
        if (child == 0) {
            ::_exit(0);
        }
        ::_exit(child > 0 && is_told ? 0 : 1);
    }
    int status = 0;
    BOOST_REQUIRE(::waitpid(program, &status, 0) == program);
    BOOST_REQUIRE(WIFEXITED(status));
    if (WEXITSTATUS(status) == 2) {
        std::cout << "skipped: it needs root\n";
        return;
    }
    BOOST_TEST(WEXITSTATUS(status) == 0);
}

BOOST_AUTO_TEST_CASE(its_module_may_be_replaced_while_it_runs)
{
    for (const bool loaded : {false, true}) {
        scene s;
        s.start("hold");
        const auto all = s.helper.processes();
        BOOST_REQUIRE(all.size() == 1U);
        if (content(all.front(), "maps").empty()) {
            std::cout << "skipped: it shows what it has open to root only\n";
            return;
        }
        BOOST_REQUIRE(wait_until(
            [&] {
                return maps(all.front(), s.helper.module_path) ||
                       (!loaded && opens(all.front(), s.helper.module_path));
            },
            60s));
        std::filesystem::remove(s.helper.module_path);
        s.wait();
        s.holder->kill();
        BOOST_TEST((s.until_granted() < soon));
    }
}

BOOST_AUTO_TEST_CASE(without_its_module_it_dies_and_the_client_warns)
{
    for (const bool spoilt : {false, true}) {
        const own_helper helper;
        std::filesystem::remove(helper.module_path);
        if (spoilt) {
            std::ofstream{helper.module_path} << "no module";
        }
        std::vector<std::string> warnings;
        scene s{{.session_guard = {helper.path},
                 .log = [&](log_level, std::string_view line) { warnings.emplace_back(line); },
                 .log_threshold = log_level::warning}};
        run_until(s.io, [&] { return !warnings.empty(); });
        BOOST_TEST(warnings.front().starts_with("no session guard: it cannot "), warnings.front());
        BOOST_TEST(warnings.front().find(helper.module_path) != std::string::npos,
                   warnings.front());
        BOOST_TEST(!s.zk->stats().session_guarded);
    }
}

BOOST_AUTO_TEST_CASE(its_module_may_have_libraries_beside_it)
{
    const own_helper helper;
    const std::filesystem::path library{COLOCK_GUARD_LIBRARY};
    std::filesystem::remove(helper.module_path);
    std::filesystem::copy_file(COLOCK_GUARD_WITH_LIBRARY, helper.module_path);
    std::filesystem::copy_file(library,
                               helper.directory.path() + '/' + library.filename().string());
    std::vector<std::string> warnings;
    scene s{{.session_guard = {helper.path},
             .log = [&](log_level, std::string_view line) { warnings.emplace_back(line); },
             .log_threshold = log_level::warning}};
    const auto all = helper.processes();
    BOOST_REQUIRE(all.size() == 1U);
    if (content(all.front(), "maps").empty()) {
        std::cout << "skipped: it shows what it has open to root only\n";
        return;
    }
    run_until(s.io, [&] { return !warnings.empty() || maps(all.front(), library.filename()); });
    BOOST_TEST(warnings == std::vector<std::string>{}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_chroot_may_be_without_proc)
{
    const auto without_proc = [](const std::string& then) {
        return std::vector<std::string>{"unshare", "--mount", "sh", "-c",
                                        "mount -t tmpfs none /proc && " + then};
    };
    scene s;
    auto alone = without_proc(R"("$0" 2>&1 | grep -q "of no use alone")");
    alone.push_back(s.helper.path);
    if (!subprocess{alone}.wait().success()) {
        std::cout << "skipped: it needs root, unshare, and no sanitizer that needs /proc\n";
        return;
    }
    s.start("hold", false, without_proc(R"(exec "$0" "$@")"));
    s.wait();
    s.holder->kill();
    BOOST_TEST((s.until_granted() < soon));
    BOOST_TEST(s.helper.is_gone());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::session_guard_test
