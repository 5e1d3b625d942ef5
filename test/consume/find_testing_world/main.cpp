// A test of what a program does when its lock is lost, under virtual time.
#include <colock/colock.hpp>
#include <colock/testing/world.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <iostream>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

int main()
{
    bool holds = false;
    bool lost = false;
    colock::testing::world w{1};
    w.start_process("worker",
                    [&](asio::io_context& context, std::string hosts) -> asio::awaitable<void> {
                        colock::client zk{context, {.hosts = hosts}};
                        co_await zk.async_connect();
                        colock::mutex m{zk, "/locks/orders"};
                        const auto held = co_await m.async_lock();
                        holds = true;
                        const auto why = co_await held.async_wait_lost();
                        lost = why == colock::condition::lock_lost;
                    });
    w.run_until([&] { return holds; }, 10s);
    w.cut("worker");
    w.run_for(1h);
    std::cout << (lost ? "lost, as it was to be\n" : "not lost\n") << w.history();
    return lost ? 0 : 1;
}
