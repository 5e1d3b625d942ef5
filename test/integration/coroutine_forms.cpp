// What headers and pages show within coroutines, run: under the address sanitizer nothing is destroyed twice. What
// else is forbidden there is in coroutine_temporaries.cpp of the unit tests.
#include <support/lock_scene.hpp>
#include <support/run.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
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
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace colock::test::coroutine_forms_test {

namespace {

// Too long to be kept within the object: what is destroyed twice is freed twice.
const std::string long_text(100, 'x');

struct forms_scene : lock_scene {
    client& zk = connect();

    template <class F>
    void in_coroutine(F body)
    {
        run(io, body());
    }

    std::string below(const std::string& name) const { return directory + '-' + name; }
};

// Captures by value, and waits within.
auto body_with_captures(const std::string& text, int& runs)
{
    return [text, shared = std::make_shared<std::string>(text),
            &runs](const held_lock& held) -> asio::awaitable<void> {
        co_await pause(1ms);
        BOOST_TEST(bool(held));
        BOOST_TEST(text == long_text);
        BOOST_TEST(*shared == long_text);
        ++runs;
    };
}

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
constexpr bool faulty_compiler = true;
#else
constexpr bool faulty_compiler = false;
#endif

template <class F, class Token>
bool is_refused(const F&, const Token&)
{
    return detail::destroyed_twice<F, Token>;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(coroutine_forms, forms_scene)

BOOST_AUTO_TEST_CASE(a_body_captures_by_reference)
{
    int runs = 0;
    in_coroutine([&]() -> asio::awaitable<void> {
        const std::string text = long_text;
        const auto shared = std::make_shared<std::string>(text);
        mutex m{zk, directory};
        co_await m.async_with_lock([&](const unique_lock& held) -> asio::awaitable<void> {
            co_await pause(1ms);
            BOOST_TEST(bool(held));
            BOOST_TEST(text + *shared == long_text + long_text);
            ++runs;
        });
        const auto length =
            co_await m.async_with_lock([&](const unique_lock&) -> asio::awaitable<std::string> {
                co_await pause(1ms);
                co_return text;
            });
        BOOST_TEST(length == long_text);
        election e{zk, below("election"), "me"};
        co_await e.async_lead([&](const unique_lock& term) -> asio::awaitable<void> {
            co_await pause(1ms);
            BOOST_TEST(bool(term));
            BOOST_TEST(text + *shared == long_text + long_text);
            ++runs;
        });
    });
    BOOST_TEST(runs == 2);
}

BOOST_AUTO_TEST_CASE(a_body_with_a_name_captures_by_value)
{
    int runs = 0;
    in_coroutine([&]() -> asio::awaitable<void> {
        const auto body = body_with_captures(long_text, runs);
        mutex m{zk, directory};
        co_await m.async_with_lock(body);
        co_await m.async_with_lock(std::ref(body), asio::as_tuple(asio::deferred));
        shared_mutex rw{zk, below("rw")};
        co_await rw.async_with_lock(body);
        co_await rw.async_with_lock_shared(body);
        recursive_mutex again{zk, below("recursive")};
        lock_owner me;
        co_await again.async_with_lock(me, body);
        single_node_mutex single{zk, below("single")};
        co_await single.async_with_lock(body);
        election e{zk, below("election"), "me"};
        co_await e.async_lead(body);
        BOOST_TEST(co_await m.async_try_with_lock(body));
        BOOST_TEST(co_await rw.async_try_with_lock_shared_for(1s, body));
        BOOST_TEST(co_await e.async_try_lead_for(1s, body));
    });
    BOOST_TEST(runs == 10);
}

BOOST_AUTO_TEST_CASE(a_lambda_with_captures_is_refused_with_every_token_that_is_awaited)
{
    asio::cancellation_signal stop;
    const auto body = [text = long_text](const unique_lock&) -> asio::awaitable<void> {
        static_cast<void>(text.size());
        co_return;
    };
    const auto by_reference = [&](const unique_lock&) -> asio::awaitable<void> {
        static_cast<void>(body);
        co_return;
    };
    const auto check = [&](const auto& token) {
        BOOST_TEST(is_refused(body, token) == faulty_compiler);
        BOOST_TEST(!is_refused(by_reference, token));
    };
    check(asio::use_awaitable);
    check(asio::deferred);
    check(asio::as_tuple(asio::use_awaitable));
    check(asio::bind_cancellation_slot(stop.slot(), asio::use_awaitable));
    check(asio::bind_executor(io, asio::as_tuple(asio::use_awaitable)));
    check(asio::as_tuple(asio::bind_cancellation_slot(stop.slot(), asio::use_awaitable)));
    // The body is with the operation before this expression ends.
    BOOST_TEST(!is_refused(body, [](std::exception_ptr) {}));
    BOOST_TEST(!is_refused(body, asio::detached));
}

BOOST_AUTO_TEST_CASE(a_body_is_known_to_be_cancelled_by_what_asio_makes_of_that)
{
    using namespace asio::experimental::awaitable_operators;
    using body = std::function<asio::awaitable<void>(const unique_lock&)>;
    mutex m{zk, directory, {.max_hold = 1ms}};
    asio::experimental::channel<void(error_code)> jobs{io};
    const std::vector<body> bodies{
        [](const unique_lock&) -> asio::awaitable<void> { co_await (pause(1h) && pause(1h)); },
        [](const unique_lock&) -> asio::awaitable<void> { co_await (pause(1h) || pause(1h)); },
        [&](const unique_lock&) -> asio::awaitable<void> {
            co_await jobs.async_receive(asio::use_awaitable);
        }};
    for (const auto& each : bodies) {
        std::optional<std::exception_ptr> result;
        m.async_with_lock(each, [&](std::exception_ptr e) { result = std::move(e); });
        BOOST_REQUIRE(until([&] { return result.has_value(); }));
        BOOST_CHECK_EXCEPTION(std::rethrow_exception(*result), boost::system::system_error,
                              [](const auto& e) { return e.code() == errc::held_too_long; });
    }
}

BOOST_AUTO_TEST_CASE(a_body_that_is_an_operation_hears_of_each_type_of_cancellation)
{
    mutex m{zk, directory};
    for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                            asio::cancellation_type::total}) {
        asio::steady_timer never{io, 1h};
        asio::cancellation_signal stop;
        bool runs = false;
        std::optional<std::exception_ptr> result;
        m.async_with_lock(
            [&](const unique_lock&) {
                runs = true;
                return never.async_wait(asio::deferred);
            },
            asio::bind_cancellation_slot(stop.slot(),
                                         [&](std::exception_ptr e) { result = std::move(e); }));
        BOOST_REQUIRE(until([&] { return runs; }));
        stop.emit(type);
        BOOST_REQUIRE(until([&] { return result.has_value(); }));
        BOOST_CHECK_EXCEPTION(
            std::rethrow_exception(*result), boost::system::system_error,
            [](const auto& e) { return e.code() == asio::error::operation_aborted; });
    }
}

BOOST_AUTO_TEST_CASE(a_body_that_cannot_be_copied_is_passed_by_reference)
{
    int runs = 0;
    in_coroutine([&]() -> asio::awaitable<void> {
        auto body = [only = std::make_unique<std::string>(long_text),
                     &runs](const unique_lock&) -> asio::awaitable<void> {
            co_await pause(1ms);
            BOOST_TEST(*only == long_text);
            ++runs;
        };
        mutex m{zk, directory};
        co_await m.async_with_lock(std::ref(body));
        co_await m.async_with_lock(std::ref(body));
    });
    BOOST_TEST(runs == 2);
}

BOOST_AUTO_TEST_CASE(a_client_is_made_in_a_coroutine)
{
    in_coroutine([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client own{executor, {.hosts = server.connect_string(), .chroot = {}}};
        co_await own.async_connect();
        const client_options options{.hosts = server.connect_string()};
        client other{co_await asio::this_coro::executor, options};
        co_await other.async_connect();
        co_await other.async_close();
        co_await own.async_close();
    });
}

BOOST_AUTO_TEST_CASE(options_have_a_name)
{
    in_coroutine([&]() -> asio::awaitable<void> {
        const lock_options options{.owner_data = long_text, .linger = 1ms};
        auto held = co_await mutex{zk, directory, options}.async_lock();
        co_await held.async_unlock();
        mutex patient{zk, below("patient"), {.owner_data = long_text}};
        held = co_await patient.async_lock();
        const create_options mine{.acl = open_acl()};
        co_await zk.async_create(below("created"), long_text, mine);
        co_await zk.async_create(below("moded"), long_text, {.mode = create_mode::ephemeral});
        const layout own{.prefix = long_text, .marker = "lock-"};
        const lock_options laid_out{.layout = own};
        held = co_await mutex{zk, below("layout"), laid_out}.async_lock();
        BOOST_TEST((co_await async_view_queue(zk, below("layout"), own)).entries.size() == 1U);
        BOOST_TEST(
            (co_await async_view_queue(zk, below("patient"), curator_layout())).entries.size() ==
            0U);
    });
}

BOOST_AUTO_TEST_CASE(permits_and_several_locks_have_bodies)
{
    int runs = 0;
    in_coroutine([&]() -> asio::awaitable<void> {
        semaphore pool{zk, below("pool"), 3};
        const auto count = co_await pool.async_with_permits(
            2, [&](const permit& held) -> asio::awaitable<std::size_t> {
                co_await pause(1ms);
                ++runs;
                co_return held.count();
            });
        BOOST_TEST(count == 2U);
        const auto text = co_await pool.async_try_with_permits_for(
            3, 1s, [&](const permit&) -> asio::awaitable<std::string> {
                co_await pause(1ms);
                ++runs;
                co_return long_text;
            });
        BOOST_TEST(text.value() == long_text);
        const permit one = co_await pool.async_try_acquire_for(1s);
        const permit two = co_await pool.async_try_acquire_for(1s, asio::use_awaitable);
        BOOST_TEST(one.count() + two.count() == 2U);
        BOOST_TEST(!(co_await pool.async_try_with_permits(
            2, [&](const permit&) -> asio::awaitable<void> { co_return; })));
        BOOST_TEST(co_await (
            pool.async_try_with_permits_until(std::chrono::steady_clock::now() + 1s,
                                              [&](const permit& third) -> asio::awaitable<void> {
                                                  BOOST_TEST(third.count() == 1U);
                                                  co_return;
                                              })));

        mutex orders{zk, below("orders")};
        shared_mutex prices{zk, below("prices")};
        co_await multi_lock{orders, {prices, for_reading}}.async_with_lock(
            [&](const multi_guard& together) -> asio::awaitable<void> {
                co_await pause(1ms);
                BOOST_TEST(together.size() == 2U);
                ++runs;
            });
        BOOST_TEST(co_await (multi_lock{orders, prices}.async_try_with_lock(
            [&](const multi_guard& together) -> asio::awaitable<void> {
                BOOST_TEST(bool(together));
                ++runs;
                co_return;
            })));
    });
    BOOST_TEST(runs == 4);
}

BOOST_AUTO_TEST_CASE(a_semaphore_of_a_counter_needs_no_name)
{
    const std::string limit = below("limit-of-the-semaphore");
    admin.create(limit, std::string{"\0\0\0\2", 4});
    in_coroutine([&]() -> asio::awaitable<void> {
        const permit one = co_await semaphore{zk, directory, counter_node{limit}}.async_acquire();
        semaphore pool{zk, directory, counter_node{limit}};
        const permit two = co_await pool.async_acquire(asio::use_awaitable);
        const permit none = co_await pool.async_try_acquire(asio::use_awaitable);
        BOOST_TEST(one.count() + two.count() == 2U);
        BOOST_TEST(!none);
        BOOST_TEST(!(co_await pool.async_try_acquire()));
    });
}

BOOST_AUTO_TEST_CASE(the_first_position_needs_no_position_before_it)
{
    in_coroutine([&]() -> asio::awaitable<void> {
        mutex m{zk, directory};
        const auto held = co_await m.async_lock();
        BOOST_TEST(co_await async_wait_position(m, held.node(), asio::use_awaitable) == 0U);
        BOOST_TEST(co_await async_wait_position(m, held.node()) == 0U);
        BOOST_TEST(co_await async_wait_position(m, held.node(), {}) == 0U);
        BOOST_TEST((co_await async_view_queue(m)).holders().size() == 1U);
        BOOST_TEST((co_await async_revoke_holders(m)) == 1U);
    });
}

BOOST_AUTO_TEST_CASE(a_transaction_is_written_within_co_await)
{
    const auto node = below("node");
    in_coroutine([&]() -> asio::awaitable<void> {
        mutex m{zk, directory};
        auto held = co_await m.async_lock();
        auto results = co_await zk.async_multi(
            held.guarded(transaction{}.create(node, long_text).check(node)));
        BOOST_TEST(results.size() == 3U); // the condition, too
        co_await zk.async_multi(
            transaction{}
                .set(node, long_text + long_text)
                .create(node + "/ephemeral", {}, {.mode = create_mode::ephemeral})
                .create(node + "/sequential", {}, create_mode::ephemeral_sequential)
                .remove(node + "/ephemeral"));
        BOOST_TEST((co_await zk.async_get(node)).data == long_text + long_text);

        results = co_await zk.async_multi(held.guarded(set_op(node, long_text), check_op(node)));
        BOOST_TEST(results.size() == 3U);
        results = co_await zk.async_multi(set_op(node, long_text), check_op(node));
        BOOST_TEST(results.size() == 2U);

        transaction steps;
        steps.check(node);
        steps.set(node, long_text);
        BOOST_TEST(steps.ops().size() == 2U);
        co_await zk.async_multi(held.guarded(steps));
        BOOST_TEST((co_await zk.async_get(node)).data == long_text);

        admin.remove(held.node());
        const auto [ec, each] =
            co_await zk.async_multi(held.guarded(transaction{}.set(node, "late")), no_throw);
        BOOST_TEST(ec == zookeeper_errc::no_node);
        BOOST_TEST((co_await zk.async_get(node)).data == long_text);
    });
}

BOOST_AUTO_TEST_CASE(several_locks_are_named_within_co_await)
{
    in_coroutine([&]() -> asio::awaitable<void> {
        mutex orders{zk, below("orders")};
        shared_mutex prices{zk, below("prices")};
        semaphore pool{zk, below("pool"), 3};
        recursive_mutex again{zk, below("recursive")};
        single_node_mutex single{zk, below("single")};
        lock_owner me;
        {
            const multi_guard one = co_await multi_lock{orders}.async_lock();
            BOOST_TEST(one.size() == 1U);
        }
        {
            const multi_guard two = co_await multi_lock{orders, prices}.async_lock();
            BOOST_TEST(two.size() == 2U);
            BOOST_TEST(!(co_await multi_lock{orders, prices}.async_try_lock()));
        }
        {
            const multi_guard three =
                co_await multi_lock{orders, {prices, for_reading}, {pool, 2}}.async_lock();
            BOOST_TEST(three.size() == 3U);
            BOOST_TEST(three.permits(2).count() == 2U);
        }
        {
            const multi_guard all =
                co_await multi_lock{orders,      {prices, for_reading},
                                    {again, me}, {pool, 2},
                                    single,      lock_entry{mutex{zk, below("sixth")}}}
                    .async_lock();
            BOOST_TEST(all.size() == 6U);
        }
        const auto [ec, none] = co_await multi_lock{}.async_lock(no_throw);
        BOOST_TEST(ec == errc::nothing_to_lock);
    });
}

namespace {

// As held_lock.hpp tells: with a guard instead of async_with_lock.
asio::awaitable<void> work_while_held(const unique_lock& held, asio::awaitable<void> work)
{
    const auto executor = co_await asio::this_coro::executor;
    auto [order, failure, ec, why] =
        co_await asio::experimental::make_parallel_group(
            asio::co_spawn(executor, std::move(work), asio::deferred),
            held.async_wait_lost(asio::deferred))
            .async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
    if (order[0] == 0 && failure) {
        std::rethrow_exception(failure);
    }
    if (order[0] == 1) {
        throw boost::system::system_error{ec ? ec : why, "the lock is not held"};
    }
}

asio::awaitable<void> fail_after(std::chrono::milliseconds time)
{
    co_await pause(time);
    throw std::runtime_error{"the work failed"};
}

asio::awaitable<void> work_for_ever(bool& cancelled)
{
    try {
        co_await pause(1h);
    } catch (const boost::system::system_error& e) {
        cancelled = e.code() == asio::error::operation_aborted;
        throw;
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(an_exception_of_the_work_ends_the_wait_for_a_loss)
{
    const auto held = hold(zk);
    for (const auto time : {0ms, 1ms}) { // at once, and later
        BOOST_CHECK_EXCEPTION(
            run(io, work_while_held(held, fail_after(time))), std::runtime_error,
            [](const auto& e) { return e.what() == std::string{"the work failed"}; });
    }
    BOOST_TEST(bool(held));
}

BOOST_AUTO_TEST_CASE(work_that_ends_ends_the_wait_for_a_loss)
{
    const auto held = hold(zk);
    run(io, work_while_held(held, pause(1ms)));
    BOOST_TEST(bool(held));
}

BOOST_AUTO_TEST_CASE(work_under_an_empty_guard_is_cancelled)
{
    const unique_lock none;
    bool cancelled = false;
    BOOST_CHECK_EXCEPTION(run(io, work_while_held(none, work_for_ever(cancelled))),
                          boost::system::system_error,
                          [](const auto& e) { return e.code() == errc::not_held; });
    BOOST_TEST(cancelled);
}

BOOST_AUTO_TEST_CASE(a_loss_cancels_the_work)
{
    const auto held = hold(zk);
    BOOST_TEST(wait_for_watches(zk, 1));
    bool cancelled = false;
    std::exception_ptr thrown;
    asio::co_spawn(io, work_while_held(held, work_for_ever(cancelled)),
                   [&](std::exception_ptr e) { thrown = std::move(e); });
    admin.remove(held.node());
    BOOST_REQUIRE(until([&] { return thrown != nullptr; }));
    BOOST_TEST(cancelled);
    BOOST_CHECK_EXCEPTION(std::rethrow_exception(thrown), boost::system::system_error,
                          [](const auto& e) { return e.code() == errc::node_deleted; });
}

// As docs/threads.md has them.
BOOST_AUTO_TEST_CASE(an_error_before_a_deadline_is_told_at_once_and_not_dropped)
{
    using namespace asio::experimental::awaitable_operators;
    constexpr auto as_value = asio::as_tuple(asio::use_awaitable);
    const auto begin = std::chrono::steady_clock::now();
    in_coroutine([&]() -> asio::awaitable<void> {
        asio::steady_timer limit{co_await asio::this_coro::executor, long_enough};
        diagnostics why;
        const auto missing = below("missing");
        auto first = co_await (zk.async_get(missing, bind_diagnostics(why, as_value)) ||
                               limit.async_wait(as_value));
        BOOST_REQUIRE(first.index() == 0);
        BOOST_TEST(std::get<0>(std::get<0>(first)) == zookeeper_errc::no_node);
        BOOST_TEST(why.message().find(missing) != std::string::npos, why.message());
    });
    in_coroutine([&]() -> asio::awaitable<void> {
        asio::steady_timer limit{co_await asio::this_coro::executor, long_enough};
        mutex m{zk, below("failing")};
        const auto failing = [](const unique_lock&) -> asio::awaitable<void> {
            co_await pause(1ms);
            throw std::runtime_error{"the body's"};
        };
        auto first = co_await (m.async_with_lock(failing, as_value) || limit.async_wait(as_value));
        BOOST_REQUIRE(first.index() == 0);
        const auto failed = std::get<0>(std::get<0>(first));
        BOOST_REQUIRE(failed != nullptr);
        BOOST_CHECK_EXCEPTION(std::rethrow_exception(failed), std::runtime_error,
                              [](const auto& e) { return e.what() == std::string{"the body's"}; });
    });
    // And the limit ends what goes on.
    in_coroutine([&]() -> asio::awaitable<void> {
        asio::steady_timer limit{co_await asio::this_coro::executor, 50ms};
        mutex m{zk, below("endless")};
        bool released = false;
        const auto endless = [&](const unique_lock&) -> asio::awaitable<void> {
            asio::steady_timer never{zk.get_executor(), asio::steady_timer::time_point::max()};
            co_await never.async_wait(asio::as_tuple(asio::use_awaitable));
            released = true;
        };
        auto first = co_await (m.async_with_lock(endless, as_value) || limit.async_wait(as_value));
        BOOST_TEST(first.index() == 1);
        BOOST_TEST(released);
    });
    BOOST_TEST((std::chrono::steady_clock::now() - begin < long_enough));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::coroutine_forms_test
