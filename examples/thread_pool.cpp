// Work of a thread pool under locks: four threads compute, and one client serves them all. The client has a thread of
// its own, so it keeps its session alive however long the others compute. Orders of one customer take turns, also
// those of other processes that run this program; orders of different customers go on at the same time.
//
//     thread_pool [ORDERS [HOST:PORT]]
//
#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <future>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace asio = boost::asio;
using std::chrono::steady_clock;

void compute(const std::string& customer)
{
    const auto begin = steady_clock::now();
    std::this_thread::sleep_for(
        std::chrono::milliseconds{50}); // stands for work that keeps a thread busy
    const auto end = steady_clock::now();
    const auto line = "customer " + customer + " from " +
                      std::to_string(begin.time_since_epoch().count()) + " to " +
                      std::to_string(end.time_since_epoch().count());
    std::puts(line.c_str()); // whole, whatever other threads print
}

asio::awaitable<void> handle(colock::client& zk, std::string customer)
{
    colock::mutex account{zk, "/locks/customers/" + customer};
    co_await account.async_with_lock([&](const colock::unique_lock&) -> asio::awaitable<void> {
        compute(customer); // on a thread of the pool, as all of this coroutine
        co_return;
    });
}

int main(int argc, char** argv)
{
    asio::thread_pool background{1};
    colock::client zk{background, {.hosts = argc > 2 ? argv[2] : "localhost:2181"}};
    asio::thread_pool workers{4};
    try {
        zk.async_connect(asio::use_future).get();
        std::vector<std::future<void>> orders;
        for (int i = 0; i < (argc > 1 ? std::stoi(argv[1]) : 12); ++i) {
            auto order = handle(zk, std::to_string(i % 3));
            orders.push_back(asio::co_spawn(workers, std::move(order), asio::use_future));
        }
        workers.join(); // until all have ended, also if some have failed
        zk.async_close(asio::use_future).get();
        for (auto& order : orders) {
            order.get();
        }
    } catch (const std::exception& e) {
        std::cerr << e.what() << "\n  " << zk.last_error_detail() << '\n';
        return 1;
    }
}
