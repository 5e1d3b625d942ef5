// A test of a program under virtual time: all servers are away for a minute.
#define BOOST_TEST_MODULE servers_away
#include <colock/colock.hpp>
#include <colock/testing/world.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(work_ends_when_the_servers_are_away_and_begins_again_when_they_are_back)
{
    bool working = false;
    const auto program = [&](asio::io_context& context,
                             std::string hosts) -> asio::awaitable<void> {
        colock::client zk{context, {.hosts = hosts}};
        co_await zk.async_connect();
        colock::mutex jobs{zk, "/locks/jobs"};
        for (;;) {
            const auto held = co_await jobs.async_lock();
            working = true;
            co_await held.async_wait_lost(asio::use_awaitable);
            working = false;
        }
    };
    const auto servers = {"server 1", "server 2", "server 3"};
    colock::testing::world w{1};
    w.start_process("worker", program);
    BOOST_REQUIRE(w.run_until([&] { return working; }, 10s));
    std::ranges::for_each(servers, [&](const auto* each) { w.kill(each); });
    BOOST_TEST(w.run_until([&] { return !working; }, 10s));
    w.run_for(1min);
    std::ranges::for_each(servers, [&](const auto* each) { w.restart(each); });
    BOOST_TEST(w.run_until([&] { return working; }, 1min));
}
