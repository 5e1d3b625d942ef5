// The lock in threads that block: every function takes asio::use_future. Four threads draw numbers from one counter, and
// so do all other processes that run this program.
//
//     futures [HOST:PORT]
//
#include <colock/colock.hpp>

#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <exception>
#include <functional>
#include <future>
#include <iostream>
#include <string>
#include <vector>

namespace asio = boost::asio;

int draw_number(colock::client& zk, colock::mutex& counter)
{
    colock::unique_lock held = counter.async_lock(asio::use_future).get();
    if (!zk.async_exists("/counter", asio::use_future).get()) {
        zk.async_create("/counter", "0", asio::use_future).get();
    }
    const int number = std::stoi(zk.async_get("/counter", asio::use_future).get().data) + 1;
    const auto write = held.guarded(colock::set_op("/counter", std::to_string(number)));
    zk.async_multi(write, asio::use_future).get(); // fails when the lock is not held any more
    held.async_unlock(asio::use_future).get();
    return number;
}

int main(int argc, char** argv)
{
    asio::thread_pool background{1};
    colock::client zk{background, {.hosts = argc > 1 ? argv[1] : "localhost:2181"}};
    try {
        zk.async_connect(asio::use_future).get();
        colock::mutex counter{zk, "/locks/counter"};
        std::vector<std::future<int>> numbers;
        for (int i = 0; i < 4; ++i) {
            numbers.push_back(
                std::async(std::launch::async, draw_number, std::ref(zk), std::ref(counter)));
        }
        try {
            for (auto& each : numbers) {
                std::cout << "number " << each.get() << std::endl;
            }
        } catch (const std::exception& e) {
            std::cerr << e.what() << "\n  " << zk.last_error_detail() << '\n';
            zk.async_close(asio::use_future).wait(); // so that no other thread waits any more
            return 1;
        }
        zk.async_close(asio::use_future).get();
    } catch (const std::exception& e) {
        std::cerr << e.what() << "\n  " << zk.last_error_detail() << '\n';
        return 1;
    }
}
