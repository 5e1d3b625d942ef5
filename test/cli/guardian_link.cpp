// The supervisor's end of a real guardian: who is heard, who is ended, and that it blocks nobody.
#include "run/guardian_link.hpp"

#include <support/temporary_directory.hpp>
#include <support/wait_until.hpp>

#include "program/failure.hpp"
#include "run/boot_time.hpp"
#include "run/process_tree.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using namespace colock::cli;
using colock::test::wait_until;
using namespace std::chrono_literals;

namespace {

constexpr auto patience = 60s;
bool has_no_timers = false; // the machine
const pid_t test = ::getpid();

std::vector<pid_t> children()
{
    return children_of(::getpid());
}

bool is_child(pid_t process)
{
    const auto all = children();
    return std::ranges::find(all, process) != all.end();
}

// A guardian with this command for the shell.
struct scene {
    explicit scene(const std::string& line)
        : task{{"/bin/sh", {"sh", "-c", line}}, {50ms, 550ms}, bound, signals, tty, {}}
    {
        const auto before = children();
        link.emplace(task);
        adopt_orphans();
        for (const auto child : children()) {
            if (std::ranges::find(before, child) == before.end()) {
                guardian = child;
            }
        }
        bound.renew(boot_time() + std::chrono::hours{1});
        bound.allow_start();
    }
    template <class T>
    T result(boost::asio::awaitable<T> body)
    {
        boost::asio::io_context io;
        std::optional<T> got;
        boost::asio::co_spawn(io, std::move(body), [&](std::exception_ptr e, T value) {
            BOOST_TEST(!e);
            got = std::move(value);
        });
        io.run();
        return std::move(got.value());
    }
    std::optional<message> next() { return result(link->next()); }
    int end_by_force()
    {
        const auto body = [this]() -> boost::asio::awaitable<int> {
            int most = 0;
            co_await link->end_by_force([&](int number) { most = std::max(most, number); });
            co_return most;
        };
        return result(body());
    }

    const inherited_signals signals;
    const terminal tty;
    shared_bound bound;
    guardian_task task;
    std::optional<guardian_link> link;
    pid_t guardian = -1;
};

} // namespace

// In place of that of the C library.
extern "C" int timerfd_create(::clockid_t clock, int flags) noexcept
{
    if (has_no_timers && ::getpid() != test) {
        errno = ENFILE;
        return -1;
    }
    return static_cast<int>(::syscall(SYS_timerfd_create, clock, flags));
}

BOOST_AUTO_TEST_SUITE(guardian_link_)

BOOST_AUTO_TEST_CASE(a_guardian_that_could_not_wake_starts_nothing)
{
    has_no_timers = true;
    scene s{"exit 3"};
    has_no_timers = false;
    for (int i = 0; i != 2; ++i) { // the lock may have been lost before the first answer was read
        BOOST_TEST(s.link->tell({message_kind::start}));
        const auto said = s.next();
        BOOST_REQUIRE(said.has_value()); // not that somebody has killed it
        BOOST_TEST((said->kind == message_kind::cannot_start));
        BOOST_TEST(said->value == ENFILE);
    }
    BOOST_TEST(s.end_by_force() == 0);
}

// Such as one of root's behind su.
BOOST_AUTO_TEST_CASE(a_closed_directory_of_the_path_says_nothing_of_a_command)
{
    const colock::test::temporary_directory closed;
    ::chmod(closed.path().c_str(), 0);
    const auto user = ::fork();
    if (user == 0) {
        ::setenv("PATH", closed.path().c_str(), 1);
        if (::geteuid() == 0 && ::setuid(65534) != 0) {
            ::_exit(1);
        }
        try {
            static_cast<void>(find_command({"no-such-command"}, false));
        } catch (const failure& f) {
            ::_exit(f.status());
        }
        ::_exit(0);
    }
    int status = 0;
    BOOST_TEST(::waitpid(user, &status, 0) == user);
    ::chmod(closed.path().c_str(), 0700);
    BOOST_TEST(WEXITSTATUS(status) == not_found);
}

// Or the next run would have no guardian, and not know it.
BOOST_AUTO_TEST_CASE(what_it_has_said_before_it_was_killed_is_not_heard)
{
    scene s{"exit 3"};
    BOOST_TEST(s.link->tell({message_kind::start}));
    BOOST_REQUIRE(s.next()->kind == message_kind::started);
    BOOST_REQUIRE(s.next()->kind == message_kind::ended);
    BOOST_REQUIRE(wait_until([&] { return children_of(s.guardian).empty(); }, patience));
    s.link->kill();
    BOOST_TEST(!s.next().has_value());
    BOOST_TEST(!s.link->tell({message_kind::start}));
    BOOST_TEST(s.end_by_force() == 0);
    BOOST_TEST(!is_child(s.guardian));
}

