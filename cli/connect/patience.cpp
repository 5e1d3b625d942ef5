#include "connect/patience.hpp"

#include "connect/awaiting.hpp"
#include "program/failure.hpp"

#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>
#include <variant>

namespace colock::cli {

namespace asio = boost::asio;

asio::awaitable<void> until_lost(client& zk, std::chrono::milliseconds limit)
{
    for (;;) {
        const auto seen = zk.state();
        if (seen == connection_state::connected) {
            co_await zk.async_wait_state_change(seen, asio::use_awaitable);
            continue;
        }
        const auto first =
            co_await first_of(zk.async_wait_state_change(seen, asio::use_awaitable), pause(limit));
        if (first.index() == 1) {
            co_return;
        }
    }
}

asio::awaitable<int> while_connected(client& zk, const client_options& options,
                                     asio::awaitable<int> body)
{
    const auto limit = std::min(options.connect_timeout, options.session_timeout);
    const auto first = co_await first_of(std::move(body), until_lost(zk, limit));
    if (first.index() == 1) {
        throw failure_of(errc::disconnected, zk.last_error_detail());
    }
    co_return std::get<0>(first);
}

} // namespace colock::cli
