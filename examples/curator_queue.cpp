// One queue with programs in Java: takes turns on a counter with curator_queue/CuratorQueue.java, which uses
// InterProcessMutex of Apache Curator. Nothing has to be set for that; the paths are the same.
//
//     curator_queue [TURNS [HOST:PORT]]
//
#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <iostream>
#include <string>

namespace asio = boost::asio;

asio::awaitable<void> run(colock::client& zk, int turns)
{
    co_await zk.async_connect();
    colock::mutex counter{zk, "/locks/counter"};
    for (int i = 0; i < turns; ++i) {
        co_await counter.async_with_lock([&](const colock::unique_lock&) -> asio::awaitable<void> {
            if (!co_await zk.async_exists("/counter")) {
                co_await zk.async_create("/counter", "0");
            }
            const int next = std::stoi((co_await zk.async_get("/counter")).data) + 1;
            co_await zk.async_set("/counter", std::to_string(next));
            std::cout << "colock counts " << next << std::endl;
        });
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
