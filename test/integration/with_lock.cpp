// async_with_lock: what its body gives and throws, when it is cancelled, and what comes of it then.
#include <support/lock_scene.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace colock::test::with_lock_test {

namespace {

struct with_lock_scene : lock_scene {
    client& zk = connect();
    mutex lock{zk, directory, with_nodes()};

    // What became of an execution: nothing yet, a value, or an exception.
    struct result {
        bool done = false;
        int value = 0;
        std::exception_ptr thrown;

        error_code code() const
        {
            try {
                if (thrown) {
                    std::rethrow_exception(thrown);
                }
            } catch (const boost::system::system_error& e) {
                return e.code();
            } catch (const std::exception&) {
            }
            return {};
        }
        std::string text() const
        {
            try {
                if (thrown) {
                    std::rethrow_exception(thrown);
                }
            } catch (const std::exception& e) {
                return e.what();
            }
            return {};
        }
    };

    template <class Body>
    std::shared_ptr<result> start(mutex& m, Body body)
    {
        auto r = std::make_shared<result>();
        m.async_with_lock(
            std::move(body),
            asio::bind_cancellation_slot(stop.slot(), [r](std::exception_ptr e, auto... value) {
                BOOST_TEST(!r->done);
                r->done = true;
                r->thrown = e;
                ((r->value = value), ...);
            }));
        return r;
    }

