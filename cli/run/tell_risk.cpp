#include "run/tell_risk.hpp"

#include <boost/asio/use_awaitable.hpp>

namespace colock::cli {

boost::asio::awaitable<void> tell_risk(client& zk, events& say, const time_left& remaining)
{
    auto seen = zk.state();
    for (bool is_told = false;;) {
        seen = co_await zk.async_wait_state_change(seen, boost::asio::use_awaitable);
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
    }
}

} // namespace colock::cli
