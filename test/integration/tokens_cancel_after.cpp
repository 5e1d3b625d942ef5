// asio::cancel_after with the operations of a lock, for Boost 1.88.
#include "operations.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <utility>

using namespace colock;
using namespace colock::test;

BOOST_AUTO_TEST_SUITE(tokens_cancel_after)

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

BOOST_AUTO_TEST_SUITE_END()
