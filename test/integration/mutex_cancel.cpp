// Cancelling the acquisition of a mutex, at every stage of it: no node and no watch stay (G3), the handler
// is called once (G6), and a lock that was granted is delivered.
#include <support/lock_scene.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace colock::test::mutex_cancel_test {

namespace {

using asio::cancellation_type;

const error_code aborted = asio::error::operation_aborted;

struct {
    cancellation_type type;
    const char* name;
} constexpr kinds[] = {{cancellation_type::terminal, "terminal"},
                       {cancellation_type::partial, "partial"},
                       {cancellation_type::total, "total"},
                       {cancellation_type::all, "all"}};

bool completes_at_once(cancellation_type type)
{
    return (type & (cancellation_type::terminal | cancellation_type::partial)) !=
           cancellation_type::none;
}

struct attempt {
    attempt(lock_scene& s, client& c, bool try_only = false)
    {
        mutex m{c, s.directory, s.with_nodes()};
        auto handler = asio::bind_cancellation_slot(signal.slot(), result.handler());
        try_only ? m.async_try_lock(std::move(handler)) : m.async_lock(std::move(handler));
    }

    asio::cancellation_signal signal;
    outcome<unique_lock> result;
};

} // namespace

#define FOR_EACH_KIND                                                                              \
    for (const auto& kind : kinds)                                                                 \
    BOOST_TEST_CONTEXT("cancellation " << kind.name)

BOOST_AUTO_TEST_SUITE(mutex_cancel)

BOOST_AUTO_TEST_CASE(G3_cancelled_before_anything_was_sent)
{
    lock_scene s;
    auto& c = s.connect();
    s.admin.create(s.directory);
    FOR_EACH_KIND
    {
        for (const bool try_only : {false, true}) {
            attempt a{s, c, try_only};
            a.signal.emit(kind.type);
            BOOST_TEST(!a.result.done()); // not inline
            BOOST_TEST(code_of(s.io, a.result) == aborted);
            s.check_nothing_left();
            BOOST_TEST(a.result.calls() == 1U);
        }
    }
    BOOST_TEST(c.stats().locks_granted == 0U);
}

BOOST_AUTO_TEST_CASE(G3_cancelled_while_the_directory_is_made)
{
    lock_scene s;
    tcp_proxy proxy{s.server.connect_string()};
    auto& c = s.connect_through(proxy);
    FOR_EACH_KIND
    {
        auto held_back = proxy.on_reply(opcode::create_container, reaction::hold);
        attempt a{s, c};
        BOOST_TEST(s.until([&] { return held_back.fired() == 1; }));
        a.signal.emit(kind.type);
        BOOST_TEST(code_of(s.io, a.result) == aborted); // no node was made, so none has to go
        held_back.release();
        s.check_nothing_left();
        s.admin.remove(s.directory);
    }
}

BOOST_AUTO_TEST_CASE(G3_K6_cancelled_with_the_create_in_flight)
{
    lock_scene s;
    tcp_proxy proxy{s.server.connect_string()};
    auto& c = s.connect_through(proxy);
    s.admin.create(s.directory);
    FOR_EACH_KIND
    {
        for (const bool try_only : {false, true}) {
            auto held_back = proxy.on_reply(any_create(), reaction::hold);
            attempt a{s, c, try_only};
            BOOST_TEST(s.until([&] { return held_back.fired() == 1; }));
            BOOST_TEST(s.queue().size() == 1U);
            a.signal.emit(kind.type);
            if (completes_at_once(kind.type)) {
                BOOST_TEST(code_of(s.io, a.result) == aborted);
                BOOST_TEST(s.queue().size() == 1U); // it is removed in the background
                held_back.release();
            } else {
                go_on(s.io, 20ms);
                BOOST_TEST(!a.result.done());
                held_back.release();
                BOOST_TEST(code_of(s.io, a.result) == aborted);
                BOOST_TEST(s.queue().empty()); // no trace is left when it completes
            }
            s.check_nothing_left();
            BOOST_TEST(a.result.calls() == 1U);
        }
    }
}

