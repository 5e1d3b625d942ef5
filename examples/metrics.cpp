// Serves what the client counts to Prometheus, while it takes turns with others. examples/metrics/grafana-dashboard.json
// shows it; import that file into Grafana. Ends at SIGTERM.
//
//     metrics [PORT [HOST:PORT]]      port 0 is any
//
#include "metrics/prometheus.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <prometheus/exposer.h>

#include <chrono>
#include <csignal>
#include <exception>
#include <iostream>
#include <memory>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

void rethrow(std::exception_ptr e)
{
    try {
        if (e) {
            std::rethrow_exception(e);
        }
    } catch (const boost::system::system_error& failure) {
        if (failure.code() != colock::errc::client_closed) { // as it is at SIGTERM
            throw;
        }
    }
}

asio::awaitable<void> work(colock::client& zk)
{
    co_await zk.async_connect(asio::use_awaitable);
    asio::steady_timer pause{co_await asio::this_coro::executor};
    colock::mutex orders{zk, "/locks/orders"};
    const auto turn = [&](const colock::unique_lock&) -> asio::awaitable<void> {
        pause.expires_after(10ms);
        co_await pause.async_wait(asio::use_awaitable);
    };
    for (;;) {
        try {
            co_await orders.async_try_with_lock_for(1s, turn);
        } catch (const boost::system::system_error& e) { // in an outage it tries again
            if (e.code() != colock::condition::lock_lost &&
                e.code() != colock::condition::unavailable) {
                throw;
            }
        }
    }
}

int main(int argc, char** argv)
{
    const std::string port = argc > 1 ? argv[1] : "9464";
    asio::io_context context;
    const auto paths = std::make_shared<metrics::of_paths>();
    colock::client zk{
        context,
        {.hosts = argc > 2 ? argv[2] : "127.0.0.1:2181", .observer = paths, .histograms = true}};
    const auto client = std::make_shared<metrics::of_client>(zk);
    asio::signal_set stop{context, SIGINT, SIGTERM};
    stop.async_wait([&](auto...) { zk.async_close([](colock::error_code) {}); });
    try {
        prometheus::Exposer exposer{"127.0.0.1:" + port};
        exposer.RegisterCollectable(client);
        exposer.RegisterCollectable(paths);
        std::cout << "metrics at port " << exposer.GetListeningPorts().front() << std::endl;
        for (int i = 0; i != 4; ++i) {
            asio::co_spawn(context, work(zk), rethrow);
        }
        context.run();
    } catch (const std::exception& e) {
        std::cerr << e.what() << "\n  " << zk.last_error_detail() << '\n';
        return 1;
    }
}
