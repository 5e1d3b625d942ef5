#include "run/tell_risk.hpp"

#include "connect/awaiting.hpp"

#include <boost/asio/use_awaitable.hpp>

#include <chrono>

namespace colock::cli {

boost::asio::awaitable<void> tell_risk(client& zk, events& say, const time_left& remaining)
{
    auto seen = zk.state();
    for (bool is_told = false;;) {
        const auto left = remaining();
        if (seen == connection_state::suspended && left) {
            is_told = true;
            say.at_risk(*left);
        } else if (seen == connection_state::connected && is_told) {
            is_told = false;
            if (left) {
                say.safe_again(*left);
            }
        }
        seen = co_await zk.async_wait_state_change(seen, boost::asio::use_awaitable);
    }
}

boost::asio::awaitable<void> tell_outages(client& zk, events& say)
{
    using namespace std::chrono_literals;
    for (;;) {
        auto seen = zk.state();
        if (seen != connection_state::suspended) {
            co_await zk.async_wait_state_change(seen, boost::asio::use_awaitable);
            continue;
        }
        const auto since = std::chrono::steady_clock::now();
        say.waits_in_outage(0s);
        while (seen != connection_state::connected) {
            co_await first_of(zk.async_wait_state_change(seen, boost::asio::use_awaitable),
                              pause(1s));
            seen = zk.state();
            if (seen != connection_state::connected) {
                say.waits_in_outage(std::chrono::steady_clock::now() - since);
            }
        }
        say.outage_ended();
    }
}

} // namespace colock::cli
