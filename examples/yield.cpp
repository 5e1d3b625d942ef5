// The lock in stackful coroutines: every function takes a yield_context. What is done under the lock is an operation of
// a timer here; it could be any other operation, or a coroutine.
//
//     yield [HOST:PORT]
//
#include <colock/colock.hpp>

#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/spawn.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <exception>
#include <iostream>

namespace asio = boost::asio;
using namespace std::chrono_literals;

void greet(colock::client& zk, asio::yield_context yield)
{
    zk.async_connect(yield);
    colock::mutex greetings{zk, "/locks/greetings"};
    asio::steady_timer work{zk.get_executor()};
    greetings.async_with_lock(
        [&](const colock::unique_lock& held) {
            std::cout << "hello, my fencing token is " << held.token() << std::endl;
            work.expires_after(100ms);
            return work.async_wait(asio::deferred);
        },
        yield);
    zk.async_close(yield);
}

int main(int argc, char** argv)
{
    asio::io_context context;
    colock::client zk{context, {.hosts = argc > 1 ? argv[1] : "localhost:2181"}};
    try {
        asio::spawn(
            context, [&](asio::yield_context yield) { greet(zk, yield); },
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
