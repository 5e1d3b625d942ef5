// A semaphore as rate limiter: all processes that run this program together make three calls at a time.
//
//     rate_limiter [CALLS [HOST:PORT]]
//
#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

namespace asio = boost::asio;
using std::chrono::steady_clock;

asio::awaitable<void> call()
{
    const auto begin = steady_clock::now();
    asio::steady_timer answer{co_await asio::this_coro::executor, std::chrono::milliseconds{50}};
    co_await answer.async_wait(asio::use_awaitable);
    const auto end = steady_clock::now();
    std::cout << "call from " << begin.time_since_epoch().count() << " to "
              << end.time_since_epoch().count() << std::endl;
}

asio::awaitable<void> run(colock::client& zk, int calls)
{
    co_await zk.async_connect();
    colock::semaphore limit{zk, "/locks/calls", 3};
    const auto call_in_turn = [&]() -> asio::awaitable<void> {
        co_await limit.async_with_permits([](const colock::permit&) { return call(); });
    };
    std::vector all(
        std::size_t(std::max(calls, 1)),
        asio::co_spawn(co_await asio::this_coro::executor, call_in_turn, asio::deferred));
    const auto [order, failures] = co_await asio::experimental::make_parallel_group(all).async_wait(
        asio::experimental::wait_for_one_error(), asio::use_awaitable);
    for (const auto index : order) {
        if (failures[index]) {
            std::rethrow_exception(failures[index]);
        }
    }
    co_await zk.async_close();
}

int main(int argc, char** argv)
{
    asio::io_context context;
    colock::client zk{context, {.hosts = argc > 2 ? argv[2] : "localhost:2181"}};
    try {
        asio::co_spawn(context, run(zk, argc > 1 ? std::stoi(argv[1]) : 10),
                       [](std::exception_ptr e) {
                           if (e) {
                               std::rethrow_exception(e);
                           }
                       });
        context.run();
    } catch (const std::exception& e) {
        std::cerr << e.what() << "\n  " << zk.last_error_detail() << '\n';
        return 1;
    }
}
