// Completion tokens that are no handlers, at every operation.
#include COLOCK_TEST_OPERATIONS // a table: operations.hpp, or family_operations.hpp

#include <support/sender.hpp>

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

#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <tuple>
#include <utility>

namespace colock::test::tokens_coroutines_test {

// Handlers are made outside of the loops over the operations: see tokens.cpp.
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
    bool done = false;
    const auto handler = [&](std::unique_ptr<int> only_moved) {
        return [&, only_moved = std::move(only_moved)](auto&&...) { done = *only_moved == 1; };
    };
    const auto is_done = [&] { return done; };
    for_each_operation(s, [&](auto start) {
        error_code ec = asio::error::eof;
        done = false;
        start(asio::redirect_error(handler(std::make_unique<int>(1)), ec));
        BOOST_TEST(s.until(is_done));
    });
}

// What a token carries along lives until the handler has run, and no longer.
BOOST_AUTO_TEST_CASE(consign)
{
    operations_scene s;
    std::shared_ptr<int> carried;
    bool done = false;
    const auto handler = [&](auto&&...) { done = carried.use_count() == 2; };
    const auto is_done = [&] { return done && carried.use_count() == 1; };
    for_each_operation(s, [&](auto start) {
        carried = std::make_shared<int>(1);
        done = false;
        start(asio::consign(handler, carried));
        BOOST_TEST(carried.use_count() == 2);
        BOOST_TEST(s.until(is_done));
    });
}

BOOST_AUTO_TEST_CASE(append)
{
    operations_scene s;
    int more = 0;
    const auto handler = [&](auto&&... results) {
        more = std::get<sizeof...(results) - 1>(std::tie(results...));
    };
    const auto is_done = [&] { return more == 7; };
    for_each_operation(s, [&](auto start) {
        more = 0;
        start(asio::append(handler, 7));
        BOOST_TEST(s.until(is_done));
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

BOOST_AUTO_TEST_CASE(senders)
{
    operations_scene s;
    const auto until = [&](const auto& condition) { BOOST_TEST(s.until(condition)); };
    for_each_operation(s, [&](auto start) {
        const auto result = sync_wait(until, start(use_sender));
        BOOST_TEST(result.values.has_value());
    });
}

// The consigned object tells when the operation has completed.
BOOST_AUTO_TEST_CASE(detached)
{
    operations_scene s;
    std::shared_ptr<int> carried;
    const auto is_done = [&] { return carried.use_count() == 1; };
    for_each_operation(s, [&](auto start) {
        carried = std::make_shared<int>(1);
        start(asio::consign(asio::detached, carried));
        BOOST_TEST(s.until(is_done));
    });
}

BOOST_AUTO_TEST_CASE(yield_context)
{
    operations_scene s;
    bool done = false;
    const auto is_done = [&] { return done; };
    const auto no_exception = [](std::exception_ptr e) { BOOST_TEST(!e); };
    for_each_operation(s, [&](auto start) {
        done = false;
        // One type of coroutine for all operations.
        const std::function<void(asio::yield_context)> coroutine = [&](asio::yield_context yield) {
            const auto results = start(asio::as_tuple(yield));
            BOOST_TEST(!std::get<0>(results));
            done = true;
        };
        asio::spawn(s.io, coroutine, no_exception);
        BOOST_TEST(s.until(is_done));
    });
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::tokens_coroutines_test
