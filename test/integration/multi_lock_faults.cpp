// Several locks at once: cancellations, losses, connections that break, clients and contexts that go.
#include "multi_scene.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <functional>
#include <iostream>
#include <list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace colock::test::multi_lock_faults_test {

BOOST_FIXTURE_TEST_SUITE(multi_lock_faults, multi_scene)

// ---- cancelling

BOOST_AUTO_TEST_CASE(G3_cancelled_at_any_moment_it_leaves_nothing_behind)
{
    tcp_proxy proxy = link_proxy(server);
    proxy.set_delay(1ms);
    auto& other = connect(quiet);
    auto& c = connect_through(proxy, quiet);
    auto busy = hold_one(other, 1);
    auto all = all_of(c, {0, 1, 2});
    for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                            asio::cancellation_type::total}) {
        for (int i = 0; i != 16; ++i) {
            BOOST_TEST_CONTEXT("type " << static_cast<int>(type) << ", after " << i
                                       << " quarters of a ms")
            {
                if (i == 8) {
                    busy = {}; // from here on it may get all of them
                }
                asio::cancellation_signal signal;
                outcome<multi_guard> result;
                all.async_lock(asio::bind_cancellation_slot(signal.slot(), result.handler()));
                go_on(io, std::chrono::milliseconds{0});
                const auto end = clock::now() + i * 250us;
                while (clock::now() < end) {
                    io.restart();
                    io.poll();
                }
                signal.emit(type);
                const auto ec = code_of(io, result);
                BOOST_TEST((!ec || ec == asio::error::operation_aborted));
                BOOST_TEST(bool(result.value()) == !ec);
                if (ec && type == asio::cancellation_type::total) {
                    // Whatever is in the queue is another's.
                    BOOST_TEST((queues(3) == sizes{0, i < 8 ? 1U : 0U, 0}));
                }
                result = {};
                BOOST_TEST(queues_become({0, i < 8 ? 1U : 0U, 0}));
            }
        }
        busy = hold_one(other, 1);
    }
    busy = {};
    check_no_trace();
}

BOOST_AUTO_TEST_CASE(G3_a_total_cancellation_waits_and_a_terminal_one_hurries_it)
{
    tcp_proxy proxy = link_proxy(server);
    auto& c = connect_through(proxy);
    auto busy = hold_one(connect(), 1);
    asio::cancellation_signal signal;
    outcome<multi_guard> result;
    all_of(c, {0, 1}).async_lock(asio::bind_cancellation_slot(signal.slot(), result.handler()));
    BOOST_TEST(queues_become({1, 2}));
    proxy.refuse(true);
    proxy.cut();
    BOOST_TEST(until([&] { return c.state() == connection_state::suspended; }));
    signal.emit(asio::cancellation_type::total);
    go_on(io, 5ms);
    BOOST_TEST(!result.done());
    signal.emit(asio::cancellation_type::terminal);
    BOOST_TEST(code_of(io, result) == asio::error::operation_aborted);
    proxy.refuse(false);
    BOOST_TEST(queues_become({0, 1}));
    busy = {};
    check_no_trace();
}

// ---- losing

BOOST_AUTO_TEST_CASE(G5_the_loss_of_one_is_the_loss_of_all)
{
    auto& c = connect();
    auto held = hold_all(c, {0, 1, 2});
    outcome<error_code> lost, again;
    held.async_wait_lost(lost.handler());
    held.async_wait_lost(again.handler());
    BOOST_TEST(wait_for_watches(c, 3));
    BOOST_TEST(!lost.done());
    admin.remove(held[1].node());
    BOOST_TEST(value_of(io, lost) == errc::node_deleted);
    BOOST_TEST(value_of(io, again) == errc::node_deleted);
    BOOST_TEST(!held);
    BOOST_TEST(held.loss_reason() == errc::node_deleted);
    BOOST_TEST((held.state() == lock_state::lost));
    BOOST_TEST((held.remaining() == clock::duration::zero()));
    BOOST_TEST((held.safe_until() == clock::time_point::min()));
    BOOST_TEST((queues(3) == sizes{1, 0, 1})); // nobody is let in yet
    BOOST_TEST(unlock(held) == errc::node_deleted);
    BOOST_TEST((queues(3) == sizes{0, 0, 0}));
    check_no_trace();
}

BOOST_AUTO_TEST_CASE(G5_the_first_reason_stays)
{
    auto& c = connect();
    auto held = hold_all(c, {0, 1});
    BOOST_TEST(wait_for_watches(c, 2));
    admin.remove(held[1].node());
    BOOST_TEST(until([&] { return held.loss_reason() == errc::node_deleted; }));
    outcome<> closed;
    c.async_close(closed.handler());
    BOOST_TEST(code_of(io, closed) == error_code{});
    BOOST_TEST(held[0].loss_reason() == errc::client_closed);
    BOOST_TEST(held.loss_reason() == errc::node_deleted);
}