    asio::cancellation_signal stop;
};

asio::awaitable<void> for_ever()
{
    asio::steady_timer timer{co_await asio::this_coro::executor,
                             asio::steady_timer::time_point::max()};
    co_await timer.async_wait(asio::use_awaitable);
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(with_lock, with_lock_scene)

// What a body refers to may end with the operation: so the body ends before.
BOOST_AUTO_TEST_CASE(the_body_is_destroyed_before_the_operation_completes)
{
    for (const bool cancelled : {false, true}) {
        auto owned = std::make_shared<int>(0);
        const std::weak_ptr<int> alive = owned;
        bool running = false, done = false;
        lock.async_with_lock(
            [&running, cancelled, kept = std::move(owned)](const unique_lock&) {
                running = true;
                return cancelled ? for_ever() : []() -> asio::awaitable<void> { co_return; }();
            },
            asio::bind_cancellation_slot(stop.slot(), [&](std::exception_ptr) {
                BOOST_TEST(alive.expired());
                done = true;
            }));
        BOOST_TEST(until([&] { return running; }));
        if (cancelled) {
            stop.emit(asio::cancellation_type::terminal);
        }
        BOOST_TEST(until([&] { return done; }));
    }
}

BOOST_AUTO_TEST_CASE(the_body_runs_under_the_lock_and_its_result_comes_when_it_is_released)
{
    bool inside = false;
    const auto r = start(lock, [&](const unique_lock& held) -> asio::awaitable<int> {
        BOOST_TEST(bool(held));
        BOOST_TEST(queue().size() == 1U);
        inside = true;
        co_return 42;
    });
    BOOST_TEST(!inside); // never inline
    BOOST_TEST(until([&] { return r->done; }));
    BOOST_TEST(inside);
    BOOST_TEST(r->value == 42);
    BOOST_TEST(!r->thrown);
    BOOST_TEST(queue().empty()); // released, not just on its way
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_body_may_be_an_operation_instead_of_a_coroutine)
{
    asio::steady_timer timer{io, 1ms};
    const auto r =
        start(lock, [&](const unique_lock&) { return timer.async_wait(asio::deferred); });
    BOOST_TEST(until([&] { return r->done; }));
    BOOST_TEST(!r->thrown);

    std::exception_ptr thrown;
    bool done = false;
    lock.async_with_lock(
        [&](const unique_lock& held) {
            return zk.async_multi(held.guarded({create_op(directory + "-a", "x")}), asio::deferred);
        },
        [&](std::exception_ptr e, const std::vector<transaction_result>& each) {
            thrown = e;
            BOOST_TEST(each.size() == 2U); // the condition, and the step
            done = true;
        });
    BOOST_TEST(until([&] { return done; }));
    BOOST_TEST(!thrown);
    BOOST_TEST(admin.exists(directory + "-a").has_value());
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G5_the_body_is_cancelled_when_the_lock_is_lost_and_the_reason_is_told)
{
    const auto r = start(lock, [](const unique_lock&) { return for_ever(); });
    BOOST_TEST(wait_for_watches(zk, 1));
    admin.remove(directory + "/" + queue().front());
    BOOST_TEST(until([&] { return r->done; }));
    BOOST_TEST(r->code() == errc::lock_lost);
    BOOST_TEST(r->text().find(error_code{errc::node_deleted}.message()) != std::string::npos);
    BOOST_TEST(r->text().find("lost") == r->text().rfind("lost"), r->text()); // said once
    BOOST_TEST(zk.stats().bodies_cancelled == 1U);
    BOOST_TEST(zk.stats().bodies_overdue == 0U);
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_loss_that_shows_at_the_release_is_told_though_the_body_has_ended)
{
    const auto r = start(lock, [&](const unique_lock& held) -> asio::awaitable<int> {
        admin.remove(held.node());
        co_return 1;
    });
    BOOST_TEST(until([&] { return r->done; }));
    BOOST_TEST(r->code() == errc::lock_lost);
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(the_bodys_own_exception_wins)
{
    const auto thrown = start(lock, [](const unique_lock&) -> asio::awaitable<void> {
        throw std::runtime_error{"its own"};
        co_return;
    });
    BOOST_TEST(until([&] { return thrown->done; }));
    BOOST_TEST(thrown->text() == "its own");
    BOOST_TEST(queue().empty());

    const auto at_once = start(lock, [](const unique_lock&) -> asio::awaitable<void> {
        throw std::runtime_error{"before it began"};
    });
    BOOST_TEST(until([&] { return at_once->done; }));
    BOOST_TEST(at_once->text() == "before it began");

    const auto lost = start(lock, [](const unique_lock&) -> asio::awaitable<void> {
        try {
            co_await for_ever();
        } catch (const boost::system::system_error&) {
            throw std::runtime_error{"its own, when it was cancelled"};
        }
    });
    BOOST_TEST(wait_for_watches(zk, 1));
    admin.remove(directory + "/" + queue().front());
    BOOST_TEST(until([&] { return lost->done; }));
    BOOST_TEST(lost->text() == "its own, when it was cancelled");
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_body_that_ignores_its_cancellation_is_reported_and_waited_for)
{
    const auto log = std::make_shared<std::vector<std::string>>(); // the client outlives this case
    auto& other =
        connect({.log = [log](log_level, std::string_view text) { log->emplace_back(text); }});
    asio::steady_timer pause{io};
    for (const auto grace : {0ms, 20ms}) {
        log->clear();
        mutex m{other, directory + std::to_string(grace.count()), {.body_grace = grace}};
        bool go_on_then = false;
        const auto r = start(m, [&](const unique_lock&) -> asio::awaitable<int> {
            co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
            while (!go_on_then) {
                pause.expires_after(1ms);
                co_await pause.async_wait(asio::use_awaitable);
            }
            co_return 7;
        });
        const auto before = other.stats();
        BOOST_TEST(until([&] { return other.stats().locks_granted > before.locks_granted; }));
        go_on(io, 5ms);
        stop.emit(asio::cancellation_type::terminal);
        BOOST_TEST(
            until([&] { return other.stats().bodies_overdue == before.bodies_overdue + 1; }));
        BOOST_TEST(!r->done);
        BOOST_TEST(until([&] {
            return !log->empty() && log->back().find("its body goes on") != std::string::npos;
        }));
        BOOST_TEST(queue_of(m.path()).size() == 1U); // still held
        go_on_then = true;
        BOOST_TEST(until([&] { return r->done; }));
        BOOST_TEST(r->value == 7);
        BOOST_TEST(!r->thrown);
        BOOST_TEST(until([&] { return queue_of(m.path()).empty(); }));
    }
}

BOOST_AUTO_TEST_CASE(cancelling_before_the_grant_runs_no_body)
{
    auto holder = hold(connect());
    bool ran = false;
    const auto body = [&](const unique_lock&) -> asio::awaitable<int> {
        ran = true;
        co_return 1;
    };
    const auto waits = start(lock, body);
    BOOST_TEST(until([&] { return queue().size() == 2U; }));
    stop.emit(asio::cancellation_type::terminal);
    BOOST_TEST(until([&] { return waits->done; }));
    BOOST_TEST(waits->code() == asio::error::operation_aborted);

    const auto begins = start(lock, body); // not even initiated when it is cancelled
    stop.emit(asio::cancellation_type::total);
    BOOST_TEST(until([&] { return begins->done; }));
    BOOST_TEST(begins->code() == asio::error::operation_aborted);
    BOOST_TEST(!ran);
    holder = {};
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(cancelling_the_body_releases_the_lock)
{
    const auto r = start(lock, [](const unique_lock&) { return for_ever(); });
    BOOST_TEST(until([&] { return zk.stats().locks_granted == 1; }));
    go_on(io, 5ms);
    stop.emit(asio::cancellation_type::terminal);
    BOOST_TEST(until([&] { return r->done; }));
    BOOST_TEST(r->code() == asio::error::operation_aborted);
    check_nothing_left();
}

namespace {

// A handler on a context of its own, which runs when it is told to.
struct slow_handler {
    asio::io_context context;
    asio::cancellation_signal stop;
    bool done = false;
    std::exception_ptr thrown;

    auto handler()
    {
        return asio::bind_executor(
            context, asio::bind_cancellation_slot(stop.slot(), [this](std::exception_ptr e) {
                done = true;
                thrown = std::move(e);
            }));
    }
    void poll()
    {
        context.restart();
        context.poll();
    }
    error_code code() const
    {
        try {
            if (thrown) {
                std::rethrow_exception(thrown);
            }
        } catch (const boost::system::system_error& e) {
            return e.code();
        }
        return {};
    }
};

auto body_that_says(bool& ran)
{
    return [&ran](const unique_lock&) -> asio::awaitable<void> {
        ran = true;
        co_return;
    };
}

} // namespace

BOOST_AUTO_TEST_CASE(G5_no_body_begins_under_a_lock_that_is_known_to_be_lost)
{
    slow_handler slow;
    bool ran = false;
    lock.async_with_lock(body_that_says(ran), slow.handler());
    slow.poll();
    BOOST_TEST(until([&] { return zk.stats().locks_granted == 1; })); // and on its way to the body
    admin.remove(directory + '/' + queue().front());
    BOOST_TEST(until([&] { return zk.stats().locks_lost == 1; }));
    BOOST_TEST(until([&] {
        slow.poll();
        return slow.done;
    }));
    BOOST_TEST(!ran);
    BOOST_TEST(slow.code() == errc::node_deleted);
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G3_a_total_cancellation_right_before_the_body_leaves_no_trace)
{
    slow_handler slow;
    bool ran = false;
    lock.async_with_lock(body_that_says(ran), slow.handler());
    slow.poll();
    slow.stop.emit(asio::cancellation_type::total); // is on its way, too
    BOOST_TEST(until([&] { return zk.stats().locks_granted == 1; }));
    BOOST_TEST(until([&] {
        slow.poll();
        return slow.done;
    }));
    BOOST_TEST(queue().empty());
    BOOST_TEST(!ran);
    BOOST_TEST(slow.code() == asio::error::operation_aborted);
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_try_that_comes_too_late_is_no_error_and_one_that_is_cancelled_is)
{
    auto holder = hold(connect());
    std::optional<bool> acquired;
    error_code why;
    const auto record = [&](std::exception_ptr e, bool b) {
        acquired = b;
        why = result{true, 0, std::move(e)}.code();
    };
    const auto begin = std::chrono::steady_clock::now();
    lock.async_try_with_lock_for(
        20ms, [](const unique_lock&) -> asio::awaitable<void> { co_return; }, record);
    BOOST_TEST(until([&] { return acquired.has_value(); }));
    BOOST_TEST((std::chrono::steady_clock::now() - begin >= 20ms));
    BOOST_TEST(!*acquired);
    BOOST_TEST(why == error_code{});

    acquired.reset();
    lock.async_try_with_lock_for(
        1h, [](const unique_lock&) -> asio::awaitable<void> { co_return; },
        asio::bind_cancellation_slot(stop.slot(), record));
    BOOST_TEST(until([&] { return queue().size() == 2U; }));
    stop.emit(asio::cancellation_type::total);
    BOOST_TEST(until([&] { return acquired.has_value(); }));
    BOOST_TEST(!*acquired);
    BOOST_TEST(why == asio::error::operation_aborted);
    BOOST_TEST(queue().size() == 1U);
    holder = {};
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(errors_of_the_lock_come_without_running_the_body)
{
    mutex bad{zk, "no/slash"};
    const auto r = start(bad, [](const unique_lock&) -> asio::awaitable<int> {
        BOOST_TEST(false);
        co_return 1;
    });
    BOOST_TEST(until([&] { return r->done; }));
    BOOST_TEST(r->code() == errc::invalid_path);
}

BOOST_AUTO_TEST_CASE(what_an_exception_says_stands_in_it_once)
{
    tcp_proxy proxy{server.connect_string()};
    client& away = connect_through(proxy);
    proxy.refuse(true);
    proxy.cut();
    BOOST_TEST(until([&] { return away.state() == connection_state::suspended; }));
    mutex m{away, directory};
    std::optional<result> tried;
    m.async_try_with_lock_for(
        20ms, [](const unique_lock&) -> asio::awaitable<void> { co_return; },
        [&](std::exception_ptr e, bool) {
            tried = result{true, 0, std::move(e)};
        });
    BOOST_TEST(until([&] { return tried.has_value(); }));
    BOOST_TEST(tried->code() == errc::disconnected);
    const auto text = tried->text();
    const auto message = error_code{errc::disconnected}.message();
    BOOST_TEST(text.find("not granted in time") != text.npos, text);
    BOOST_TEST(text.find(message) != text.npos, text);
    BOOST_TEST(text.find(message) == text.rfind(message), text);
}

BOOST_AUTO_TEST_CASE(closing_or_destroying_the_client_cancels_the_body)
{
    for (const bool destroy : {false, true}) {
        auto c = std::make_unique<client>(io, client_options{.hosts = server.connect_string()});
        outcome<> connected;
        c->async_connect(connected.handler());
        value_of(io, connected);
        mutex m{*c, directory};
        const auto r = start(m, [](const unique_lock&) { return for_ever(); });
        BOOST_TEST(until([&] { return c->stats().locks_granted == 1; }));
        go_on(io, 5ms);
        if (destroy) {
            c.reset();
        } else {
            c->async_close([](error_code) {});
        }
        BOOST_TEST(until([&] { return r->done; }));
        BOOST_TEST(r->code() == errc::lock_lost);
        BOOST_TEST(r->text().find(error_code{errc::client_closed}.message()) != std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(a_release_during_which_the_client_is_destroyed_is_no_success)
{
    auto& c = connect();
    mutex m{c, directory};
    std::optional<std::uint64_t> sent;
    const auto r = start(m, [&](const unique_lock&) -> asio::awaitable<int> {
        sent = c.stats().requests;
        co_return 1;
    });
    for (io.restart(); !sent || c.stats().requests == *sent; io.restart()) {
        BOOST_REQUIRE(io.run_one_for(long_enough) == 1U); // the answer comes in a turn of its own
    }
    BOOST_REQUIRE(!r->done);
    clients.pop_back();
    BOOST_TEST(until([&] { return r->done; }));
    BOOST_TEST(r->code() == errc::lock_lost);
}

BOOST_AUTO_TEST_CASE(the_context_may_be_destroyed_while_the_body_runs)
{
    bool destroyed = false;
    {
        asio::io_context other;
        client c{other, {.hosts = server.connect_string()}};
        outcome<> connected;
        c.async_connect(connected.handler());
        value_of(other, connected);
        mutex m{c, directory};
        struct flag {
            explicit flag(bool& f) : set{f} {}
            ~flag() { set = true; }
            bool& set;
        };
        m.async_with_lock(
            [keep = std::make_shared<flag>(destroyed)](const unique_lock&) { return for_ever(); },
            [](std::exception_ptr) { BOOST_TEST(false); });
        BOOST_TEST(becomes_true(other, [&] { return c.stats().locks_granted == 1; }));
        go_on(other, 5ms);
    }
    BOOST_TEST(destroyed);
}

BOOST_AUTO_TEST_CASE(with_every_kind_of_token)
{
    const auto five = [](const unique_lock&) -> asio::awaitable<int> { co_return 5; };
    auto future = lock.async_with_lock(five, asio::use_future);
    BOOST_TEST(until([&] { return future.wait_for(0s) == std::future_status::ready; }));
    BOOST_TEST(future.get() == 5);

    bool done = false;
    asio::co_spawn(
        io,
        [&]() -> asio::awaitable<void> {
            const int first = co_await lock.async_with_lock(five);
            const int second = co_await lock.async_with_lock(five, asio::use_awaitable);
            BOOST_TEST(first + second == 10);
            const auto [e, value] =
                co_await lock.async_with_lock(five, asio::as_tuple(asio::deferred));
            BOOST_TEST(!e);
            BOOST_TEST(value == 5);
            co_await lock.async_with_lock(
                [](const unique_lock&) -> asio::awaitable<void> { co_return; });
        },
        [&](std::exception_ptr e) {
            BOOST_TEST(!e);
            done = true;
        });
    BOOST_TEST(until([&] { return done; }));
    auto tried = lock.async_try_with_lock_for(1h, five, asio::use_future);
    BOOST_TEST(until([&] { return tried.wait_for(0s) == std::future_status::ready; }));
    BOOST_TEST(tried.get().value() == 5);
    done = false;
    asio::co_spawn(
        io,
        [&]() -> asio::awaitable<void> {
            BOOST_TEST((co_await lock.async_try_with_lock(five)).value() == 5);
            const auto [e, value] = co_await lock.async_try_with_lock_until(
                std::chrono::steady_clock::now() + 1h, five, asio::as_tuple(asio::deferred));
            BOOST_TEST(!e);
            BOOST_TEST(value.value() == 5);
        },
        [&](std::exception_ptr e) {
            BOOST_TEST(!e);
            done = true;
        });
    BOOST_TEST(until([&] { return done; }));
    lock.async_with_lock(five, asio::detached);
    lock.async_with_lock(five, [only_moved = std::make_unique<int>(1)](std::exception_ptr, int) {});
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_mutex_may_be_made_where_it_is_awaited)
{
    bool done = false;
    asio::co_spawn(
        io,
        [&]() -> asio::awaitable<void> {
            const auto path = directory + "/with-a-name-that-does-not-fit-into-a-small-string";
            {
                const auto held = co_await mutex{zk, path}.async_lock(asio::use_awaitable);
                BOOST_TEST(bool(held));
            }
            const int value = co_await mutex{zk, path}.async_with_lock(
                [](const unique_lock&) -> asio::awaitable<int> { co_return 5; });
            BOOST_TEST(value == 5);
        },
        [&](std::exception_ptr e) {
            BOOST_TEST(!e);
            done = true;
        });
    BOOST_TEST(until([&] { return done; }));
    BOOST_TEST(until([&] { return zk.stats().contenders == 0; }));
}

// Users' strands on a pool: the body and the handler run there, one at a time.
BOOST_AUTO_TEST_CASE(on_a_pool_the_body_runs_on_the_handlers_strand)
{
    asio::thread_pool pool{4};
    std::atomic<int> done{0};
    std::atomic<int> faults{0};
    long counter = 0;
    const int rounds = 200;
    for (int i = 0; i != rounds; ++i) {
        const auto strand = asio::make_strand(pool);
        lock.async_with_lock(
            [&counter, &faults, strand](const unique_lock&) -> asio::awaitable<void> {
                ++counter;
                faults += strand.running_in_this_thread() ? 0 : 1;
                co_return;
            },
            asio::bind_executor(strand, [&, strand](std::exception_ptr e) {
                faults += !e && strand.running_in_this_thread() ? 0 : 1;
                ++done;
            }));
    }
    BOOST_TEST(until([&] { return done == rounds; }));
    pool.join();
    BOOST_TEST(faults == 0);
    BOOST_TEST(counter == rounds);
    check_nothing_left();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::with_lock_test
