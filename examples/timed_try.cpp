// A deadline: makes a backup unless somebody else is at it, and says who.
//
//     timed_try [HOST:PORT [PATIENCE WORK]]       milliseconds
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
using std::chrono::milliseconds;

asio::awaitable<int> make_backup(milliseconds duration)
{
    std::cout << "making the backup" << std::endl;
    asio::steady_timer work{co_await asio::this_coro::executor, duration};
    co_await work.async_wait(asio::use_awaitable);
    co_return 42;
}

asio::awaitable<void> run(colock::client& zk, milliseconds patience, milliseconds duration)
{
    co_await zk.async_connect();
    colock::mutex backup{zk, "/locks/backup"};

    colock::diagnostics why;
    const std::optional<int> files = co_await backup.async_try_with_lock_for(
        patience, [&](const colock::unique_lock&) { return make_backup(duration); },
        colock::bind_diagnostics(why, asio::use_awaitable));

    if (files) {
        std::cout << "the backup has " << *files << " files" << std::endl;
    } else {
        std::cout << "busy: " << why.message() << std::endl;
    }
    co_await zk.async_close();
}

int main(int argc, char** argv)
{
    asio::io_context context;
    colock::client zk{context, {.hosts = argc > 1 ? argv[1] : "localhost:2181"}};
    try {
        const milliseconds patience{argc > 2 ? std::stoi(argv[2]) : 2000};
        const milliseconds duration{argc > 3 ? std::stoi(argv[3]) : 10000};
        asio::co_spawn(context, run(zk, patience, duration), [](std::exception_ptr e) {
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
