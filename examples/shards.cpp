// Shards: eight pieces of work, each done by one of several processes. When one dies, the others do its part.
//
//     shards NAME [HOST:PORT]
//
#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <csignal>
#include <exception>
#include <iostream>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

void rethrow(std::exception_ptr e)
{
    if (e) {
        std::rethrow_exception(e);
    }
}

asio::awaitable<void> work(const colock::owned_shard& mine)
{
    std::cout << "owns " << mine.index() << std::endl;
    asio::steady_timer step{co_await asio::this_coro::executor};
    // It looks at the guard before each step: a process that was suspended goes on before it is cancelled.
    while (mine.lock()) {
        step.expires_after(100ms);
        co_await step.async_wait(asio::use_awaitable);
    }
}

// At SIGTERM the others take the shards over while this process still works.
asio::awaitable<void> leave_at_the_end(colock::shards pieces)
{
    asio::signal_set signals{co_await asio::this_coro::executor, SIGTERM, SIGINT};
    co_await signals.async_wait(asio::use_awaitable);
    co_await pieces.async_leave(10s);
}

asio::awaitable<void> run(colock::client& zk, std::string name)
{
    co_await zk.async_connect();
    const colock::shards_options what{.count = 8, .member = name, .settle = 0s};
    colock::shards pieces{zk, "/shards/example", what};
    asio::co_spawn(co_await asio::this_coro::executor, leave_at_the_end(pieces), rethrow);
    co_await pieces.async_run(work);
    std::cout << "has handed everything on" << std::endl;
    co_await zk.async_close();
}

int main(int argc, char** argv)
{
    asio::io_context context;
    const auto* hosts = argc > 2 ? argv[2] : "localhost:2181";
    // For a demonstration: leave this time, and that to settle, as they are by default.
    colock::client zk{context, {.hosts = hosts, .session_timeout = 4s}};
    try {
        asio::co_spawn(context, run(zk, argc > 1 ? argv[1] : "worker"), rethrow);
        context.run();
    } catch (const std::exception& e) {
        std::cerr << e.what() << "\n  " << zk.last_error_detail() << '\n';
        return 1;
    }
}