BOOST_AUTO_TEST_CASE(G3_E3_cancelled_while_waiting)
{
    lock_scene s;
    auto& holder = s.connect();
    auto& c = s.connect();
    auto& behind = s.connect();
    FOR_EACH_KIND
    {
        auto held = s.hold(holder);
        attempt a{s, c};
        BOOST_TEST(s.wait_for_watches(c, 2));
        auto next = s.start_waiter(behind);
        BOOST_TEST(s.wait_for_watches(behind, 3));
        a.signal.emit(kind.type);
        BOOST_TEST(code_of(s.io, a.result) == aborted);
        if (!completes_at_once(kind.type)) {
            BOOST_TEST(s.queue().size() == 2U);
            BOOST_TEST(s.watches_of(c).empty());
        }
        BOOST_TEST(s.wait_for_watches(c, 0));
        // The one behind it goes on waiting: its own node, and the holder's.
        BOOST_TEST(s.wait_for_watches(behind, 2));
        BOOST_TEST(!next.done());
        BOOST_TEST(s.queue().size() == 2U);
        BOOST_TEST(s.watches_of(holder).size() <= 1U); // its own node
        BOOST_TEST(s.unlock(held) == error_code{});
        held = value_of(s.io, next);
        BOOST_TEST(s.unlock(held) == error_code{});
        s.check_nothing_left();
        BOOST_TEST(a.result.calls() == 1U);
    }
}

BOOST_AUTO_TEST_CASE(G4_cancelled_when_its_turn_is_on_the_way)
{
    lock_scene s;
    tcp_proxy proxy{s.server.connect_string()};
    auto& holder = s.connect();
    auto& c = s.connect_through(proxy);
    auto& behind = s.connect();
    FOR_EACH_KIND
    {
        auto held = s.hold(holder);
        attempt a{s, c};
        BOOST_TEST(s.wait_for_watches(c, 2));
        auto next = s.start_waiter(behind);
        auto held_back = proxy.on_reply(opcode::notification, reaction::hold);
        held = {};
        BOOST_TEST(s.until([&] { return held_back.fired() == 1; }));
        BOOST_TEST(!next.done());
        a.signal.emit(kind.type);
        held_back.release();
        BOOST_TEST(code_of(s.io, a.result) == aborted);
        held = value_of(s.io, next);
        BOOST_TEST(s.unlock(held) == error_code{});
        s.check_nothing_left();
        BOOST_TEST(a.result.calls() == 1U);
    }
}

BOOST_AUTO_TEST_CASE(G6_once_granted_it_is_too_late)
{
    lock_scene s;
    auto& c = s.connect();
    asio::io_context elsewhere;
    FOR_EACH_KIND
    {
        asio::cancellation_signal signal;
        outcome<unique_lock> result;
        mutex{c, s.directory, s.with_nodes()}.async_lock(asio::bind_cancellation_slot(
            signal.slot(), asio::bind_executor(elsewhere, result.handler())));
        BOOST_TEST(s.until([&] { return c.stats().locks_granted > c.stats().locks_released; }));
        signal.emit(kind.type);
        go_on(s.io, 5ms);
        BOOST_TEST(!result.done());
        elsewhere.restart();
        elsewhere.run();
        BOOST_TEST(result.ok());
        BOOST_TEST(static_cast<bool>(result.value()));
        signal.emit(kind.type); // nor afterwards
        BOOST_TEST(s.queue().size() == 1U);
        BOOST_TEST(s.unlock(result.value()) == error_code{});
        s.check_nothing_left();
    }
}

BOOST_AUTO_TEST_CASE(G3_cancelled_while_disconnected)
{
    lock_scene s;
    tcp_proxy proxy{s.server.connect_string()};
    auto& holder = s.connect();
    auto& c = s.connect_through(proxy);
    const auto suspend = [&] {
        proxy.refuse(true);
        proxy.cut();
        BOOST_TEST(s.until([&] { return c.state() == connection_state::suspended; }));
    };
    const auto resume = [&] {
        proxy.refuse(false);
        BOOST_TEST(s.until([&] { return c.state() == connection_state::connected; }));
    };
    FOR_EACH_KIND
    {
        auto held = s.hold(holder);
        // One that has a node, and one that has not begun.
        attempt waits{s, c};
        BOOST_TEST(s.wait_for_watches(c, 2));
        suspend();
        attempt fresh{s, c};
        waits.signal.emit(kind.type);
        fresh.signal.emit(kind.type);
        BOOST_TEST(code_of(s.io, fresh.result) == aborted);
        if (completes_at_once(kind.type)) {
            BOOST_TEST(code_of(s.io, waits.result) == aborted);
        } else {
            go_on(s.io, 20ms);
            BOOST_TEST(!waits.result.done());
        }
        BOOST_TEST(s.queue().size() == 2U);
        resume();
        BOOST_TEST(code_of(s.io, waits.result) == aborted);
        BOOST_TEST(s.until([&] { return s.queue().size() == 1; }));

        // One whose create was answered, but not to it.
        auto lost = proxy.on_reply(any_create(), reaction::drop_and_cut);
        proxy.refuse(true);
        attempt ambiguous{s, c};
        BOOST_TEST(
            s.until([&] { return lost.fired() == 1 && c.state() == connection_state::suspended; }));
        BOOST_TEST(s.queue().size() == 2U);
        ambiguous.signal.emit(kind.type);
        if (completes_at_once(kind.type)) {
            BOOST_TEST(code_of(s.io, ambiguous.result) == aborted);
        }
        resume();
        BOOST_TEST(code_of(s.io, ambiguous.result) == aborted);
        BOOST_TEST(s.until([&] { return s.queue().size() == 1; }));

        BOOST_TEST(s.unlock(held) == error_code{});
        s.check_nothing_left();
    }
    BOOST_TEST(c.stats().sessions == 1U);
}

