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

asio::awaitable<void> pause_until(std::chrono::steady_clock::time_point when)
{
    asio::steady_timer timer{co_await asio::this_coro::executor, when};
    co_await timer.async_wait(asio::use_awaitable);
}

asio::awaitable<void> wait_for_ever()
{
    return pause_until(std::chrono::steady_clock::time_point::max());
}

} // namespace colock::cli