BOOST_AUTO_TEST_CASE(a_wait_for_the_loss_ends_with_the_release_and_can_be_cancelled)
{
    auto& c = connect();
    auto held = hold_all(c, {0, 1});
    outcome<error_code> lost, cancelled, of_nothing;
    asio::cancellation_signal signal;
    held.async_wait_lost(lost.handler());
    held.async_wait_lost(asio::bind_cancellation_slot(signal.slot(), cancelled.handler()));
    go_on(io, 2ms);
    signal.emit(asio::cancellation_type::total);
    BOOST_TEST(code_of(io, cancelled) == asio::error::operation_aborted);
    auto moved = std::move(held);
    BOOST_TEST(!lost.done());
    moved = {};
    BOOST_TEST(code_of(io, lost) == errc::not_held);
    multi_guard{}.async_wait_lost(asio::bind_executor(io, of_nothing.handler()));
    BOOST_TEST(code_of(io, of_nothing) == errc::not_held);
    check_no_trace();
}

BOOST_AUTO_TEST_CASE(what_is_lost_while_others_are_waited_for_is_taken_again)
{
    auto& c = connect();
    auto busy = hold_one(connect(), 1);
    const auto result = start_all(c, {0, 1, 2});
    BOOST_TEST(queues_become({1, 2, 0}));
    const auto node = queue_of(path(0)).front();
    admin.remove(path(0) + '/' + node);
    BOOST_TEST((queues(3) == sizes{0, 2, 0}));
    go_on(io, 20ms); // the client has heard of it
    busy = {};
    auto held = value_of(io, result);
    BOOST_TEST(bool(held));
    BOOST_TEST((queues(3) == sizes{1, 1, 1}));
    held = {};
    check_no_trace();
}

BOOST_AUTO_TEST_CASE(a_cancellation_ends_the_pause_after_losses)
{
    auto& c = connect();
    auto& one = connect();
    auto& another = connect();
    auto busy = hold_one(one, 1);
    asio::cancellation_signal signal;
    outcome<multi_guard> result;
    all_of(c, {0, 1}).async_lock(asio::bind_cancellation_slot(signal.slot(), result.handler()));
    for (int losses = 1;; ++losses) {
        BOOST_TEST_REQUIRE(queues_become({1, 2}));
        outcome<unique_lock> next;
        lock_of(losses % 2 == 0 ? one : another, 1).async_lock(next.handler());
        BOOST_TEST_REQUIRE(queues_become({1, 3}));
        admin.remove(path(0) + '/' + queue_of(path(0)).front());
        go_on(io, 20ms); // the client has heard of it
        // So it gets the second lock, gives it up, and takes the first one again, after a pause.
        busy = {};
        busy = value_of(io, next);
        if (losses == 12) { // the pause takes half a second at least
            break;
        }
    }
    BOOST_TEST_REQUIRE(until([&] { return c.stats().contenders == 0U; })); // asks no server
    signal.emit(asio::cancellation_type::total);
    for (int i = 0; i != 10; ++i) { // nothing has to be waited for
        io.restart();
        io.poll();
    }
    BOOST_TEST_REQUIRE(result.done());
    BOOST_TEST(code_of(io, result) == asio::error::operation_aborted);
    busy = {};
    check_no_trace();
}

BOOST_AUTO_TEST_CASE(the_session_expires_while_it_waits)
{
    for (const unsigned rejoin : {3U, 2U, 1U, 0U}) {
        const bool first = (rejoin & 1U) != 0;
        const bool second = (rejoin & 2U) != 0;
        BOOST_TEST_CONTEXT("the first " << first << ", the second " << second)
        {
            tcp_proxy proxy = link_proxy(server);
            auto& c = connect_through(proxy);
            auto busy = hold_one(connect(), 1);
            outcome<multi_guard> result;
            {
                multi_lock both{mutex{c, path(0), with_nodes({.rejoin_on_expiry = first})},
                                mutex{c, path(1), with_nodes({.rejoin_on_expiry = second})}};
                both.async_lock(result.handler());
            }
            BOOST_TEST(queues_become({1, 2}));
            BOOST_TEST(!kill_session(server.connect_string(), c.session_id(), password_of(c)));
            if (second) {
                BOOST_TEST(queues_become({0, 2})); // the first one is looked at when it is its turn
                busy = {};
            }
            BOOST_TEST(code_of(io, result) ==
                       (first && second ? error_code{} : errc::session_expired));
            BOOST_TEST(bool(result.value()) == (first && second));
            busy = {};
            result = {};
            check_no_trace();
            close_all();
        }
    }
}

BOOST_AUTO_TEST_CASE(guarded_writes)
{
    auto& c = connect();
    auto held = hold_all(c, {0, 1});
    const auto write = [&] {
        outcome<std::vector<transaction_result>> result;
        c.async_multi(held.guarded({set_op(directory, "written")}), result.handler());
        return code_of(io, result);
    };
    BOOST_TEST(held.guarded({}).size() == 2U);
    BOOST_TEST(write() == error_code{});
    BOOST_TEST(admin.get(directory) == "written");
    admin.remove(held[1].node());
    BOOST_TEST(write() == zookeeper_errc::no_node);
    BOOST_CHECK_THROW(static_cast<void>(multi_guard{}.guarded({})), boost::system::system_error);
}

