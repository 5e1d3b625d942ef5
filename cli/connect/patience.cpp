#include "connect/patience.hpp"

#include "connect/awaiting.hpp"
#include "program/failure.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>

namespace colock::cli {

namespace {

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;

struct ending {
    int status = 0;
    std::exception_ptr failed;
};

// "||" would wait for the other one when a body throws.
asio::awaitable<ending> to_the_end(asio::awaitable<int> body)
{
    ending e;
    try {
        e.status = co_await std::move(body);
    } catch (...) {
        e.failed = std::current_exception();
    }
    co_return e;
}

asio::awaitable<void> until_lost(client& zk, std::chrono::milliseconds limit)
{
    for (;;) {
        const auto seen = zk.state();
        if (seen == connection_state::connected) {
            co_await zk.async_wait_state_change(seen, asio::use_awaitable);
            continue;
        }
        const auto first =
            co_await (zk.async_wait_state_change(seen, asio::use_awaitable) || pause(limit));
        if (first.index() == 1) {
            co_return;
        }
    }
}

} // namespace

asio::awaitable<int> while_connected(client& zk, const client_options& options,
                                     asio::awaitable<int> body)
{
    const auto limit = std::min(options.connect_timeout, options.session_timeout);
    auto first = co_await (to_the_end(std::move(body)) || until_lost(zk, limit));
    if (first.index() == 1) {
        throw failure_of(errc::disconnected, zk.last_error_detail());
    }
    auto& end = std::get<0>(first);
    if (end.failed) {
        std::rethrow_exception(end.failed);
    }
    co_return end.status;
}

} // namespace colock::cli
