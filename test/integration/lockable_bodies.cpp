// What every kind of lock promises of its bodies, told once for all of them.
#include "lockable_kinds.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace colock::test::lockable_bodies_test {

namespace {

// What an operation with a body has come to: told without an error when it gave something.
template <class Value>
auto report_to(outcome<Value>& o)
{
    return [report = o.handler()](std::exception_ptr e, Value value) mutable {
        error_code ec;
        try {
            if (e) {
                std::rethrow_exception(e);
            }
        } catch (const boost::system::system_error& error) {
            ec = error.code();
        }
        report(ec, std::move(value));
    };
}

struct without_default { // and cannot be assigned
    explicit without_default(int v) : value{v} {}
    const int value;
};

// One type for the other bodies that give the same: each type takes a third of a second to compile, for each kind.
template <class Kind, class T>
using body = std::function<asio::awaitable<T>(const typename Kind::guard&)>;

} // namespace

BOOST_AUTO_TEST_SUITE(lockable_bodies)

BOOST_AUTO_TEST_CASE_TEMPLATE(a_body_runs_under_the_lock, Kind, kinds)
{
    kind_scene<Kind> s;
    outcome<int> result;
    Kind{s.connect(), s.directory}.with_lock(
        [&, only_moved = std::make_unique<int>(42)](const typename Kind::guard& held)
            -> asio::awaitable<int> { co_return bool(held) && s.nodes() != 0U ? *only_moved : 0; },
        report_to(result));
    BOOST_TEST(value_of(s.io, result) == 42);
    s.check_free();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_body_of_a_try_runs_when_the_lock_is_free, Kind, kinds)
{
    kind_scene<Kind> s;
    Kind kind{s.connect(), s.directory};
    const body<Kind, without_default> answers =
        [](const auto& held) -> asio::awaitable<without_default> {
        co_return without_default{held ? 42 : 0};
    };
    const body<Kind, void> gives_nothing = [](const auto&) -> asio::awaitable<void> { co_return; };
    outcome<std::optional<without_default>> at_once;
    kind.try_with_lock(answers, report_to(at_once));
    const auto& given = value_of(s.io, at_once);
    BOOST_REQUIRE(given.has_value());
    BOOST_TEST(given->value == 42);

    outcome<bool> in_time;
    kind.try_with_lock_for(10s, gives_nothing, report_to(in_time));
    BOOST_TEST(value_of(s.io, in_time));
    s.check_free();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_body_of_a_try_does_not_run_when_the_lock_is_held, Kind, kinds)
{
    kind_scene<Kind> s;
    Kind kind{s.connect(), s.directory};
    auto held = s.occupy(s.connect());
    int ran = 0;
    const body<Kind, void> gives_nothing = [&](const auto&) -> asio::awaitable<void> {
        ++ran;
        co_return;
    };
    const body<Kind, without_default> gives_something =
        [&](const auto&) -> asio::awaitable<without_default> {
        ++ran;
        co_return without_default{0}; // which is not "not acquired"
    };
    outcome<bool> refused, late, in_time;
    outcome<std::optional<without_default>> refused_value;
    kind.try_with_lock(gives_nothing, report_to(refused));
    BOOST_TEST(!value_of(s.io, refused));
    kind.try_with_lock(gives_something, report_to(refused_value));
    BOOST_TEST(!value_of(s.io, refused_value).has_value());
    kind.try_with_lock_for(20ms, gives_nothing, report_to(late));
    BOOST_TEST(!value_of(s.io, late));
    BOOST_TEST(ran == 0);

    kind.try_with_lock_for(60s, gives_nothing, report_to(in_time));
    held = {};
    BOOST_TEST(value_of(s.io, in_time));
    BOOST_TEST(ran == 1);
    s.check_free();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(G5_a_body_is_cancelled_when_the_lock_is_lost, Kind, kinds)
{
    kind_scene<Kind> s;
    auto& c = s.connect();
    bool runs = false, cancelled = false;
    outcome<std::optional<without_default>> result;
    const body<Kind, without_default> waits =
        [&](const auto& held) -> asio::awaitable<without_default> {
        runs = true;
        asio::steady_timer timer{co_await asio::this_coro::executor, 1h};
        try {
            co_await timer.async_wait(asio::use_awaitable);
        } catch (const boost::system::system_error& e) {
            cancelled = e.code() == asio::error::operation_aborted;
            BOOST_TEST(held.loss_reason() == condition::lock_lost);
            throw;
        }
        co_return without_default{1};
    };
    Kind{c, s.directory}.try_with_lock(waits, report_to(result));
    BOOST_TEST(s.until([&] { return runs; }));
    s.end_session(c);
    const auto ec = code_of(s.io, result);
    BOOST_TEST(ec == errc::lock_lost);
    BOOST_TEST(ec == condition::lock_lost);
    BOOST_TEST(ec != errc::revoked);
    BOOST_TEST(cancelled);
    BOOST_TEST(c.stats().bodies_cancelled == 1U);
    s.check_free();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(G3_a_body_that_is_cancelled_leaves_nothing_behind, Kind, kinds)
{
    kind_scene<Kind> s;
    auto& c = s.connect({.log = {}});
    bool runs = false;
    asio::cancellation_signal stop;
    outcome<std::optional<without_default>> result;
    const body<Kind, without_default> goes_on =
        [&](const auto&) -> asio::awaitable<without_default> {
        runs = true;
        co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
        asio::steady_timer timer{co_await asio::this_coro::executor};
        while (c.stats().bodies_overdue == 0U) { // is reported while it goes on
            timer.expires_after(1ms);
            co_await timer.async_wait(asio::use_awaitable);
        }
        throw boost::system::system_error{asio::error::operation_aborted};
    };
    Kind{c, s.directory, {.body_grace = 0ms}}.try_with_lock_for(
        1h, goes_on, asio::bind_cancellation_slot(stop.slot(), report_to(result)));
    BOOST_TEST(s.until([&] { return runs; }));
    stop.emit(asio::cancellation_type::terminal);
    BOOST_TEST(code_of(s.io, result) == asio::error::operation_aborted);
    s.check_free();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_body_that_holds_for_too_long_is_cancelled, Kind, kinds)
{
    kind_scene<Kind> s;
    auto& c = s.connect({.log = {}});
    const lock_options limited{.max_hold = 20ms};
    bool held_to_the_end = false;
    const body<Kind, without_default> for_ever =
        [&](const auto& held) -> asio::awaitable<without_default> {
        asio::steady_timer timer{co_await asio::this_coro::executor, 1h};
        try {
            co_await timer.async_wait(asio::use_awaitable);
        } catch (const boost::system::system_error&) {
            held_to_the_end = bool(held);
            throw;
        }
        co_return without_default{1};
    };
    outcome<std::optional<without_default>> result, in_time, all_the_same;
    const auto began = std::chrono::steady_clock::now();
    diagnostics why;
    Kind{c, s.directory, limited}.try_with_lock(for_ever, bind_diagnostics(why, report_to(result)));
    const auto ec = code_of(s.io, result);
    BOOST_TEST(ec == errc::held_too_long);
    BOOST_TEST(ec != condition::lock_lost);
    BOOST_TEST((std::chrono::steady_clock::now() - began >= 20ms));
    BOOST_TEST(held_to_the_end);
    BOOST_TEST(why.message().find(s.directory) != std::string::npos);
    BOOST_TEST(c.stats().bodies_cancelled == 1U);

    const body<Kind, without_default> quick = [](const auto&) -> asio::awaitable<without_default> {
        co_return without_default{2};
    };
    Kind{c, s.directory, limited}.try_with_lock_for(1h, quick, report_to(in_time));
    BOOST_TEST(value_of(s.io, in_time).has_value());
    const body<Kind, without_default> gives = [](const auto&) -> asio::awaitable<without_default> {
        asio::steady_timer timer{co_await asio::this_coro::executor, 1h};
        try {
            co_await timer.async_wait(asio::use_awaitable);
        } catch (const boost::system::system_error&) {
        }
        co_return without_default{3};
    };
    Kind{c, s.directory, limited}.try_with_lock_for(1h, gives, report_to(all_the_same));
    BOOST_TEST(value_of(s.io, all_the_same).has_value()); // made under the lock
    s.check_free();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(what_only_a_body_can_honour_is_refused_without_one, Kind, kinds)
{
    kind_scene<Kind> s;
    auto& c = s.connect({.log = {}});
    Kind limited{c, s.directory, {.max_hold = 1h}};
    BOOST_TEST(code_of(s.io, s.start(limited)) == errc::invalid_option);
    BOOST_TEST(c.last_error_detail().find("max_hold") != std::string::npos);
    BOOST_TEST(c.last_error_detail().find(s.directory) != std::string::npos);
    BOOST_TEST(code_of(s.io, s.start_try(limited)) == errc::invalid_option);
    BOOST_TEST(code_of(s.io, s.start_for(limited, 1h)) == errc::invalid_option);
    BOOST_TEST(s.nodes() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::lockable_bodies_test
