#include "run/holding.hpp"

#include "connect/awaiting.hpp"

#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>

namespace colock::cli {

namespace asio = boost::asio;

namespace {

// Until a client asks for it; for ever when that cannot be heard of.
asio::awaitable<void> revoked(const held_lock& lock)
{
    const auto [ec] = co_await lock.async_wait_revoked(no_throw);
    if (ec) {
        co_await wait_for_ever();
    }
}

} // namespace

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
    if (const auto* const all = std::get_if<multi_guard>(&held_)) {
        return all->remaining();
    }
    const auto* const held = lock();
    return held ? held->remaining() : std::get<permit>(held_).remaining();
}

error_code holding::loss_reason() const noexcept
{
    if (const auto* const all = std::get_if<multi_guard>(&held_)) {
        return all->loss_reason();
    }
    const auto* const held = lock();
    return held ? held->loss_reason() : std::get<permit>(held_).loss_reason();
}

std::string holding::node() const
{
    const auto all = nodes();
    return all.empty() ? "" : all.front();
}

std::string holding::token() const
{
    const auto all = tokens();
    return all.empty() ? "" : all.front();
}

std::vector<std::string> holding::nodes() const
{
    std::vector<std::string> each;
    if (const auto* const all = std::get_if<multi_guard>(&held_)) {
        for (std::size_t i = 0; i != all->size(); ++i) {
            each.push_back((*all)[i].node());
        }
    } else if (const auto* const held = lock()) {
        each.push_back(held->node());
    } else {
        each = std::get<permit>(held_).nodes();
        each.resize(std::min<std::size_t>(each.size(), 1));
    }
    return each;
}

std::vector<std::string> holding::tokens() const
{
    std::vector<std::string> each;
    if (const auto* const all = std::get_if<multi_guard>(&held_)) {
        for (std::size_t i = 0; i != all->size(); ++i) {
            each.push_back(to_string(all->token(i)));
        }
    } else if (const auto* const held = lock()) {
        each.push_back(to_string(held->token()));
    }
    return each;
}

std::vector<transaction_op> holding::guarded(transaction_op step) const
{
    return std::get<held_lock>(held_).guarded(std::move(step));
}

asio::awaitable<error_code> holding::wait_lost() const
{
    if (const auto* const all = std::get_if<multi_guard>(&held_)) {
        co_return co_await all->async_wait_lost(asio::use_awaitable);
    }
    if (const auto* const held = lock()) {
        co_return co_await held->async_wait_lost(asio::use_awaitable);
    }
    co_return co_await std::get<permit>(held_).async_wait_lost(asio::use_awaitable);
}

asio::awaitable<void> holding::wait_revoked(std::size_t from) const
{
    const auto* one = std::get_if<held_lock>(&held_);
    if (const auto* const all = std::get_if<multi_guard>(&held_)) {
        if (from + 1 < all->size()) {
            co_await first_of(revoked((*all)[from]), wait_revoked(from + 1));
            co_return;
        }
        one = &(*all)[from];
    }
    if (one) {
        co_await revoked(*one);
    } else {
        co_await wait_for_ever();
    }
}

asio::awaitable<error_code> holding::release()
{
    if (auto* const all = std::get_if<multi_guard>(&held_)) {
        const auto [ec] = co_await all->async_unlock(no_throw);
        co_return ec;
    }
    if (auto* const lock = std::get_if<held_lock>(&held_)) {
        const auto [ec] = co_await lock->async_unlock(no_throw);
        co_return ec;
    }
    const auto [ec] = co_await std::get<permit>(held_).async_release(no_throw);
    co_return ec;
}

} // namespace colock::cli
