// Session guards that are started again and again, and killed, with their owners or without them: nothing stays behind.
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

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace colock::test::guarded_starts_test {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

namespace {

std::size_t own_descriptors()
{
    const std::filesystem::directory_iterator all{"/proc/self/fd"};
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

// Dead ones that nobody has waited for included.
std::size_t own_children()
{
    std::size_t number = 0;
    for (const auto& thread : std::filesystem::directory_iterator{"/proc/self/task"}) {
        std::ifstream in{thread.path() / "children"};
        number += static_cast<std::size_t>(
            std::distance(std::istream_iterator<pid_t>{in}, std::istream_iterator<pid_t>{}));
    }
    return number;
}

// What must be the same at the end.
struct possessions {
    std::size_t descriptors = own_descriptors();
    std::size_t children = own_children();

    friend bool operator==(const possessions&, const possessions&) = default;
};

zookeeper_options short_ticks()
{
    zookeeper_options options;
    options.tick_time = 500ms; // sessions of up to 10 s
    options.container_check_interval = 1s;
    return link_servers(options);
}

bool without_sessions(const zookeeper_server& server)
{
    return wait_until([&] { return server.sessions().empty(); }, long_enough, 100ms);
}

// Every second one at any moment of its start; the session of one whose guard had not heard of it yet ends by its time-out.
void kill_owners(int number)
{
    zookeeper_options options = short_ticks();
    options.max_session_timeout = 1h;
    zookeeper_server server{options};
    const own_helper helper;
    std::optional<possessions> before;
    const auto seed = std::random_device{}();
    BOOST_TEST_MESSAGE("seed " << seed);
    std::mt19937 random{seed};
    clock_type::duration start{0}; // how long the last one took
    for (int i = 0; i != number; ++i) {
        const auto begin = clock_type::now();
        const bool at_any_moment = before && i % 2 == 1;
        subprocess owner{{COLOCK_GUARDED_HOLDER, link_hosts(server), "/lock-" + std::to_string(i),
                          helper.path, "hold", at_any_moment ? "4" : "3600"},
                         {.environment = link_environment(), .capture_output = true}};
        if (at_any_moment) {
            std::uniform_int_distribution<clock_type::rep> moment{0, start.count()};
            std::this_thread::sleep_until(begin + clock_type::duration{moment(random)});
        } else {
            BOOST_REQUIRE(owner.read_line(60s) == "alone");
            BOOST_REQUIRE(owner.read_line(60s) == "held");
            start = clock_type::now() - begin;
        }
        owner.kill();
        if (!before) {
            before.emplace();
            before->descriptors -= 1; // the owner's output
        }
        if (i % 100 == 99) {
            BOOST_REQUIRE(helper.is_gone());
        }
    }
    BOOST_TEST(helper.is_gone());
    BOOST_TEST(without_sessions(server));
    BOOST_TEST((possessions{} == before));
}

// Of every third one the guard is killed.
void come_and_go(int number)
{
    zookeeper_server server{short_ticks()};
    const own_helper helper;
    asio::io_context io;
    std::optional<possessions> before;
    for (int i = 0; i != number; ++i) {
        {
            client zk{io, link_client({.hosts = link_hosts(server),
                                       .session_timeout = 4s,
                                       .session_guard = {helper.path}})};
            const outcome<> connected;
            zk.async_connect(connected.handler());
            run_until(io, [&] { return connected.done(); });
            BOOST_REQUIRE(!connected.error());
            BOOST_REQUIRE(zk.stats().session_guarded);
            if (i % 3 == 0) {
                std::ranges::for_each(helper.processes(),
                                      [](pid_t each) { ::kill(each, SIGKILL); });
            }
            if (i % 2 == 0) {
                const outcome<> closed;
                zk.async_close(closed.handler());
                run_until(io, [&] { return closed.done(); });
            }
        }
        BOOST_REQUIRE(run_to_the_end(io)); // the destructor's work
        if (!before) {
            before.emplace(); // with what stays for good
        }
    }
    BOOST_TEST(helper.is_gone());
    BOOST_TEST(without_sessions(server));
    BOOST_TEST((possessions{} == before));
}

} // namespace

BOOST_AUTO_TEST_SUITE(guarded_starts)

BOOST_AUTO_TEST_CASE(killed_owners_leave_nothing)
{
    kill_owners(repetitions(20));
}

BOOST_AUTO_TEST_CASE(clients_that_come_and_go_leave_nothing)
{
    come_and_go(repetitions(50));
}

// COLOCK_TEST_REPEAT: fewer of each.
BOOST_AUTO_TEST_CASE(ten_thousand_killed_owners_soak, *boost::unit_test::disabled())
{
    kill_owners(repetitions(10'000));
}

BOOST_AUTO_TEST_CASE(ten_thousand_clients_soak, *boost::unit_test::disabled())
{
    come_and_go(repetitions(10'000));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::guarded_starts_test
