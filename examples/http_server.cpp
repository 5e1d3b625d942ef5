// An HTTP server with a lock for each resource. Any number of instances serve the same resources: a request for one of
// them waits until earlier requests for it are answered, wherever they came in. At SIGTERM the server takes no further
// requests, answers those that it has, and leaves nothing behind: the last of them lets the client go.
//
//     http_server [PORT [WORK [HOST:PORT]]]      port 0 is any; WORK is what a request takes, in milliseconds
//
#include <colock/colock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using ms = std::chrono::milliseconds;

asio::awaitable<void> serve(std::shared_ptr<colock::client> zk, tcp::socket socket, ms duration)
{
    boost::beast::tcp_stream stream{std::move(socket)};
    stream.expires_after(ms{30'000});
    boost::beast::flat_buffer buffer;
    http::request<http::string_body> request;
    co_await http::async_read(stream, buffer, request, asio::use_awaitable);
    std::cout << "request for " << colock::printable(request.target()) << std::endl;

    std::string name{request.target().substr(1, request.target().find('?') - 1)};
    std::ranges::replace(name, '/', ':');
    colock::mutex resource{*zk, "/locks/" + name};
    const auto [failed, done] = co_await resource.async_try_with_lock_for(
        ms{3000},
        [&](const colock::unique_lock& held) -> asio::awaitable<std::string> {
            co_await asio::steady_timer{stream.get_executor(), duration}.async_wait(asio::deferred);
            co_return "done with fencing token " + to_string(held.token()) + '\n';
        },
        asio::as_tuple(asio::use_awaitable));
    const auto status = failed || !done ? http::status::service_unavailable : http::status::ok;
    http::response<http::string_body> response{status, 10, done.value_or("")};
    response.prepare_payload();
    co_await http::async_write(stream, response, asio::use_awaitable);
}

asio::awaitable<void> run(std::shared_ptr<colock::client> zk, std::uint16_t port, ms duration)
{
    co_await zk->async_connect();
    const auto executor = co_await asio::this_coro::executor;
    const auto acceptor = std::make_shared<tcp::acceptor>(executor, tcp::endpoint{tcp::v4(), port});
    asio::signal_set stop{executor, SIGINT, SIGTERM};
    stop.async_wait([acceptor](auto...) { acceptor->close(); });
    std::cout << "listening at port " << acceptor->local_endpoint().port() << std::endl;
    while (acceptor->is_open()) {
        auto [ec, socket] = co_await acceptor->async_accept(asio::as_tuple(asio::use_awaitable));
        if (!ec) {
            asio::co_spawn(executor, serve(zk, std::move(socket), duration), asio::detached);
        } else if (acceptor->is_open()) { // the process has no descriptor left, say
            co_await asio::steady_timer{executor, ms{100}}.async_wait(asio::deferred);
        }
    }
}

int main(int argc, char** argv)
{
    asio::io_context context;
    const colock::client_options options{.hosts = argc > 3 ? argv[3] : "localhost:2181"};
    auto zk = std::make_shared<colock::client>(context, options);
    try {
        const auto port = static_cast<std::uint16_t>(argc > 1 ? std::stoi(argv[1]) : 8080);
        const ms duration{argc > 2 ? std::stoi(argv[2]) : 200};
        auto ended = asio::co_spawn(context, run(std::move(zk), port, duration), asio::use_future);
        context.run();
        ended.get();
    } catch (const std::exception& e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
}
