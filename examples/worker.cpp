// A worker that is told of its loss. async_with_lock cancels the work as soon as the lock can no longer be trusted, and
// says why; the worker then waits for its turn again. At SIGTERM it leaves nothing behind.
//
//     worker [HOST:PORT]
//
#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <chrono>
#include <csignal>
#include <exception>
#include <iostream>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> work(const colock::unique_lock& held)
{
    std::cout << "working with fencing token " << held.token() << std::endl;
    asio::steady_timer step{co_await asio::this_coro::executor};
    // It looks at the guard before each step: a process that was suspended goes on before it is cancelled.
    while (held) {
        step.expires_after(100ms);
        co_await step.async_wait(asio::use_awaitable);
    }
}

asio::awaitable<void> run(colock::client& zk)
{
    co_await zk.async_connect();
    colock::mutex jobs{zk, "/locks/jobs"};
    for (;;) {
        try {
            co_await jobs.async_with_lock(work);
        } catch (const boost::system::system_error& e) {
            if (e.code() != colock::condition::lock_lost) {
                throw;
            }
            std::cout << "stopped: " << e.what() << std::endl;
        }
    }
}

int main(int argc, char** argv)
{
    asio::io_context context;
    const auto* hosts = argc > 1 ? argv[1] : "localhost:2181";
    colock::client zk{context, {.hosts = hosts}};
    asio::cancellation_signal stop;
    asio::signal_set signals{context, SIGINT, SIGTERM};
    bool stopped = false;
    signals.async_wait([&](colock::error_code ec, int) {
        stopped = !ec;
        stop.emit(asio::cancellation_type::terminal);
    });
    const auto ended = [&](std::exception_ptr e) {
        signals.cancel();
        zk.async_close([&, e](colock::error_code) {
            if (!stopped) {
                std::rethrow_exception(e);
            }
        });
    };
    try {
        asio::co_spawn(context, run(zk), asio::bind_cancellation_slot(stop.slot(), ended));
        context.run();
    } catch (const std::exception& e) {
        std::cerr << e.what() << "\n  " << zk.last_error_detail() << '\n';
        return 1;
    }
}
