// A test of what a program does when its lock is lost.
#include <colock/colock.hpp>
#include <colock/testing/server.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <iostream>

namespace asio = boost::asio;

int main()
{
    asio::io_context context;
    colock::testing::server server;
    colock::client client{context, {.hosts = server.hosts()}};
    bool lost = false;
    const auto test = [&]() -> asio::awaitable<void> {
        co_await client.async_connect();
        colock::mutex m{client, "/locks/orders"};
        const auto held = co_await m.async_lock();
        server.expire(client.session_id());
        const auto why = co_await held.async_wait_lost();
        lost = why == colock::condition::lock_lost;
        co_await client.async_close();
    };
    asio::co_spawn(context, test(), [](std::exception_ptr failed) {
        if (failed) {
            std::rethrow_exception(failed);
        }
    });
    context.run();
    std::cout << (lost ? "lost, as it was to be\n" : "not lost\n");
    return lost ? 0 : 1;
}
