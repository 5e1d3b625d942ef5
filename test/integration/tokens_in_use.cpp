// Completion tokens as programs use them: errors, results, threads, handlers whose type is erased.
#include <support/sender.hpp>

#include "operations.hpp"

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/append.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/consign.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/experimental/promise.hpp>
#include <boost/asio/experimental/use_promise.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

namespace colock::test::tokens_in_use_test {

BOOST_AUTO_TEST_SUITE(tokens_in_use)

// The address sanitizer cannot follow an exception through a stack of ours: none is thrown here.
BOOST_AUTO_TEST_CASE(yield_context_with_errors_beside)
{
    operations_scene s;
    bool done = false;
    asio::spawn(
        s.io,
        [&](asio::yield_context yield) {
            BOOST_TEST(s.zk.async_get(s.node, yield).data.empty());
            auto held = s.lock.async_lock(yield);
            BOOST_TEST(static_cast<bool>(held));
            held.async_unlock(yield);
            error_code ec;
            held.async_unlock(yield[ec]);
            BOOST_TEST(ec == errc::not_held);
            done = true;
        },
        [](std::exception_ptr e) { BOOST_TEST(!e); });
    BOOST_TEST(s.until([&] { return done; }));
    s.check_nothing_left();
}

// With Asio 1.81, an exception_ptr that is null crashes a program that passes a yield_context.
BOOST_AUTO_TEST_CASE(yield_context_for_bodies)
{
    operations_scene s;
    bool done = false;
    asio::spawn(
        s.io,
        [&](asio::yield_context yield) {
            s.lock.async_with_lock(
                [&](const unique_lock& held) { return s.zk.async_set(s.node, held.path()); },
                yield);
            BOOST_TEST(s.zk.async_get(s.node, yield).data == s.lock.path());
            const std::string path = s.lock.async_with_lock(
                [](const unique_lock& held) -> asio::awaitable<std::string> {
                    co_return held.path();
                },
                yield);
            BOOST_TEST(path == s.lock.path());
            const bool tried = s.lock.async_try_with_lock(
                [](const unique_lock&) -> asio::awaitable<void> { co_return; }, yield);
            BOOST_TEST(tried);
            diagnostics why;
            s.lock.async_with_lock([](const unique_lock&) -> asio::awaitable<void> { co_return; },
                                   bind_diagnostics(why, yield));
            BOOST_TEST(why.message().empty());
            const auto nothing = [](const unique_lock&) -> asio::awaitable<void> { co_return; };
            error_code ec;
            s.lock.async_with_lock(nothing, asio::redirect_error(yield, ec));
            s.lock.async_with_lock(nothing, asio::bind_allocator(std::allocator<void>{}, yield));
            s.lock.async_with_lock(nothing, asio::consign(asio::yield_context{yield}, 1));
            BOOST_TEST(
                s.lock.async_with_lock(nothing, asio::append(asio::yield_context{yield}, 7)) == 7);
            const auto [fault, first] = s.lock.async_try_with_lock(nothing, asio::as_tuple(yield));
            BOOST_TEST((!fault && first));
#ifndef __SANITIZE_ADDRESS__ // GCC's, which cannot follow an exception through a stack of ours
            const auto fail = [](const unique_lock&) -> asio::awaitable<void> {
                throw std::runtime_error{"the body"};
                co_return;
            };
            BOOST_CHECK_THROW(s.lock.async_with_lock(fail, yield), std::runtime_error);
#endif
            done = true;
        },
        [](std::exception_ptr e) { BOOST_TEST(!e); });
    BOOST_TEST(s.until([&] { return done; }));
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(type_erased_handlers)
{
    operations_scene s;
    client idle{s.io, {.hosts = s.server.connect_string()}};
    unsigned calls = 0;
    idle.async_connect(asio::any_completion_handler<void(error_code)>{[&](error_code ec) {
        BOOST_TEST(ec == error_code{});
        ++calls;
    }});
    unique_lock held;
    s.lock.async_lock(asio::any_completion_handler<void(error_code, unique_lock)>{
        asio::bind_executor(s.io, [&](error_code ec, unique_lock l) {
            BOOST_TEST(ec == error_code{});
            held = std::move(l);
            ++calls;
        })});
    BOOST_TEST(s.until([&] { return calls == 2; }));
    held.async_unlock(asio::any_completion_handler<void(error_code)>{[&](error_code) { ++calls; }});
    BOOST_TEST(s.until([&] { return calls == 3; }));
    // Dropped without being called.
    held = s.hold(s.zk);
    s.lock.async_lock(asio::any_completion_handler<void(error_code, unique_lock)>{
        [&](error_code, unique_lock) { ++calls; }});
    s.lock.async_lock(asio::detached);
    go_on(s.io, 5ms);
    held = {};
    BOOST_TEST(s.until([&] { return calls == 4; }));
    s.check_nothing_left();
}

// The default token: nothing happens before it is awaited.
BOOST_AUTO_TEST_CASE(deferred_is_the_default)
{
    operations_scene s;
    run(s.io, [&]() -> asio::awaitable<void> {
        auto got = co_await s.zk.async_get(s.node);
        BOOST_TEST(got.stat.version == 0);
        auto later = s.lock.async_lock();
        co_await pause(5ms);
        BOOST_TEST(s.queue().empty());
        unique_lock held = co_await std::move(later);
        BOOST_TEST(s.queue().size() == 1U);
        // An unlock that is never started still releases.
        static_cast<void>(held.async_unlock());
        BOOST_TEST(!held);
        co_return;
    }());
    s.check_nothing_left();
    BOOST_CHECK_EXCEPTION(
        run(s.io, [&]() -> asio::awaitable<void> { co_await s.zk.async_get(s.node + "/none"); }()),
        boost::system::system_error,
        [](const auto& e) { return e.code() == zookeeper_errc::no_node; });
}

BOOST_AUTO_TEST_CASE(futures_from_another_thread)
{
    operations_scene s;
    auto work = asio::make_work_guard(s.io);
    std::thread runner{[&] { s.io.run(); }};
    BOOST_TEST(s.zk.async_get(s.node, asio::use_future).get().data.empty());
    auto held = s.lock.async_lock(asio::use_future).get();
    BOOST_TEST(static_cast<bool>(held));
    BOOST_TEST(!s.lock.async_try_lock(asio::use_future).get());
    held.async_unlock(asio::use_future).get();
    BOOST_CHECK_THROW(held.async_unlock(asio::use_future).get(), boost::system::system_error);
    s.io.stop();
    runner.join();
    work.reset();
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(redirect_error)
{
    operations_scene s;
    run(s.io, [&]() -> asio::awaitable<void> {
        error_code ec;
        static_cast<void>(
            co_await s.zk.async_get("/none", asio::redirect_error(asio::use_awaitable, ec)));
        BOOST_TEST(ec == zookeeper_errc::no_node);
    }());
}

// As std::execution has it: the timer stops the acquisition, which leaves no node (G3), or the grant stops the timer.
BOOST_AUTO_TEST_CASE(a_sender_and_a_timer)
{
    operations_scene s;
    const auto until = [&](const auto& condition) { BOOST_TEST(s.until(condition)); };
    asio::steady_timer timer{s.io, 1min};
    auto [granted, no_timer] =
        when_any(until, s.lock.async_lock(use_sender), timer.async_wait(use_sender));
    BOOST_TEST(no_timer.stopped);
    BOOST_REQUIRE(granted.values.has_value());
    auto& held = std::get<0>(*granted.values);
    BOOST_TEST(static_cast<bool>(held));

    client& other = s.connect();
    mutex same{other, s.directory, s.with_nodes()};
    timer.expires_after(50ms);
    const auto [none, waited] =
        when_any(until, same.async_lock(use_sender), timer.async_wait(use_sender));
    BOOST_TEST(none.stopped);
    BOOST_TEST(waited.values.has_value());
    BOOST_TEST(s.until([&] { return s.queue().size() == 1U; }));

    held = {};
    const auto error = sync_wait(until, s.zk.async_get(s.directory + "-none", use_sender)).error;
    BOOST_CHECK_THROW(std::rethrow_exception(error), boost::system::system_error);
    s.check_nothing_left();
}

// Of an operation that returns no guard: Asio's promise moves a result that comes after the `co_await` to itself first.
BOOST_AUTO_TEST_CASE(promises)
{
    operations_scene s;
    auto held = s.hold(s.zk);
    run(s.io, [&]() -> asio::awaitable<void> {
        auto lost = held.async_wait_lost(asio::experimental::use_promise);
        auto node = s.zk.async_exists(s.node, asio::experimental::use_promise);
        s.admin.remove(held.node());
        BOOST_TEST(co_await std::move(lost)(asio::use_awaitable) == errc::node_deleted);
        static_cast<void>(co_await std::move(node)(asio::use_awaitable));
    }());
    s.check_nothing_left();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::tokens_in_use_test
