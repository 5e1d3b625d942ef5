// Works under the lock until Ctrl-C or SIGTERM, then leaves nothing behind: no lock node, no session.
//
//     graceful_shutdown [HOST:PORT]
//
#include <colock/colock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
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
using namespace std::chrono_literals;

// Goes on until it is cancelled or fails. It fails, for example, when the lock is lost.
asio::awaitable<void> work(colock::client& zk)
{
    colock::mutex jobs{zk, "/locks/jobs"};
    for (;;) {
        co_await jobs.async_with_lock(
            [&](const colock::unique_lock& held) -> asio::awaitable<void> {
                std::cout << "working, with fencing token " << held.token() << std::endl;
                asio::steady_timer job{co_await asio::this_coro::executor, 200ms};
                co_await job.async_wait(asio::use_awaitable);
            });
    }
}

asio::awaitable<void> run(colock::client& zk)
{
    const auto executor = co_await asio::this_coro::executor;
    asio::signal_set stop{executor, SIGINT, SIGTERM};
    co_await zk.async_connect();

    // The signal cancels the work wherever it is. Work that waits for the lock leaves the queue; work that holds the
    // lock releases it in the background. If the work fails, the program does not wait for a signal: the group ends
    // with the first of the two, whether that succeeds or fails. (`work(zk) || stop.async_wait(use_awaitable)` would
    // wait for the first that succeeds.)
    const auto [order, failure, ec, signal] =
        co_await asio::experimental::make_parallel_group(
            asio::co_spawn(executor, work(zk), asio::deferred), stop.async_wait(asio::deferred))
            .async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);

    // Completes when the server has confirmed that the lock and the session are gone.
    const auto [not_closed] = co_await zk.async_close(asio::as_tuple(asio::use_awaitable));
    std::cout << (not_closed ? "closed, the session ends by its time-out"
                             : "closed, nothing left behind")
              << std::endl;
    if (order[0] == 0) {
        std::rethrow_exception(failure); // of the work
    }
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
