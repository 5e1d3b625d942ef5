#include "connect/run_client.hpp"

#include <colock/diagnostics.hpp>

#include "program/failure.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <csignal>
#include <exception>
#include <optional>

namespace colock::cli {

namespace {

namespace asio = boost::asio;

asio::awaitable<int> connected(client& zk, std::function<asio::awaitable<int>(client&)>& body)
{
    diagnostics why;
    const auto [ec] =
        co_await zk.async_connect(bind_diagnostics(why, asio::as_tuple(asio::use_awaitable)));
    if (ec) {
        throw ec == asio::error::operation_aborted ? failure{usage, "interrupted"}
                                                   : failure_of(ec, why.message());
    }
    co_return co_await body(zk);
}

} // namespace

int run_client(const client_options& options, std::function<asio::awaitable<int>(client& zk)> body)
{
    asio::io_context context{1};
    client zk{context, options};
    asio::cancellation_signal stop;
    std::optional<int> signal;
    std::exception_ptr failed;
    int status = 0;

    asio::signal_set signals{context, SIGINT, SIGTERM, SIGHUP};
    signals.async_wait([&](const error_code& ec, int number) {
        if (!ec) {
            signal = number;
            stop.emit(asio::cancellation_type::terminal);
        }
    });
    asio::co_spawn(context, connected(zk, body),
                   asio::bind_cancellation_slot(stop.slot(), [&](std::exception_ptr e, int result) {
                       failed = e;
                       status = result;
                       signals.cancel();
                       zk.async_close([](const error_code&) {}); // ends by its time-out
                   }));
    context.run();
    if (signal) {
        return signalled + *signal;
    }
    if (failed) {
        std::rethrow_exception(failed);
    }
    return status;
}

} // namespace colock::cli
