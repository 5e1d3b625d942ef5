// Completion tokens that are no handlers, at every operation.
#include COLOCK_TEST_OPERATIONS // a table: operations.hpp, or family_operations.hpp

#include <boost/asio/append.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/consign.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <future>
#include <memory>
#include <tuple>
#include <utility>

using namespace colock;
using namespace colock::test;

BOOST_AUTO_TEST_SUITE(tokens_coroutines)

BOOST_AUTO_TEST_CASE(deferred)
{
    operations_scene s;
    for_each_operation(s, [&](auto start) {
        run(s.io, [&]() -> asio::awaitable<void> {
            auto operation = start(asio::deferred);
            static_cast<void>(co_await std::move(operation));
        }());
    });
}

BOOST_AUTO_TEST_CASE(use_awaitable)
{
    operations_scene s;
    for_each_operation(s, [&](auto start) {
        run(s.io, [&]() -> asio::awaitable<void> {
            static_cast<void>(co_await start(asio::use_awaitable));
        }());
    });
}

BOOST_AUTO_TEST_CASE(as_tuple)
{
    operations_scene s;
    for_each_operation(s, [&](auto start) {
        run(s.io, [&]() -> asio::awaitable<void> {
            const auto results = co_await start(asio::as_tuple(asio::deferred));
            BOOST_TEST(!std::get<0>(results)); // an error_code or an exception_ptr
        }());
    });
}

BOOST_AUTO_TEST_CASE(redirect_error)
{
    operations_scene s;
    for_each_operation(s, [&](auto start) {
        error_code ec = asio::error::eof;
        bool done = false;
        start(asio::redirect_error(
            [&, only_moved = std::make_unique<int>(1)](auto&&...) { done = *only_moved == 1; },
            ec));
        BOOST_TEST(s.until([&] { return done; }));
    });
}

// What a token carries along lives until the handler has run, and no longer.
BOOST_AUTO_TEST_CASE(consign)
{
    operations_scene s;
    for_each_operation(s, [&](auto start) {
        auto carried = std::make_shared<int>(1);
        bool done = false;
        start(asio::consign(
            [&, alive = std::weak_ptr{carried}](auto&&...) { done = !alive.expired(); }, carried));
        BOOST_TEST(carried.use_count() == 2);
        BOOST_TEST(s.until([&] { return done && carried.use_count() == 1; }));
    });
}

BOOST_AUTO_TEST_CASE(append)
{
    operations_scene s;
    for_each_operation(s, [&](auto start) {
        int more = 0;
        start(asio::append(
            [&](auto&&... results) {
                more = std::get<sizeof...(results) - 1>(std::tie(results...));
            },
            7));
        BOOST_TEST(s.until([&] { return more == 7; }));
    });
}

BOOST_AUTO_TEST_CASE(use_future)
{
    operations_scene s;
    for_each_operation(s, [&](auto start) {
        auto future = start(asio::use_future);
        BOOST_TEST(s.until([&] { return future.wait_for(0s) == std::future_status::ready; }));
        static_cast<void>(future.get());
    });
}

// The consigned object tells when the operation has completed.
BOOST_AUTO_TEST_CASE(detached)
{
    operations_scene s;
    for_each_operation(s, [&](auto start) {
        const auto carried = std::make_shared<int>(1);
        start(asio::consign(asio::detached, carried));
        BOOST_TEST(s.until([&] { return carried.use_count() == 1; }));
    });
}

BOOST_AUTO_TEST_CASE(yield_context)
{
    operations_scene s;
    for_each_operation(s, [&](auto start) {
        bool done = false;
        asio::spawn(
            s.io,
            [&](asio::yield_context yield) {
                const auto results = start(asio::as_tuple(yield));
                BOOST_TEST(!std::get<0>(results));
                done = true;
            },
            [](std::exception_ptr e) { BOOST_TEST(!e); });
        BOOST_TEST(s.until([&] { return done; }));
    });
}

BOOST_AUTO_TEST_SUITE_END()
