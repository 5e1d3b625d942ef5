// `colock run` and processes that it cannot end: those of another user.
#include <support/admin_session.hpp>
#include <support/wait_until.hpp>

#include "run_scene.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace colock::test::cli_run_forced_test {

using namespace std::chrono_literals;

namespace {

// A `colock` of this user that may signal nobody else's processes, with a command that has one, as `sudo` would make it.
struct forced_scene : scene {
    forced_scene() { make_program("exec setpriv --bounding-set -kill " COLOCK_PROGRAM " \"$@\""); }
    ~forced_scene()
    {
        if (foreign > 0) {
            ::kill(foreign, SIGKILL);
        }
    }
    std::string program() const { return files.path() + "/colock"; }
    void make_program(const std::string& line) const
    {
        std::ofstream{program()} << "#!/bin/sh\n" << line << '\n';
        ::chmod(program().c_str(), 0755);
    }
    std::string file(const std::string& name) const { return files.path() + '/' + name; }

    // The first run has the foreign process; the next one ends at once.
    std::vector<std::string> command() const
    {
        return {"sh", "-c",
                "[ ! -e " + file("pid") +
                    " ] || exit 0; setpriv --reuid 65534 --clear-groups sleep 1000 & echo $! >" +
                    file("pid") + "; echo $PPID >" + file("guardian") + "; wait"};
    }
    pid_t number_in(const std::string& name) const
    {
        const auto text = file_text(file(name));
        return text.ends_with('\n') ? static_cast<pid_t>(std::stol(text)) : 0;
    }
    bool foreign_runs()
    {
        return wait_until(
            [&] {
                foreign = number_in("pid");
                return number_in("guardian") != 0 &&
                       has(file_text("/proc/" + std::to_string(foreign) + "/status"),
                           "Uid:\t65534");
            },
            patience);
    }
    void end_foreign() { ::kill(std::exchange(foreign, 0), SIGKILL); }

    std::string node()
    {
        admin_session admin{servers};
        return path + '/' + admin.children(path).front();
    }

    pid_t foreign = 0;
};

boost::test_tools::assertion_result users_can_be_changed(boost::unit_test::test_unit_id)
{
    if (::geteuid() == 0 && !find_program("setpriv").empty()) {
        return true;
    }
    std::cout << "skipped: to have a process of another user needs root, and setpriv" << std::endl;
    return false;
}

// A line for a shell: runs `program` where /proc hides the processes of others, as with systemd's `ProtectProc=invisible`.
std::string where_hidden(const std::string& program)
{
    return "unshare --mount sh -c 'mount -t proc -o hidepid=2,gid=65534 proc /proc && "
           "exec setpriv --bounding-set -kill,-sys_ptrace " +
           program + "'";
}

boost::test_tools::assertion_result processes_can_be_hidden(boost::unit_test::test_unit_id)
{
    subprocess p{{"sh", "-c", where_hidden("test ! -e /proc/1")}};
    if (p.wait().success()) {
        return true;
    }
    std::cout << "skipped: there can be no /proc here that hides processes" << std::endl;
    return false;
}

std::size_t count(const std::string& text, const std::string& part)
{
    std::size_t number = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) {
        ++number;
    }
    return number;
}

const std::string cannot = "cannot be ended";

} // namespace

BOOST_FIXTURE_TEST_SUITE(cli_run_forced, forced_scene,
                         *boost::unit_test::fixture<one_server>() *
                             boost::unit_test::precondition(users_can_be_changed))

// The lock is kept, which takes heartbeats, and whoever asks for it is heard.
BOOST_AUTO_TEST_CASE(colock_goes_on_while_a_process_cannot_be_ended)
{
    colock_process p{servers, with({}, command()), {}, program()};
    BOOST_REQUIRE(foreign_runs());
    ::kill(number_in("guardian"), SIGKILL);
    BOOST_TEST(wait_until([&] { return has(p.err(), cannot); }, patience), p.err());
    const auto own = node();
    admin_session{servers}.set(own, "__REVOKE__");
    BOOST_TEST(wait_until([&] { return has(p.err(), "asks for the lock"); }, patience), p.err());
    BOOST_TEST(node() == own);
    end_foreign();
    BOOST_TEST(p.status() == 125);
    BOOST_TEST(count(p.err(), cannot) == 1U, p.err());
    BOOST_TEST(queue() == 0);
}

// What is killed may need a while to end, such as a large process; the guardian looks after it.
BOOST_AUTO_TEST_CASE(a_retry_waits_for_what_takes_long_to_end)
{
    colock_process p{servers, with({"--retry", "1"}, command()), {}, program()};
    BOOST_REQUIRE(foreign_runs());
    const auto guardian = number_in("guardian");
    admin_session{servers}.remove(node());
    BOOST_TEST(wait_until([&] { return has(p.err(), cannot); }, patience), p.err());
    BOOST_TEST(!wait_until([&] { return ::kill(guardian, 0) != 0; }, 1500ms));
    end_foreign();
    BOOST_TEST(p.status() == 0, p.err());
    BOOST_TEST(has(p.err(), "(retry 1 of 1)"), p.err());
    BOOST_TEST(count(p.err(), cannot) == 1U, p.err());
    BOOST_TEST(queue() == 0);
}

BOOST_AUTO_TEST_CASE(a_process_that_is_hidden_cannot_be_ended_either,
                     *boost::unit_test::precondition(processes_can_be_hidden))
{
    make_program("exec " + where_hidden(COLOCK_PROGRAM " \"$@\"") + " sh \"$@\"");
    colock_process p{servers, with({"--grace", "100ms"}, command()), {}, program()};
    BOOST_REQUIRE(foreign_runs());
    p.process().send_signal(SIGTERM);
    BOOST_TEST(wait_until([&] { return has(p.err(), cannot); }, patience), p.err());
    end_foreign();
    BOOST_TEST(p.status() == 128 + SIGTERM);
    BOOST_TEST(count(p.err(), cannot) == 1U, p.err());
    BOOST_TEST(queue() == 0);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::cli_run_forced_test
