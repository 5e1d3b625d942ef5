// A program that writes under a lock stops when it loses the lock.
#define BOOST_TEST_MODULE loss
#include <colock/colock.hpp>
#include <colock/testing/server.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <future>

namespace asio = boost::asio;
using namespace std::chrono_literals;

// The program.
asio::awaitable<void> write_orders(colock::client& zk, int& written)
{
    co_await zk.async_connect();
    colock::mutex orders{zk, "/locks/orders"};
    co_await orders.async_with_lock([&](const colock::unique_lock&) -> asio::awaitable<void> {
        asio::steady_timer step{co_await asio::this_coro::executor};
        for (;;) {
            ++written;
            step.expires_after(1ms);
            co_await step.async_wait(asio::use_awaitable);
        }
    });
}

BOOST_AUTO_TEST_CASE(it_stops_when_its_lock_is_lost)
{
    colock::testing::server server;
    asio::io_context context;
    colock::client zk{context, {.hosts = server.hosts()}};
    int written = 0;
    auto program = asio::co_spawn(context, write_orders(zk, written), asio::use_future);
    const auto has_ended = [&] { return program.wait_for(0s) == std::future_status::ready; };
    while (written < 3 && !has_ended()) {
        context.run_one();
    }

    server.expire(zk.session_id());
    while (!has_ended()) {
        context.run_one();
    }
    BOOST_CHECK_EXCEPTION(program.get(), boost::system::system_error,
                          [](const auto& e) { return e.code() == colock::condition::lock_lost; });
}
