// Completion tokens that Boost 1.81 does not have, for Boost 1.88.
#include "operations.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/co_composed.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <functional>
#include <future>
#include <tuple>
#include <utility>

namespace colock::test::tokens_of_later_boost_test {

BOOST_AUTO_TEST_SUITE(tokens_of_later_boost)

BOOST_AUTO_TEST_CASE(each_operation_that_ends_in_time)
{
    operations_scene s;
    for_each_operation(s, [&](auto start) {
        unsigned calls = 0;
        start(asio::cancel_after(1min, [&](auto&&...) { ++calls; }));
        BOOST_TEST(s.until([&] { return calls == 1; }));
    });
    s.check_nothing_left();
}

// G3
BOOST_AUTO_TEST_CASE(a_waiter_that_is_cancelled_leaves_no_node)
{
    operations_scene s;
    auto held = s.hold(s.zk);
    run(s.io, [&]() -> asio::awaitable<void> {
        for (const auto type :
             {asio::cancellation_type::terminal, asio::cancellation_type::total}) {
            const auto [ec, none] = co_await s.lock.async_lock(
                asio::as_tuple(asio::cancel_after(20ms, type, asio::deferred)));
            BOOST_TEST(ec == asio::error::operation_aborted);
            BOOST_TEST(!none);
        }
        BOOST_CHECK_THROW(co_await s.lock.async_with_lock(
                              [](const unique_lock&) -> asio::awaitable<void> { co_return; },
                              asio::cancel_after(20ms, asio::use_awaitable)),
                          boost::system::system_error);
    }());
    BOOST_TEST(s.until([&] { return s.queue().size() == 1U; }));
    held = {};
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_future_of_a_tuple)
{
    operations_scene s;
    auto future = s.zk.async_get(s.directory + "-none", asio::as_tuple(asio::use_future));
    BOOST_TEST(s.until([&] { return future.wait_for(0s) == std::future_status::ready; }));
    BOOST_TEST(std::get<0>(future.get()) == zookeeper_errc::no_node);
}

// An operation of one's own, without a coroutine's frame of `awaitable`.
template <class Token>
auto async_count(mutex& lock, Token&& token)
{
    return asio::async_initiate<Token, void(error_code, unsigned)>(
        asio::co_composed<void(error_code, unsigned)>(
            [](auto state, mutex& counted) -> void {
                state.throw_if_cancelled(false);
                unsigned grants = 0;
                for (; grants < 3; ++grants) {
                    auto [ec, held] = co_await counted.async_lock(asio::as_tuple(asio::deferred));
                    if (ec) {
                        co_return {ec, grants};
                    }
                }
                co_return {error_code{}, grants};
            },
            lock.get_executor()),
        token, std::ref(lock));
}

BOOST_AUTO_TEST_CASE(composed_of_coroutines)
{
    operations_scene s;
    outcome<unsigned> counted;
    async_count(s.lock, counted.handler());
    BOOST_TEST(value_of(s.io, counted) == 3U);
    s.check_nothing_left();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::tokens_of_later_boost_test
