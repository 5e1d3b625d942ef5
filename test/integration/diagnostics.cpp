// The words for a failure reach the operation that has failed, with every kind of token.
#include <colock/diagnostics.hpp>

#include "operations.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <functional>
#include <memory>
#include <string>

namespace colock::test::diagnostics_test {

namespace {

bool says(const diagnostics& d, const std::string& what)
{
    return d.message().find(what) != std::string::npos;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(diagnostics_of_an_operation, lock_scene)

BOOST_AUTO_TEST_CASE(two_that_fail_at_the_same_time_name_each_its_own_path)
{
    auto& zk = connect();
    colock::diagnostics first, second;
    outcome<get_result> one, other;
    zk.async_get("/first", bind_diagnostics(first, one.handler()));
    zk.async_get("/second", bind_diagnostics(second, other.handler()));
    BOOST_TEST(code_of(io, one) == zookeeper_errc::no_node);
    BOOST_TEST(code_of(io, other) == zookeeper_errc::no_node);
    BOOST_TEST(says(first, "/first"));
    BOOST_TEST(says(second, "/second"));
}

BOOST_AUTO_TEST_CASE(a_success_leaves_no_words)
{
    auto& zk = connect();
    colock::diagnostics why;
    why.assign("of an earlier operation");
    outcome<std::optional<node_stat>> seen;
    zk.async_exists("/nowhere", bind_diagnostics(why, seen.handler()));
    BOOST_TEST(code_of(io, seen) == error_code{});
    BOOST_TEST(why.message().empty());
}

BOOST_AUTO_TEST_CASE(through_the_adapters_on_both_sides)
{
    auto& zk = connect();
    const auto strand = asio::make_strand(io);
    colock::diagnostics inner, outer, redirected, deferred;
    bool on_strand = false;
    zk.async_get("/inner", asio::bind_executor(strand, bind_diagnostics(inner, [&](auto&&...) {
                                                   on_strand = strand.running_in_this_thread();
                                               })));
    zk.async_get("/outer", bind_diagnostics(outer, asio::bind_executor(strand, [](auto&&...) {})));
    error_code ec;
    bool ended = false;
    asio::co_spawn(
        io,
        [&]() -> asio::awaitable<void> {
            const auto [failed, got] =
                co_await zk.async_get("/deferred", asio::as_tuple(bind_diagnostics(deferred)));
            BOOST_TEST(failed == zookeeper_errc::no_node);
            co_await zk.async_get(
                "/redirected",
                bind_diagnostics(redirected, asio::redirect_error(asio::use_awaitable, ec)));
            ended = true;
        },
        asio::detached);
    BOOST_TEST(until([&] { return ended; }));
    BOOST_TEST(on_strand);
    BOOST_TEST(says(inner, "/inner"));
    BOOST_TEST(says(outer, "/outer"));
    BOOST_TEST(says(deferred, "/deferred"));
    BOOST_TEST(says(redirected, "/redirected"));
    BOOST_TEST(ec == zookeeper_errc::no_node);
}

// The adapters that ask for return_type with Boost 1.81; and a token that has a name.
BOOST_AUTO_TEST_CASE(within_other_adapters_and_more_than_once)
{
    auto& zk = connect();
    error_code ec;
    colock::diagnostics redirected, slotted, allocated, twice;
    asio::cancellation_signal stop;
    int done = 0;
    const auto count = [&](auto&&...) { ++done; };
    zk.async_get("/redirected", asio::redirect_error(bind_diagnostics(redirected, count), ec));
    zk.async_get("/slotted",
                 asio::bind_cancellation_slot(stop.slot(), bind_diagnostics(slotted, count)));
    zk.async_get("/allocated",
                 asio::bind_allocator(std::allocator<void>{}, bind_diagnostics(allocated, count)));
    const auto token = bind_diagnostics(twice, std::function<void(error_code, get_result)>{count});
    zk.async_get("/once", token);
    BOOST_TEST(until([&] { return done == 4; }));
    BOOST_TEST(says(twice, "/once"));
    zk.async_get("/twice", token);
    BOOST_TEST(until([&] { return done == 5; }));
    BOOST_TEST(says(redirected, "/redirected"));
    BOOST_TEST(says(slotted, "/slotted"));
    BOOST_TEST(says(allocated, "/allocated"));
    BOOST_TEST(says(twice, "/twice"));
}

BOOST_AUTO_TEST_CASE(of_a_body)
{
    auto& zk = connect();
    colock::diagnostics path;
    std::string what;
    bool ended = false;
    asio::co_spawn(
        io,
        [&]() -> asio::awaitable<void> {
            mutex bad{zk, "bad"};
            try {
                co_await bad.async_with_lock(
                    [](const unique_lock&) -> asio::awaitable<void> { co_return; },
                    bind_diagnostics(path, asio::use_awaitable));
            } catch (const boost::system::system_error& e) {
                what = e.what();
            }
            ended = true;
        },
        asio::detached);
    BOOST_TEST(until([&] { return ended; }));
    BOOST_TEST(says(path, "lock bad: the path does not begin"));
    BOOST_TEST(what.find("lock bad: the path does not begin") == 0U);
}

// With nested locks it is not plain which one was lost.
BOOST_AUTO_TEST_CASE(of_a_loss)
{
    auto& zk = connect();
    const auto inner_path = directory + "-inner";
    mutex outer{zk, directory}, inner{zk, inner_path};
    std::string what;
    const auto run_nested = [&](auto body) -> asio::awaitable<void> {
        try {
            co_await outer.async_with_lock(
                [&](const unique_lock&) -> asio::awaitable<void> { co_await body(); });
        } catch (const boost::system::system_error& e) {
            BOOST_TEST((e.code() == errc::lock_lost));
            what = e.what();
        }
    };
    const auto lose_inner = [&]() -> asio::awaitable<void> {
        co_await inner.async_with_lock([&](const unique_lock& held) -> asio::awaitable<void> {
            admin.remove(held.node());
            asio::steady_timer never{io, asio::steady_timer::time_point::max()};
            co_await never.async_wait(asio::use_awaitable);
        });
    };
    run(io, run_nested(lose_inner));
    BOOST_TEST(what.starts_with("lock " + inner_path + ": somebody deleted"), what);

    multi_lock both{outer, inner};
    const auto lose_second = [&]() -> asio::awaitable<void> {
        co_await both.async_with_lock([&](const multi_guard& held) -> asio::awaitable<void> {
            const auto& second = held[0].path() == inner_path ? held[0] : held[1];
            admin.remove(second.node());
            asio::steady_timer never{io, asio::steady_timer::time_point::max()};
            co_await never.async_wait(asio::use_awaitable);
        });
    };
    const auto run_both = [&]() -> asio::awaitable<void> {
        try {
            co_await lose_second();
        } catch (const boost::system::system_error& e) {
            what = e.what();
        }
    };
    run(io, run_both());
    BOOST_TEST(what.starts_with("lock " + inner_path + ": somebody deleted"), what);

    // Guards: what waits for the loss, and what releases afterwards.
    const auto expect_words = [&](auto guard, const std::string& words, auto release) {
        colock::diagnostics lost, released, late;
        outcome<error_code> waited, after;
        guard.async_wait_lost(bind_diagnostics(lost, waited.handler()));
        go_on(io, 20ms);
        if constexpr (requires { guard.node(); }) {
            admin.remove(guard.node());
        } else {
            admin.remove(guard.nodes().front());
        }
        BOOST_TEST(value_of(io, waited) == errc::node_deleted);
        BOOST_TEST(says(lost, words));
        guard.async_wait_lost(bind_diagnostics(late, after.handler()));
        BOOST_TEST(value_of(io, after) == errc::node_deleted);
        BOOST_TEST(says(late, words));
        outcome<> gone;
        // Where the strand does at once what it is given.
        asio::post(io, [&] { release(guard, bind_diagnostics(released, gone.handler())); });
        if (code_of(io, gone)) {
            BOOST_TEST(says(released, words));
        }
    };
    outcome<unique_lock> locked;
    inner.async_lock(locked.handler());
    expect_words(value_of(io, locked), "lock " + inner_path + ": somebody deleted",
                 [](auto& g, auto token) { g.async_unlock(token); });

    // Nobody but the guard keeps what is behind it.
    shared_mutex rw{zk, directory + "-rw"};
    outcome<shared_lock> read;
    rw.async_lock_shared(read.handler());
    expect_words(value_of(io, read), "lock " + rw.path() + ": somebody deleted",
                 [](auto& g, auto token) { g.async_unlock(token); });
    election candidates{zk, directory + "-election", "one"};
    outcome<leadership> led;
    candidates.async_campaign(led.handler());
    expect_words(value_of(io, led), "lock " + candidates.path() + ": somebody deleted",
                 [](auto& g, auto token) { g.async_resign(token); });

    semaphore pool{zk, directory + "-pool", 1};
    outcome<permit> acquired;
    pool.async_acquire(acquired.handler());
    expect_words(value_of(io, acquired), "semaphore " + directory + "-pool: somebody deleted",
                 [](auto& g, auto token) { g.async_release(token); });
}

BOOST_AUTO_TEST_CASE(a_cancelled_operation_has_none)
{
    colock::diagnostics why;
    asio::cancellation_signal stop;
    outcome<> connected;
    client elsewhere{io, {.hosts = "127.0.0.1:1", .connect_timeout = 1min}};
    elsewhere.async_connect(
        asio::bind_cancellation_slot(stop.slot(), bind_diagnostics(why, connected.handler())));
    io.poll();
    stop.emit(asio::cancellation_type::terminal);
    BOOST_TEST(code_of(io, connected) == asio::error::operation_aborted);
    BOOST_TEST(why.message().empty());
}

BOOST_AUTO_TEST_CASE(with_a_future)
{
    auto& zk = connect();
    colock::diagnostics why;
    auto future = zk.async_remove("/future", any_version, bind_diagnostics(why, asio::use_future));
    BOOST_TEST(until([&] { return future.wait_for(0s) == std::future_status::ready; }));
    BOOST_CHECK_THROW(future.get(), boost::system::system_error);
    BOOST_TEST(says(why, "/future"));
}

BOOST_AUTO_TEST_CASE(bad_input_and_a_connect_that_fails)
{
    auto& zk = connect();
    colock::diagnostics path, hosts;
    outcome<get_result> got;
    zk.async_get("relative", bind_diagnostics(path, got.handler()));
    BOOST_TEST(code_of(io, got) == errc::invalid_path);
    BOOST_TEST(says(path, "relative"));

    client elsewhere{io, {.hosts = "nonsense:port"}};
    outcome<error_code> connected;
    elsewhere.async_connect(bind_diagnostics(hosts, connected.handler()));
    BOOST_TEST(code_of(io, connected) == errc::invalid_hosts);
    BOOST_TEST(says(hosts, "nonsense"));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::diagnostics_test
