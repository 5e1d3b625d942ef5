// A worker stops while no server answers, and goes on when they are back.
#define BOOST_TEST_MODULE servers_away
#include <colock/colock.hpp>
#include <colock/testing/server.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <exception>

namespace asio = boost::asio;
using namespace std::chrono_literals;

// The program.
asio::awaitable<void> work(colock::client& zk, bool& working)
{
    const auto long_job = [&](const colock::unique_lock&) -> asio::awaitable<void> {
        working = true;
        asio::steady_timer job{co_await asio::this_coro::executor, 1h};
        co_await job.async_wait(asio::use_awaitable);
    };
    co_await zk.async_connect();
    colock::mutex jobs{zk, "/locks/jobs"};
    for (;;) {
        try {
            co_await jobs.async_with_lock(long_job);
        } catch (const boost::system::system_error& e) {
            if (e.code() != colock::condition::lock_lost) {
                throw;
            }
            working = false;
        }
    }
}

BOOST_AUTO_TEST_CASE(it_works_only_while_servers_answer)
{
    colock::testing::server server;
    asio::io_context context;
    colock::client zk{context, {.hosts = server.hosts(), .session_timeout = 1s, .tick = 50ms}};
    bool working = false;
    const auto run_until = [&](auto done) {
        for (; !done(); context.run_one()) {
        }
    };
    asio::co_spawn(context, work(zk, working),
                   [](std::exception_ptr e) { std::rethrow_exception(e); });
    run_until([&] { return working; });

    server.pause();
    run_until([&] { return !working; });
    server.resume();
    run_until([&] { return working; });
}