BOOST_AUTO_TEST_CASE(a_total_cancellation_can_be_followed_by_a_terminal_one)
{
    lock_scene s;
    tcp_proxy proxy{s.server.connect_string()};
    auto& c = s.connect_through(proxy);
    s.admin.create(s.directory);
    auto held_back = proxy.on_reply(any_create(), reaction::hold);
    attempt a{s, c};
    BOOST_TEST(s.until([&] { return held_back.fired() == 1; }));
    a.signal.emit(cancellation_type::total);
    go_on(s.io, 10ms);
    BOOST_TEST(!a.result.done());
    const auto connections = c.stats().connections;
    a.signal.emit(cancellation_type::terminal);
    BOOST_TEST(code_of(s.io, a.result) == aborted);
    BOOST_TEST(c.stats().connections == connections); // not because the silence was noticed
    held_back.release();
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_total_cancellation_without_a_connection_can_be_followed_by_a_terminal_one)
{
    lock_scene s;
    tcp_proxy proxy{s.server.connect_string()};
    auto& c = s.connect_through(proxy);
    auto held = s.hold(s.connect());
    attempt a{s, c};
    BOOST_TEST(s.wait_for_watches(c, 2));
    proxy.refuse(true);
    proxy.cut();
    BOOST_TEST(s.until([&] { return c.state() == connection_state::suspended; }));
    a.signal.emit(cancellation_type::total);
    go_on(s.io, 10ms);
    BOOST_TEST(!a.result.done());
    a.signal.emit(cancellation_type::partial);
    BOOST_TEST(code_of(s.io, a.result) == aborted);
    BOOST_TEST(s.queue().size() == 2U);
    proxy.refuse(false);
    BOOST_TEST(s.until([&] { return s.queue().size() == 1; }));
    held = {};
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_cancelled_unlock_goes_on_in_the_background)
{
    lock_scene s;
    tcp_proxy proxy{s.server.connect_string()};
    auto& c = s.connect_through(proxy);
    FOR_EACH_KIND
    {
        auto held = s.hold(c);
        auto held_back = proxy.on_request(opcode::remove, reaction::hold);
        asio::cancellation_signal signal;
        outcome<> unlocked;
        held.async_unlock(asio::bind_cancellation_slot(signal.slot(), unlocked.handler()));
        BOOST_TEST(s.until([&] { return held_back.fired() == 1; }));
        signal.emit(kind.type);
        if (completes_at_once(kind.type)) {
            BOOST_TEST(code_of(s.io, unlocked) == aborted);
            BOOST_TEST(s.queue().size() == 1U);
        } else {
            go_on(s.io, 10ms);
            BOOST_TEST(!unlocked.done()); // total alone is ignored
        }
        held_back.release();
        s.check_nothing_left();
        BOOST_TEST(code_of(s.io, unlocked) ==
                   (completes_at_once(kind.type) ? aborted : error_code{}));
    }
    BOOST_TEST(c.stats().locks_released == std::size(kinds));
}

