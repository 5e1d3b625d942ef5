// What a holder is told when its session expires, which the test decides.
#ifndef LOSS_HPP
#define LOSS_HPP

#include <colock/colock.hpp>
#include <colock/testing/server.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>

inline colock::error_code why_it_is_lost()
{
    namespace asio = boost::asio;
    colock::testing::server server;
    asio::io_context context;
    colock::client client{context, {.hosts = server.hosts()}};
    colock::error_code why;
    const auto hold = [&]() -> asio::awaitable<void> {
        co_await client.async_connect();
        colock::mutex orders{client, "/locks/orders"};
        const auto held = co_await orders.async_lock();
        server.expire(client.session_id());
        why = co_await held.async_wait_lost();
        co_await client.async_close();
    };
    asio::co_spawn(context, hold(), [](std::exception_ptr failed) {
        if (failed) {
            std::rethrow_exception(failed);
        }
    });
    context.run();
    return why;
}

#endif
