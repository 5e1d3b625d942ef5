// What colock does, in the program's own log: client_options::log gives its lines to spdlog, with their levels. Two
// coroutines want one lock, and the log tells for whom the second one waits.
//
//     logging [HOST:PORT]
//
#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <exception>
#include <memory>
#include <string_view>

namespace asio = boost::asio;

colock::log_sink into(std::shared_ptr<spdlog::logger> logger)
{
    return [logger](colock::log_level level, std::string_view line) {
        switch (level) {
        case colock::log_level::debug: return logger->debug(line);
        case colock::log_level::info: return logger->info(line);
        case colock::log_level::warning: return logger->warn(line);
        case colock::log_level::error: return logger->error(line);
        }
    };
}

asio::awaitable<void> take_turn(colock::mutex orders)
{
    co_await orders.async_with_lock([](const colock::unique_lock& held) -> asio::awaitable<void> {
        spdlog::info("at work with fencing token {}", to_string(held.token()));
        asio::steady_timer work{co_await asio::this_coro::executor, std::chrono::milliseconds{50}};
        co_await work.async_wait(asio::use_awaitable);
    });
}

asio::awaitable<void> run(colock::client& zk)
{
    using namespace asio::experimental::awaitable_operators;
    co_await zk.async_connect();
    const colock::mutex orders{zk, "/locks/orders"};
    co_await (take_turn(orders) && take_turn(orders));
    co_await zk.async_close();
}

int main(int argc, char** argv)
{
    const auto logger = spdlog::stdout_logger_mt("colock");
    logger->set_level(spdlog::level::debug);
    asio::io_context context;
    colock::client zk{context,
                      {.hosts = argc > 1 ? argv[1] : "localhost:2181",
                       .log = into(logger),
                       .log_threshold = colock::log_level::debug}};
    try {
        asio::co_spawn(context, run(zk), [](std::exception_ptr e) {
            if (e) {
                std::rethrow_exception(e);
            }
        });
        context.run();
    } catch (const std::exception& e) {
        logger->error(e.what());
        return 1;
    }
}
