#ifndef COLOCK_TEST_SUPPORT_RUN_HPP
#define COLOCK_TEST_SUPPORT_RUN_HPP

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace colock::test {

namespace asio = boost::asio;

/// `auto [ec, value] = co_await zk.async_get(path, no_throw);`
inline constexpr auto no_throw = asio::as_tuple(asio::deferred);

/// What no wait in a test exceeds on any machine, however slow.
inline constexpr std::chrono::milliseconds long_enough = std::chrono::seconds(60);

/// How often a scenario is repeated: `full` times, fewer when COLOCK_TEST_REPEAT says so.
inline int repetitions(int full)
{
    auto const* const limit = std::getenv("COLOCK_TEST_REPEAT");
    auto const wanted = limit != nullptr ? std::atoi(limit) : full;
    return wanted > 0 && wanted < full ? wanted : full;
}

/// Runs the context until `done()` holds. Throws when it has not after `limit`, or when the context runs
/// out of work before.
template <class Condition>
void run_until(asio::io_context& context, Condition&& done,
               std::chrono::milliseconds limit = long_enough)
{
    auto const deadline = std::chrono::steady_clock::now() + limit;
    context.restart();
    while (!done()) {
        if (context.run_one_until(deadline) == 0) {
            throw std::runtime_error(
                context.stopped()
                    ? "the context has run out of work, but what is waited for has not come"
                    : "not there after " + std::to_string(limit.count()) + " ms");
        }
    }
}

/// Runs a coroutine to its end on the context, in this thread; returns its result, or throws its
/// exception. What else there is to do on the context stays there, for the next call.
template <class T>
T run(asio::io_context& context, asio::awaitable<T> body,
      std::chrono::milliseconds limit = long_enough)
{
    bool done = false;
    std::exception_ptr thrown;
    if constexpr (std::is_void_v<T>) {
        asio::co_spawn(context, std::move(body), [&](std::exception_ptr e) {
            thrown = e;
            done = true;
        });
        run_until(
            context, [&] { return done; }, limit);
        if (thrown)
            std::rethrow_exception(thrown);
    } else {
        std::optional<T> result;
        asio::co_spawn(context, std::move(body), [&](std::exception_ptr e, T value) {
            thrown = e;
            result.emplace(std::move(value));
            done = true;
        });
        run_until(
            context, [&] { return done; }, limit);
        if (thrown)
            std::rethrow_exception(thrown);
        return std::move(*result);
    }
}

/// Runs the context until there is nothing left to do. False when that is not so after `limit`:
/// something still holds work.
inline bool run_to_the_end(asio::io_context& context, std::chrono::milliseconds limit = long_enough)
{
    context.restart();
    context.run_for(limit);
    return context.stopped();
}

/// Lets the executor go on for a while: for polling, not for synchronisation.
inline asio::awaitable<void> pause(std::chrono::milliseconds duration)
{
    asio::steady_timer timer{co_await asio::this_coro::executor, duration};
    co_await timer.async_wait(asio::deferred);
}

/// `wait_until` for coroutines: polls a condition while the executor goes on.
template <class Condition>
asio::awaitable<bool> eventually(Condition condition, std::chrono::milliseconds limit = long_enough)
{
    auto const deadline = std::chrono::steady_clock::now() + limit;
    for (auto rest = std::chrono::milliseconds(1);;) {
        bool const last = std::chrono::steady_clock::now() >= deadline;
        if (condition())
            co_return true;
        if (last)
            co_return false;
        co_await pause(rest);
        if (rest < std::chrono::milliseconds(10))
            ++rest;
    }
}

} // namespace colock::test

#endif