BOOST_AUTO_TEST_CASE(one_that_is_stopped_blocks_nobody)
{
    scene s{"exec sleep 1000"};
    BOOST_TEST(s.link->tell({message_kind::start}));
    BOOST_REQUIRE(s.next()->kind == message_kind::started);
    ::kill(s.guardian, SIGSTOP);
    int status = 0;
    BOOST_REQUIRE(::waitpid(s.guardian, &status, WUNTRACED) == s.guardian);
    bool heard = true;
    for (int i = 0; i != 100'000 && heard; ++i) {
        heard = s.link->tell({message_kind::pass_on, SIGUSR1});
    }
    BOOST_TEST(!heard);
    BOOST_TEST(s.end_by_force() == 0);
    BOOST_TEST(!is_child(s.guardian));
}

BOOST_AUTO_TEST_CASE(the_supervisor_sees_that_it_works)
{
    scene ends{"exit 3"};
    BOOST_TEST(ends.link->tell({message_kind::start}));
    BOOST_TEST(wait_until([&] { return ends.bound.work_done() == 1; }, patience));

    scene s{"exec sleep 1000"};
    BOOST_TEST(s.link->tell({message_kind::start}));
    BOOST_REQUIRE(s.next()->kind == message_kind::started);
    BOOST_TEST(s.bound.work_done() == 0);
    BOOST_TEST(s.link->tell({message_kind::kill}));
    BOOST_REQUIRE(s.next()->kind == message_kind::ended);
    BOOST_TEST(wait_until([&] { return s.bound.work_done() > 0; }, patience));
}

// It cannot read /proc then.
BOOST_AUTO_TEST_CASE(one_that_can_open_no_file_ends_its_command)
{
    scene s{"exec sleep 1000"};
    BOOST_TEST(s.link->tell({message_kind::start}));
    BOOST_REQUIRE(s.next()->kind == message_kind::started);
    constexpr ::rlimit none{3, 3}; // with 0, poll() fails as well
    BOOST_REQUIRE(::prlimit(s.guardian, RLIMIT_NOFILE, &none, nullptr) == 0);
    BOOST_TEST(s.link->tell({message_kind::kill}));
    const auto said = s.next();
    BOOST_REQUIRE(said.has_value());
    BOOST_TEST((said->kind == message_kind::ended));
    BOOST_TEST(s.end_by_force() == 0);
}

// Children of the program that became colock are none of the command, and neither is what they leave behind.
BOOST_AUTO_TEST_CASE(orphans_of_others_are_spared)
{
    int go[2], told[2];
    BOOST_REQUIRE((::pipe(go) == 0 && ::pipe(told) == 0));
    const auto other = ::fork();
    if (other == 0) {
        char byte = 0;
        [[maybe_unused]] const auto size = ::read(go[0], &byte, 1);
        const auto orphan = ::fork();
        if (orphan == 0) {
            ::pause();
        }
        [[maybe_unused]] const auto written = ::write(told[1], &orphan, sizeof orphan);
        ::_exit(0);
    }
    scene s{"exec sleep 1000"};
    BOOST_TEST(s.link->tell({message_kind::start}));
    BOOST_REQUIRE(s.next()->kind == message_kind::started);
    [[maybe_unused]] const auto size = ::write(go[1], "", 1);
    pid_t orphan = 0;
    BOOST_REQUIRE(::read(told[0], &orphan, sizeof orphan) == sizeof orphan);
    BOOST_REQUIRE(wait_until([&] { return is_child(orphan); }, patience));
    s.link->keep_going();
    ::kill(s.guardian, SIGKILL);
    BOOST_TEST(s.end_by_force() == 0);
    BOOST_TEST(children() == std::vector{orphan}, boost::test_tools::per_element());
    ::kill(orphan, SIGKILL);
    ::waitpid(orphan, nullptr, 0);
}

// There is room for the socket alone.
BOOST_AUTO_TEST_CASE(one_that_cannot_be_made_leaves_no_file_open)
{
    const auto next_file = [] {
        const int file = ::dup(STDIN_FILENO);
        ::close(file);
        return file;
    };
    const auto before = next_file();
    ::rlimit limit{};
    BOOST_REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
    auto few = limit;
    few.rlim_cur = static_cast<::rlim_t>(before) + 2;
    BOOST_REQUIRE(::fcntl(before + 1, F_GETFD) == -1); // else the socket itself has no room
    BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    BOOST_CHECK_THROW(static_cast<void>(fork_beside([](int, int) { ::_exit(1); })),
                      std::system_error);
    BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
    BOOST_TEST(next_file() == before);
}

BOOST_AUTO_TEST_SUITE_END()
