// A test of a program under virtual time: a process dies, and the others do its part of the work.
#define BOOST_TEST_MODULE moving_shards
#include <colock/colock.hpp>
#include <colock/testing/world.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(the_shards_of_a_process_that_dies_move_to_the_others)
{
    std::map<std::size_t, std::string> owners; // the last one of each shard
    colock::testing::world w{1};
    for (const std::string name : {"alpha", "bravo", "charlie"}) {
        w.start_process(name, [&, name](auto& context, std::string hosts) -> asio::awaitable<void> {
            colock::client zk{context, {.hosts = hosts}};
            co_await zk.async_connect();
            colock::shards pieces{zk, "/shards/feeds", {.count = 8, .member = name, .settle = 0s}};
            co_await pieces.async_run(
                [&](const colock::owned_shard& mine) -> asio::awaitable<void> {
                    owners[mine.index()] = name;
                    co_await asio::steady_timer{context, 1h}.async_wait(asio::use_awaitable);
                });
        });
    }
    const auto owns = [&](const std::string& name) {
        return std::ranges::count(owners, name, [](const auto& each) { return each.second; });
    };
    const auto even = [&] { return owns("alpha") > 1 && owns("bravo") > 1 && owns("charlie") > 1; };
    BOOST_REQUIRE(w.run_until(even, 1min));
    w.kill("bravo");
    BOOST_TEST(w.run_until([&] { return owns("bravo") == 0; }, 30s));
    BOOST_TEST(owns("alpha") + owns("charlie") == 8);
}
