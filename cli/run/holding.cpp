#include "run/holding.hpp"

#include "connect/awaiting.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace colock::cli {

namespace asio = boost::asio;

holding::operator bool() const noexcept
{
    return loss_reason() != errc::not_held;
}

const held_lock* holding::lock() const noexcept
{
    const auto* const other = std::get_if<const held_lock*>(&held_);
    return other ? *other : std::get_if<held_lock>(&held_);
}

std::chrono::steady_clock::duration holding::remaining() const noexcept
{
    const auto* const held = lock();
    return held ? held->remaining() : std::get<permit>(held_).remaining();
}

error_code holding::loss_reason() const noexcept
{
    const auto* const held = lock();
    return held ? held->loss_reason() : std::get<permit>(held_).loss_reason();
}

std::string holding::node() const
{
    if (const auto* const held = lock()) {
        return held->node();
    }
    const auto& nodes = std::get<permit>(held_).nodes();
    return nodes.empty() ? "" : nodes.front();
}

std::string holding::token() const
{
    const auto* const held = lock();
    return held ? to_string(held->token()) : "";
}

std::vector<transaction_op> holding::guarded(transaction_op step) const
{
    return std::get<held_lock>(held_).guarded(std::move(step));
}

asio::awaitable<error_code> holding::wait_lost() const
{
    if (const auto* const held = lock()) {
        co_return co_await held->async_wait_lost(asio::use_awaitable);
    }
    co_return co_await std::get<permit>(held_).async_wait_lost(asio::use_awaitable);
}

asio::awaitable<void> holding::wait_revoked() const
{
    if (const auto* const lock = std::get_if<held_lock>(&held_)) {
        const auto [ec] = co_await lock->async_wait_revoked(no_throw);
        if (!ec) {
            co_return;
        }
    }
    co_await wait_for_ever();
}

asio::awaitable<error_code> holding::release()
{
    if (auto* const lock = std::get_if<held_lock>(&held_)) {
        const auto [ec] = co_await lock->async_unlock(no_throw);
        co_return ec;
    }
    const auto [ec] = co_await std::get<permit>(held_).async_release(no_throw);
    co_return ec;
}

} // namespace colock::cli
