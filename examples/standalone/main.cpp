// my_service [HOST:PORT]: a service that runs anywhere and works on one machine at a time.
#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <exception>
#include <iostream>

namespace asio = boost::asio;

asio::awaitable<void> work(const colock::unique_lock& held)
{
    std::cout << "my turn, with fencing token " << held.token() << std::endl;
    co_return; // your work goes here; it is cancelled when the lock is lost
}

asio::awaitable<void> run(colock::client& zk)
{
    co_await zk.async_connect();
    colock::mutex turn{zk, "/locks/my_service"};
    if (!co_await turn.async_try_with_lock_for(std::chrono::seconds{30}, work)) {
        std::cout << "another machine is at it" << std::endl;
    }
    co_await zk.async_close();
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
