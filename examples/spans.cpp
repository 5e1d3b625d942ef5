// Prints spans of OpenTelemetry for what locks do: two coroutines take turns with each other, and with other processes.
// examples/spans/otlp.hpp makes the spans.
//
//     spans [HOST:PORT]
//
#include "spans/otlp.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <memory>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> work(colock::client& zk, std::string trace)
{
    asio::steady_timer pause{co_await asio::this_coro::executor, 50ms};
    colock::mutex orders{zk, "/locks/orders"};
    otlp::current = {trace,
                     trace.substr(0, 16)}; // what this coroutine does next belongs to this span
    const auto held = co_await orders.async_lock(asio::use_awaitable);
    co_await pause.async_wait(asio::use_awaitable);
}

int main(int argc, char** argv)
{
    asio::io_context context;
    colock::client zk{context,
                      {.hosts = argc > 1 ? argv[1] : "127.0.0.1:2181",
                       .observer = std::make_shared<otlp::spans>(std::cout)}};
    int left = 2;
    const auto done = [&](const std::exception_ptr& failure) {
        if (failure) {
            std::rethrow_exception(failure);
        }
        if (--left == 0) {
            zk.async_close([](colock::error_code) {});
        }
    };
    zk.async_connect([&](colock::error_code ec) {
        if (ec) {
            throw boost::system::system_error{ec};
        }
        asio::co_spawn(context, work(zk, std::string(32, 'a')), done);
        asio::co_spawn(context, work(zk, std::string(32, 'b')), done);
    });
    try {
        context.run();
    } catch (const std::exception& e) {
        std::cerr << e.what() << "\n  " << zk.last_error_detail() << '\n';
        return 1;
    }
}
