// Works under the lock until Ctrl-C or SIGTERM, then leaves nothing behind: no lock node, no session.
//
//     graceful_shutdown [HOST:PORT]
//
#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <csignal>
#include <exception>
#include <iostream>

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;
using namespace std::chrono_literals;

asio::awaitable<void> work(colock::client& zk)
{
    colock::mutex jobs{zk, "/locks/jobs"};
    for (;;) {
        colock::unique_lock held = co_await jobs.async_lock();
        std::cout << "working, with fencing token " << held.token() << std::endl;
        asio::steady_timer job{co_await asio::this_coro::executor, 200ms};
        co_await job.async_wait(asio::use_awaitable);
        co_await held.async_unlock();
    }
}

asio::awaitable<void> run(colock::client& zk)
{
    asio::signal_set stop{co_await asio::this_coro::executor, SIGINT, SIGTERM};
    co_await zk.async_connect();

    // The signal cancels the work wherever it waits: for the lock, which takes it out of the queue, or
    // while it holds the lock, which the guard's destructor then releases in the background.
    co_await (work(zk) || stop.async_wait(asio::use_awaitable));

    // Completes when the server has confirmed that the lock and the session are gone.
    co_await zk.async_close();
    std::cout << "closed, nothing left behind" << std::endl;
}

int main(int argc, char** argv)
{
    asio::io_context context;
    colock::client zk{context, {.hosts = argc > 1 ? argv[1] : "localhost:2181"}};
    try {
        asio::co_spawn(context, run(zk), [](std::exception_ptr e) {
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
