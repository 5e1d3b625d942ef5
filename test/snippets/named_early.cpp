// The likeliest mistakes of users, one a compilation: MISTAKE is its number. named_early.cmake compiles them.
#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace asio = boost::asio;

struct without_default {
    explicit without_default(int) {}
};

asio::awaitable<void> run(colock::client& zk, colock::mutex& m)
{
    [[maybe_unused]] const auto body = [](const colock::unique_lock&) -> asio::awaitable<void> {
        co_return;
    };
#if MISTAKE == 1
    co_await m.async_with_lock(asio::use_awaitable, body);
#elif MISTAKE == 2
    co_await m.async_try_with_lock_for(body);
#elif MISTAKE == 3
    co_await m.async_with_lock([](colock::unique_lock) -> asio::awaitable<void> { co_return; });
#elif MISTAKE == 4
    co_await colock::async_view_queue(zk, "/path");
#elif MISTAKE == 5
    co_await colock::multi_lock{m, "/path"}.async_lock();
#elif MISTAKE == 6
    co_await colock::mutex(zk, "/path", colock::election_options{}).async_lock();
#elif MISTAKE == 7
    co_await m.async_with_lock([](const colock::unique_lock&) {});
#elif MISTAKE == 8
    co_await m.async_with_lock([](const colock::unique_lock&) -> asio::awaitable<without_default> {
        co_return without_default{1};
    });
#elif MISTAKE == 9
    m.async_lock(42);
#elif MISTAKE == 10
    co_await m.async_with_lock([](const colock::unique_lock& held) -> asio::awaitable<void> {
        co_await held.async_unlock();
    });
#elif MISTAKE == 11
    colock::semaphore pool{zk, "/path", 2};
    co_await pool.async_with_permits(1, [](const colock::permit& held) -> asio::awaitable<void> {
        co_await held.async_release(asio::use_awaitable);
    });
#endif
}
