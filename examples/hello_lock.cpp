// hello_lock [HOST:PORT]: waits for its turn, prints its fencing token, and lets the next one in.
#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <iostream>

namespace asio = boost::asio;

asio::awaitable<void> hello(colock::client& zk)
{
    co_await zk.async_connect();
    colock::mutex greetings{zk, "/locks/greetings"};

    co_await greetings.async_with_lock( // waits for its turn
        [&](const colock::unique_lock& held) -> asio::awaitable<void> {
            std::cout << "hello, my fencing token is " << held.token() << std::endl;
            co_return;
        });
    co_await zk.async_close();
}

int main(int argc, char** argv)
{
    asio::io_context context;
    colock::client zk{context, {.hosts = argc > 1 ? argv[1] : "localhost:2181"}};
    try {
        asio::co_spawn(context, hello(zk), [](std::exception_ptr e) {
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
