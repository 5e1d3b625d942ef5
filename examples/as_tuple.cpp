// The lock without exceptions: with as_tuple, an operation gives its error code beside its result. The exit status says
// whether it is worth while to start this program again: 75 when no server answers.
//
//     as_tuple [HOST:PORT [LOCK]]
//
#include <colock/colock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <iostream>
#include <string>

namespace asio = boost::asio;
constexpr auto use_tuple = asio::as_tuple(asio::use_awaitable);

int explain(colock::error_code ec, const colock::diagnostics& why)
{
    std::cerr << why.message() << ": " << ec.message() << '\n';
    return ec == colock::condition::unavailable ? 75 : 1;
}

asio::awaitable<int> greet(colock::client& zk, std::string path)
{
    colock::diagnostics why;
    const auto tell = colock::bind_diagnostics(why, use_tuple);
    if (const auto [ec] = co_await zk.async_connect(tell); ec) {
        co_return explain(ec, why);
    }
    colock::mutex greetings{zk, path};
    auto [ec, held] = co_await greetings.async_lock(tell);
    if (ec) {
        co_return explain(ec, why);
    }
    std::cout << "hello, my fencing token is " << held.token() << std::endl;
    const auto [lost] = co_await held.async_unlock(tell);
    co_return lost ? explain(lost, why) : 0;
}

asio::awaitable<void> run(colock::client& zk, std::string path, int& status)
{
    status = co_await greet(zk, path);
    co_await zk.async_close(use_tuple);
}

int main(int argc, char** argv)
{
    asio::io_context context;
    const auto* hosts = argc > 1 ? argv[1] : "localhost:2181";
    colock::client zk{context, {.hosts = hosts, .connect_timeout = std::chrono::seconds{2}}};
    int status = 1;
    asio::co_spawn(context, run(zk, argc > 2 ? argv[2] : "/locks/greetings", status),
                   asio::detached);
    context.run();
    return status;
}
