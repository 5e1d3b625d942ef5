// Shards move to a process that comes, and back when it dies.
#define BOOST_TEST_MODULE moving_shards
#include <colock/colock.hpp>
#include <colock/testing/server.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <list>
#include <set>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

// The program: works on its shards.
asio::awaitable<void> work(colock::client& zk, std::string name, std::set<unsigned>& owned)
{
    co_await zk.async_connect();
    colock::shards orders{zk, "/shards/orders", {.count = 6, .member = name, .settle = 0s}};
    co_await orders.async_run([&](const colock::owned_shard& mine) -> asio::awaitable<void> {
        asio::steady_timer job{co_await asio::this_coro::executor, 1h};
        owned.insert(mine.index());
        co_await job.async_wait(asio::as_tuple(asio::use_awaitable)); // until it is cancelled
        owned.erase(mine.index());
    });
}

struct process {
    process(const std::string& hosts, const std::string& name) : zk{context, hosts}
    {
        asio::co_spawn(context, work(zk, name, owned), asio::detached);
    }

    std::set<unsigned> owned;
    asio::io_context context;
    colock::client zk;
};

BOOST_AUTO_TEST_CASE(shards_move_to_those_who_live)
{
    colock::testing::server server;
    std::list<process> alive;
    const auto run_until_each_has = [&](std::size_t count) {
        while (std::ranges::any_of(alive, [&](auto& p) { return p.owned.size() != count; })) {
            for (auto& each : alive) {
                each.context.run_one_for(1ms);
            }
        }
    };
    alive.emplace_back(server.hosts(), "a");
    alive.emplace_back(server.hosts(), "b");
    run_until_each_has(3);

    server.expire(alive.back().zk.session_id());
    alive.pop_back(); // it dies
    run_until_each_has(6);
}
