// The supervisor's end of a real nursery: what many guardians cost, and what becomes of many that are asked for at once.
#include "run/nursery.hpp"

#include <support/wait_until.hpp>

#include "run/boot_time.hpp"
#include "run/inherited_signals.hpp"
#include "run/process_tree.hpp"
#include "run/shared_bound.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <exception>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace colock::cli;
using colock::test::wait_until;
using namespace std::chrono_literals;

namespace {

std::size_t polls = 0;
bool has_no_guardians = false; // the machine has processes for a nursery, and no more
bool has_no_signalfd = false;  // the machine
const pid_t test = ::getpid();

struct nursery_scene {
    explicit nursery_scene(std::vector<std::string> words = {"sh", "-c", "exit"})
        : task{std::move(words), false, {50ms, 550ms}, signals, {}}
    {
        const auto before = children_of(::getpid());
        all.emplace(task);
        const auto now = children_of(::getpid());
        const auto made =
            std::ranges::find_if(now, [&](pid_t each) { return !contains(before, each); });
        BOOST_REQUIRE((made != now.end()));
        process = *made;
    }
    void make(std::size_t number)
    {
        for (std::uint32_t shard = 0; shard != number; ++shard) {
            auto& bound = bounds.emplace_back(shared_bound::make_file());
            bound.renew(boot_time() + std::chrono::hours{1});
            guardians.push_back(all->make(shard, bound));
        }
    }
    static std::optional<message> next(guardian_socket& of)
    {
        boost::asio::io_context io;
        std::optional<message> said;
        boost::asio::co_spawn(io, of.next(), [&](std::exception_ptr e, auto heard) {
            BOOST_TEST(!e);
            said = std::move(heard);
        });
        io.run();
        return said;
    }

    const inherited_signals signals;
    nursery_task task;
    std::optional<nursery> all;
    pid_t process = -1;
    std::list<shared_bound> bounds;
    std::list<std::unique_ptr<guardian_socket>> guardians;
};

} // namespace

// In place of that of the C library.
extern "C" int poll(::pollfd* of, ::nfds_t number, int limit)
{
    ++polls;
    const ::timespec time{limit / 1000, limit % 1000 * 1'000'000L};
    return ::ppoll(of, number, limit < 0 ? nullptr : &time, nullptr);
}

extern "C" pid_t fork() noexcept
{
    if (has_no_guardians && ::getpid() != test) {
        errno = EAGAIN;
        return -1;
    }
    static const auto real = reinterpret_cast<pid_t (*)()>(::dlsym(RTLD_NEXT, "fork"));
    return real();
}

extern "C" int signalfd(int file, const ::sigset_t* mask, int flags) noexcept
{
    if (has_no_signalfd && ::getpid() != test) {
        errno = ENFILE;
        return -1;
    }
    return static_cast<int>(::syscall(SYS_signalfd4, file, mask, _NSIG / 8, flags));
}

BOOST_AUTO_TEST_SUITE(nursery_)

BOOST_AUTO_TEST_CASE(a_round_costs_a_few_calls_for_each_guardian)
{
    constexpr std::size_t number = 50;
    nursery_scene s;
    s.make(number);
    polls = 0;
    for (const auto& each : s.guardians) {
        each->keep_going();
    }
    s.all->keep_going();
    BOOST_TEST(polls > number);
    BOOST_TEST(polls < 5 * number);
}

// More than a socket takes unread: the nursery reads none meanwhile.
BOOST_AUTO_TEST_CASE(a_burst_is_asked_for_again_until_there_is_room)
{
    constexpr std::size_t number = 400;
    nursery_scene s;
    ::kill(s.process, SIGSTOP);
    int status = 0;
    BOOST_REQUIRE(::waitpid(s.process, &status, WUNTRACED) == s.process);
    s.make(number);
    const auto all_are_there = [&] {
        s.all->keep_going();
        return std::ranges::all_of(s.bounds, [](auto& each) { return each.guardian() != 0; });
    };
    BOOST_TEST(wait_until(all_are_there, 60s));
}

// Not that somebody has killed it.
BOOST_AUTO_TEST_CASE(a_guardian_that_cannot_be_forked_says_why)
{
    has_no_guardians = true;
    nursery_scene s;
    has_no_guardians = false;
    s.make(1);
    const auto said = s.next(*s.guardians.front());
    BOOST_REQUIRE(said.has_value());
    BOOST_TEST((said->kind == message_kind::cannot_start));
    BOOST_TEST(said->value == EAGAIN);
    BOOST_TEST(s.guardians.front()->tell({message_kind::start})); // as if it came before
}

// It would sleep while its guardians end, and leave them for good.
BOOST_AUTO_TEST_CASE(a_nursery_that_could_not_wake_ends)
{
    has_no_signalfd = true;
    nursery_scene s;
    has_no_signalfd = false;
    boost::asio::io_context io;
    boost::asio::co_spawn(io, s.all->wait_gone(), boost::asio::detached);
    io.run_for(60s);
    BOOST_TEST(io.stopped());
}

// A socket that is closed with a start in it that nobody has read is reset, and what it has said comes behind that.
BOOST_AUTO_TEST_CASE(a_command_that_has_gone_is_heard_of_however_late)
{
    nursery_scene s{{"no-such-command"}};
    s.make(20);
    for (const auto& each : s.guardians) {
        BOOST_TEST(each->tell({message_kind::start}));
    }
    for (auto each = s.guardians.rbegin(); each != s.guardians.rend(); ++each) {
        const auto said = s.next(**each);
        BOOST_REQUIRE(said.has_value());
        BOOST_TEST((said->kind == message_kind::cannot_start));
        BOOST_TEST(said->value == ENOENT);
    }
}

BOOST_AUTO_TEST_SUITE_END()