BOOST_AUTO_TEST_CASE(the_operator_or_with_a_timer_gives_up_in_time)
{
    using namespace asio::experimental::awaitable_operators;
    lock_scene s;
    auto& c = s.connect();
    auto held = s.hold(c);
    const auto race = [&](std::chrono::milliseconds patience) -> asio::awaitable<unique_lock> {
        mutex m{c, s.directory, s.with_nodes()};
        asio::steady_timer timer{s.io, patience};
        auto result =
            co_await (m.async_lock(asio::use_awaitable) || timer.async_wait(asio::use_awaitable));
        auto* taken = std::get_if<unique_lock>(&result);
        co_return taken != nullptr ? std::move(*taken) : unique_lock{};
    };
    BOOST_TEST(!run(s.io, race(30ms)));
    BOOST_TEST(s.until([&] { return s.queue().size() == 1; }));
    BOOST_TEST(s.wait_for_watches(c, 1)); // the holder's own
    held = {};
    auto won = run(s.io, race(20s));
    BOOST_TEST(static_cast<bool>(won));
    // Close calls: whoever wins, nothing is left and nothing is held by nobody.
    for (int i = 0; i != 20; ++i) {
        won = {};
        won = run(s.io, race(std::chrono::milliseconds{i % 4}));
    }
    won = {};
    s.check_nothing_left();
}

namespace {

// Locks a few mutexes of one connection over and over, and cancels at random.
void cancel_at_random(int batches)
{
    constexpr std::size_t attempts_a_batch = 50;
    constexpr std::size_t mutexes = 3;
    const auto seed = std::random_device{}();
    BOOST_TEST_CONTEXT("seed " << seed)
    {
        lock_scene s;
        auto& c = s.connect();
        std::mt19937 random{seed};
        const auto below = [&](std::size_t n) { return random() % n; };
        std::array<int, mutexes> holders{};
        int most_holders = 0;
        std::size_t granted = 0;
        std::size_t cancelled = 0;
        std::size_t others = 0;
        struct one {
            std::size_t which = 0;
            asio::cancellation_signal signal;
            unsigned calls = 0;
            unique_lock held;
        };
        for (int batch = 0; batch != batches; ++batch) {
            std::vector<std::unique_ptr<one>> all;
            const auto release_some = [&](std::size_t one_in) {
                for (auto& o : all) {
                    if (o->held && below(one_in) == 0) {
                        --holders[o->which];
                        if (below(2) == 0) {
                            o->held.async_unlock(asio::detached);
                        } else {
                            o->held = {};
                        }
                    }
                }
            };
            for (std::size_t i = 0; i != attempts_a_batch; ++i) {
                auto& o = *all.emplace_back(std::make_unique<one>());
                o.which = below(mutexes);
                mutex m{c, s.directory + "/" + std::to_string(o.which)};
                auto handler = asio::bind_cancellation_slot(
                    o.signal.slot(), [&](error_code ec, unique_lock held) {
                        ++o.calls;
                        others += static_cast<std::size_t>(ec && ec != aborted);
                        cancelled += static_cast<std::size_t>(ec == aborted);
                        if (held) {
                            ++granted;
                            most_holders = std::max(most_holders, ++holders[o.which]);
                            o.held = std::move(held);
                        }
                    });
                below(8) == 0 ? m.async_try_lock(std::move(handler))
                              : m.async_lock(std::move(handler));
                for (auto n = below(3); n != 0; --n) {
                    s.io.poll_one();
                }
            }
            std::shuffle(all.begin(), all.end(), random);
            for (auto& o : all) {
                o->signal.emit(kinds[below(std::size(kinds))].type);
                if (below(4) == 0) {
                    s.io.run_one_for(1ms);
                }
                for (auto n = below(4); n != 0; --n) {
                    s.io.poll_one();
                }
                release_some(3);
            }
            BOOST_REQUIRE(s.until([&] {
                release_some(1);
                return std::ranges::all_of(all, [](const auto& o) { return o->calls != 0; });
            }));
            release_some(1);
            BOOST_REQUIRE(std::ranges::all_of(all, [](const auto& o) { return o->calls == 1; }));
        }
        std::cout << "figure: random cancellations: " << cancelled << " aborted, " << granted
                  << " granted\n";
        BOOST_TEST(others == 0U);
        BOOST_TEST(most_holders <= 1);                  // G1
        BOOST_TEST(c.stats().locks_granted == granted); // none was granted to nobody
        BOOST_TEST(c.stats().sessions == 1U);
        BOOST_TEST(s.until([&] { return c.stats().contenders == 0; }));
        BOOST_TEST(c.stats().locks_released == granted);
        for (std::size_t i = 0; i != mutexes; ++i) {
            BOOST_TEST(s.queue_of(s.directory + "/" + std::to_string(i)).empty());
        }
        BOOST_TEST(s.wait_for_watches(c, 0));
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(G1_G3_G6_two_thousand_random_cancellations_on_one_connection)
{
    cancel_at_random(repetitions(40));
}

BOOST_AUTO_TEST_CASE(random_cancellations_soak, *boost::unit_test::disabled())
{
    cancel_at_random(2000);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::mutex_cancel_test