// ---- disconnections

BOOST_AUTO_TEST_CASE(G4_the_connection_breaks_in_the_middle)
{
    tcp_proxy proxy = link_proxy(server);
    for (const bool carried_out : {true, false}) {
        for (const bool busy : {true, false}) {
            for (const unsigned nth : {1U, 2U, 3U}) {
                BOOST_TEST_CONTEXT("carried out " << carried_out << ", busy " << busy << ", create "
                                                  << nth)
                {
                    auto& other = connect();
                    auto& c = connect_through(proxy);
                    std::optional<unique_lock> held_elsewhere;
                    if (busy) {
                        held_elsewhere = hold_one(other, 1);
                    }
                    path(2);
                    const rule_options details{.nth = nth};
                    const auto cut =
                        carried_out
                            ? proxy.on_reply(opcode::create2, reaction::drop_and_cut, details)
                            : proxy.on_request(opcode::create2, reaction::drop_and_cut, details);
                    const auto result = start_all(c, {0, 1, 2});
                    BOOST_TEST(until([&] { return cut.fired() == 1; }));
                    if (busy) {
                        BOOST_TEST(queues_become({1, 2, 0}));
                        held_elsewhere.reset();
                    }
                    auto held = value_of(io, result);
                    BOOST_TEST(bool(held));
                    BOOST_TEST((queues(3) == sizes{1, 1, 1}));
                    BOOST_TEST(unlock(held) == error_code{});
                    check_no_trace();
                    close_all();
                    proxy.clear_rules();
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(G3_the_roll_back_survives_a_disconnection)
{
    tcp_proxy proxy = link_proxy(server);
    auto& c = connect_through(proxy);
    auto busy = hold_one(connect(), 1);
    outcome<multi_guard> result;
    const auto cut = proxy.on_request(opcode::remove, reaction::drop_and_cut, {.nth = 2});
    path(2);
    all_of(c, {0, 1, 2}).async_try_lock_for(300ms, result.handler());
    const auto ec = code_of(io, result);
    BOOST_TEST(!ec);
    BOOST_TEST(!result.value());
    BOOST_TEST(queues_become({0, 1, 0}));
    BOOST_TEST(cut.fired() == 1U);
    busy = {};
    check_no_trace();
}

BOOST_AUTO_TEST_CASE(an_error_of_one_gives_all_up)
{
    auto& c = connect();
    auto busy = hold_one(connect(), 0);
    path(1);
    multi_lock bad{lock_of(c, 0), lock_of(c, 1), mutex{c, directory + "/x/"}};
    outcome<multi_guard> result;
    bad.async_lock(result.handler());
    BOOST_TEST(code_of(io, result) == errc::invalid_path);
    BOOST_TEST(!result.value());
    BOOST_TEST(queues_become({1, 0}));
    busy = {};
    check_no_trace();
}

BOOST_AUTO_TEST_CASE(the_client_is_closed_or_destroyed_meanwhile)
{
    auto& c = connect();
    auto busy = hold_one(connect(), 1);
    const auto result = start_all(c, {0, 1});
    BOOST_TEST(queues_become({1, 2}));
    outcome<> closed;
    c.async_close(closed.handler());
    BOOST_TEST(code_of(io, result) == errc::client_closed);
    BOOST_TEST(queues_become({0, 1}));
    outcome<multi_guard> after, on_destroyed;
    all_of(c, {0, 1}).async_lock(after.handler());
    BOOST_TEST(code_of(io, after) == errc::client_closed);
    {
        client gone{io, link_client({.hosts = link_hosts(server)})};
        outcome<> connected;
        gone.async_connect(connected.handler());
        BOOST_TEST(code_of(io, connected) == error_code{});
        all_of(gone, {0, 1}).async_lock(on_destroyed.handler());
        BOOST_TEST(queues_become({1, 2}));
    }
    BOOST_TEST(code_of(io, on_destroyed) == asio::error::operation_aborted);
    busy = {};
    BOOST_TEST(queues_become({0, 0}));
}

// Nothing is called, nothing leaks.
BOOST_AUTO_TEST_CASE(the_context_is_destroyed_meanwhile)
{
    auto busy = hold_one(connect(), 1);
    const auto alive = std::make_shared<int>(0);
    {
        std::optional<asio::io_context> context{std::in_place};
        client c{*context, link_client({.hosts = link_hosts(server)})};
        outcome<> connected;
        c.async_connect(connected.handler());
        run_until(*context, [&] { return connected.done(); });
        all_of(c, {0, 1}).async_lock(
            [alive](error_code, const multi_guard&) { BOOST_TEST(false); });
        BOOST_TEST(becomes_true(*context, [&] { return queues(2) == sizes{1, 2}; }));
        BOOST_TEST(alive.use_count() == 2);
        context.reset();
        BOOST_TEST(alive.use_count() == 1);
    }
    busy = {};
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::multi_lock_faults_test
