#include "connect/awaiting.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

namespace colock::cli {

namespace asio = boost::asio;

asio::awaitable<void> pause(std::chrono::nanoseconds time)
{
    asio::steady_timer timer{co_await asio::this_coro::executor,
                             std::chrono::duration_cast<asio::steady_timer::duration>(time)};
    co_await timer.async_wait(asio::use_awaitable);
}

asio::awaitable<void> wait_for_ever()
{
    asio::steady_timer never{co_await asio::this_coro::executor,
                             asio::steady_timer::time_point::max()};
    co_await never.async_wait(asio::use_awaitable);
}

} // namespace colock::cli
