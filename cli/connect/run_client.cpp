#include "connect/run_client.hpp"

#include <colock/diagnostics.hpp>

#include "connect/awaiting.hpp"
#include "connect/until_signal.hpp"
#include "program/failure.hpp"

#include <boost/asio/this_coro.hpp>

#include <exception>
#include <utility>

namespace colock::cli {

namespace asio = boost::asio;

asio::awaitable<void> connect(client& zk)
{
    diagnostics why;
    const auto [ec] = co_await zk.async_connect(bind_diagnostics(why, no_throw));
    if (ec) {
        throw failure_of(ec, why.message());
    }
}

namespace {

asio::awaitable<int> connected(const client_options& options,
                               std::function<asio::awaitable<int>(client& zk)> body)
{
    const auto executor = co_await asio::this_coro::executor;
    client zk{executor, options};
    std::exception_ptr failed;
    int status = 0;
    try {
        co_await connect(zk);
        status = co_await body(zk);
    } catch (...) {
        failed = std::current_exception();
    }
    co_await keep_on();
    co_await zk.async_close(no_throw); // else the session ends by its time-out
    if (failed) {
        std::rethrow_exception(failed);
    }
    co_return status;
}

} // namespace

int run_client(const client_options& options, std::function<asio::awaitable<int>(client& zk)> body)
{
    return run_until_signal([&] { return connected(options, std::move(body)); });
}

} // namespace colock::cli
