// An election: one of several processes leads, all others know which, and when it dies the next one takes over.
//
//     elected_leader NAME [HOST:PORT]
//
#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <optional>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

void rethrow(std::exception_ptr e)
{
    if (e) {
        std::rethrow_exception(e);
    }
}

asio::awaitable<void> lead(const colock::leadership& term)
{
    std::cout << "leading, with fencing token " << term.token() << std::endl;
    asio::steady_timer step{co_await asio::this_coro::executor};
    // It looks at the guard before each step: a process that was suspended goes on before it is cancelled.
    while (term) {
        step.expires_after(100ms);
        co_await step.async_wait(asio::use_awaitable);
    }
}

asio::awaitable<void> follow(colock::election scheduler)
{
    std::optional<std::string> leader;
    for (;;) {
        leader = co_await scheduler.async_wait_change(leader);
        std::cout << "the leader is " << colock::printable(leader.value_or("nobody")) << std::endl;
    }
}

asio::awaitable<void> run(colock::client& zk, std::string name)
{
    const auto executor = co_await asio::this_coro::executor;
    co_await zk.async_connect();
    colock::election scheduler{zk, "/locks/scheduler", name};
    asio::co_spawn(executor, follow(scheduler), rethrow);
    for (;;) {
        try {
            co_await scheduler.async_lead(lead);
        } catch (const boost::system::system_error& e) {
            if (e.code() != colock::condition::lock_lost) {
                throw;
            }
        }
    }
}

int main(int argc, char** argv)
{
    asio::io_context context;
    const auto* hosts = argc > 2 ? argv[2] : "localhost:2181";
    colock::client zk{context, {.hosts = hosts}};
    try {
        asio::co_spawn(context, run(zk, argc > 1 ? argv[1] : "anybody"), rethrow);
        context.run();
    } catch (const std::exception& e) {
        std::cerr << e.what() << "\n  " << zk.last_error_detail() << '\n';
        return 1;
    }
}
