// The semaphore, against a real server.
#include "semaphore_scene.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/detached.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace colock::test::semaphore_test {

BOOST_FIXTURE_TEST_SUITE(semaphore_cases, semaphore_scene)

BOOST_AUTO_TEST_CASE(so_many_are_held_and_no_more)
{
    auto& a = connect();
    auto& b = connect();
    auto first = acquire({a, directory, 2}); // S1
    auto second = acquire({b, directory, 2});
    BOOST_TEST((bool(first) && first.count() == 1U));
    BOOST_TEST(first.path() == directory);
    BOOST_TEST(first.nodes().front().find("/leases/_c_") != std::string::npos);
    BOOST_TEST(!try_acquire({a, directory, 2})); // S3
    BOOST_TEST(taken() == 2U);
    BOOST_TEST(until([&] { return queued() == 0; }));
    const auto third = waiting({b, directory, 2}); // S2
    go_on(io, 5ms);
    BOOST_TEST(!third.done());
    BOOST_TEST(release(first) == error_code{});
    BOOST_TEST(!first);
    BOOST_TEST(bool(value_of(io, third)));
    second = {};
    check_nothing_is_left();
}

BOOST_AUTO_TEST_CASE(several_at_once_are_all_or_nothing)
{
    auto& a = connect();
    auto& b = connect();
    auto one = acquire({a, directory, 3});
    const auto both = waiting({b, directory, 3}, 3);
    BOOST_TEST(taken() == 1U);                   // none is held while it waits for the others
    BOOST_TEST(!try_acquire({a, directory, 3})); // it would overtake
    one = {};
    auto all = value_of(io, both);
    BOOST_TEST(all.count() == 3U);
    BOOST_TEST(taken() == 3U);
    auto rest = all.split(1);
    BOOST_TEST((all.count() == 2U && rest.count() == 1U));
    BOOST_TEST(release(all) == error_code{});
    BOOST_TEST(taken() == 1U);
    BOOST_TEST(bool(rest));
    auto again = acquire({a, directory, 3}, 2);
    rest = {};
    again = {};
    check_nothing_is_left();
}

BOOST_AUTO_TEST_CASE(two_who_want_all_never_hold_a_half_each)
{
    auto& a = connect();
    auto& b = connect();
    for (int i = 0; i != 20; ++i) {
        const auto first = start({a, directory, 2}, 2);
        const auto second = start({b, directory, 2}, 2);
        BOOST_TEST(until([&] { return first.done() || second.done(); }));
        auto held = value_of(io, first.done() ? first : second);
        BOOST_TEST(release(held) == error_code{});
        held = value_of(io, first.done() && first.value().count() == 0 ? second : first);
    }
    check_nothing_is_left();
}

BOOST_AUTO_TEST_CASE(G3_one_who_cancels_leaves_nothing_behind)
{
    auto& a = connect();
    auto held = acquire({a, directory, 1});
    for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::total}) {
        asio::cancellation_signal signal;
        outcome<permit> result;
        semaphore{connect(), directory, 1}.async_acquire(
            1, asio::bind_cancellation_slot(signal.slot(), result.handler()));
        BOOST_TEST(until([&] { return queued() == 1U; }));
        go_on(io, 3ms);
        signal.emit(type);
        BOOST_TEST(code_of(io, result) == asio::error::operation_aborted);
        BOOST_TEST(until([&] { return queued() == 0U; }));
    }
    BOOST_TEST(taken() == 1U);
    held = {};
    check_nothing_is_left();
}

BOOST_AUTO_TEST_CASE(for_a_limited_time)
{
    auto& a = connect();
    auto held = acquire({a, directory, 2}, 2);
    BOOST_TEST(!try_for({connect(), directory, 2}, 1, 10ms)); // it waits for a permit
    const auto first = waiting({connect(), directory, 2});
    BOOST_TEST(!try_for({connect(), directory, 2}, 1, 10ms)); // it waits in the queue
    held = {};
    static_cast<void>(value_of(io, first));
    BOOST_TEST(bool(try_for({a, directory, 2}, 1, 10s)));
    check_nothing_is_left();
}

BOOST_AUTO_TEST_CASE(those_of_one_client_share_a_place_in_the_queue)
{
    auto& a = connect();
    auto held = acquire({a, directory, 1});
    std::deque<outcome<permit>> all;
    for (int i = 0; i != 20; ++i) {
        all.push_back(start({a, directory, 1}));
    }
    BOOST_TEST(until([&] { return queued() == 1U; }));
    go_on(io, 5ms);
    BOOST_TEST(queued() == 1U);
    held = {};
    for (auto& each : all) { // in their order
        auto p = value_of(io, each);
        BOOST_TEST(bool(p));
    }
    check_nothing_is_left();
}

BOOST_AUTO_TEST_CASE(G5_permits_are_lost_and_told)
{
    auto& a = connect();
    auto held = acquire({a, directory, 2}, 2);
    outcome<error_code> lost;
    held.async_wait_lost(lost.handler());
    admin.remove(held.nodes().back());
    BOOST_TEST(value_of(io, lost) == errc::node_deleted);
    BOOST_TEST(!held);
    BOOST_TEST(held.loss_reason() == errc::node_deleted);
    BOOST_TEST(taken() == 1U); // until it is released
    BOOST_TEST(release(held) == errc::node_deleted);

    held = acquire({a, directory, 2});
    BOOST_TEST(!kill_session(server.connect_string(), a.session_id(), password_of(a)));
    BOOST_TEST(until([&] { return held.loss_reason() == errc::session_expired; }));
    BOOST_TEST(a.stats().locks_lost == 2U);
    held = acquire({a, directory, 2});
    outcome<error_code> closed;
    held.async_wait_lost(closed.handler());
    outcome<> o;
    a.async_close(o.handler());
    static_cast<void>(code_of(io, o));
    BOOST_TEST(value_of(io, closed) == errc::client_closed);
    BOOST_TEST(taken() == 0U);
}

BOOST_AUTO_TEST_CASE(G5_they_were_deleted_by_hand_and_that_shows_at_the_release)
{
    std::string log;
    auto& c = connect({.log = [&](auto, auto line) { log += line; }});
    auto held = acquire({c, directory, 2}, 2);
    admin.remove(held.nodes().back());
    BOOST_TEST(release(held) == errc::node_deleted);
    held = acquire({c, directory, 2}, 2); // and in the log, where nobody waits for it
    admin.remove(held.nodes().back());
    log.clear();
    held = {};
    BOOST_TEST(until([&] { return log.find("somebody deleted the node") != log.npos; }));
    held = acquire({c, directory, 2}, 2);
    auto rest = held.split(1);
    admin.remove(held.nodes().front());
    held = {};
    BOOST_TEST(until([&] { return rest.loss_reason() == errc::node_deleted; }));
    rest = {};

    std::optional<std::exception_ptr> of_body;
    semaphore{c, directory, 2}.async_with_permits(
        [&](const permit& p) -> asio::awaitable<void> {
            admin.remove(p.nodes().front());
            co_return;
        },
        [&](std::exception_ptr e) { of_body = e; });
    BOOST_TEST_REQUIRE(until([&] { return of_body.has_value() && *of_body; }));
    BOOST_CHECK_EXCEPTION(std::rethrow_exception(*of_body), boost::system::system_error,
                          [](const auto& e) { return e.code() == errc::lock_lost; });
    check_nothing_is_left();
    close_all(); // they write into the log
}

BOOST_AUTO_TEST_CASE(G4_one_who_waits_survives_the_loss_of_his_session)
{
    auto& a = connect();
    auto& b = connect();
    auto held = acquire({a, directory, 1});
    const auto next = waiting({b, directory, 1}); // S8
    BOOST_TEST(!kill_session(server.connect_string(), b.session_id(), password_of(b)));
    BOOST_TEST(until([&] { return b.stats().expirations == 1; }));
    held = {};
    BOOST_TEST(bool(value_of(io, next)));
    check_nothing_is_left();
}

BOOST_AUTO_TEST_CASE(G3_the_answer_to_the_acquisition_is_lost)
{
    tcp_proxy proxy{server.connect_string()};
    for (const bool carried_out : {true, false}) {
        auto& c = connect_through(proxy);
        const auto lost = carried_out ? proxy.on_reply(opcode::multi, reaction::drop_and_cut)
                                      : proxy.on_request(opcode::multi, reaction::drop_and_cut);
        auto held = acquire({c, directory, 2}, 2);
        BOOST_TEST(lost.fired() == 1U);
        BOOST_TEST((bool(held) && held.count() == 2U));
        BOOST_TEST(taken() == 2U);
        BOOST_TEST(release(held) == error_code{});
        check_nothing_is_left();
    }
}

BOOST_AUTO_TEST_CASE(G4_one_whose_place_is_deleted_by_hand_queues_up_again)
{
    auto& c = connect();
    auto held = acquire({connect(), directory, 1});
    const auto next = waiting({c, directory, 1});
    const auto place = queue_of(directory + "/locks").front();
    admin.remove(directory + "/locks/" + place);
    BOOST_TEST(until([&] {
        const auto now = queue_of(directory + "/locks");
        return now.size() == 1 && now.front() != place;
    }));
    BOOST_TEST(!next.done());
    BOOST_TEST(release(held) == error_code{});
    held = value_of(io, next);
    BOOST_TEST(taken() == 1U);
    held = {};
    check_nothing_is_left();
}

// The transaction fails: there is no directory any more. The cancellation comes while it is under way.
BOOST_AUTO_TEST_CASE(G3_it_is_cancelled_under_a_transaction_that_fails)
{
    tcp_proxy proxy{server.connect_string()};
    auto& c = connect_through(proxy);
    const semaphore pool{c, directory, 1};
    auto before = acquire(pool);
    BOOST_TEST(release(before) == error_code{});
    auto transaction = proxy.on_request(opcode::multi, reaction::hold);
    asio::cancellation_signal signal;
    outcome<permit> result;
    semaphore{c, directory, 1}.async_acquire(
        1, asio::bind_cancellation_slot(signal.slot(), result.handler()));
    BOOST_TEST(until([&] { return transaction.fired() == 1; }));
    admin.remove(directory + "/leases");
    signal.emit(asio::cancellation_type::total);
    go_on(io, 1ms);
    BOOST_TEST(!result.done());
    transaction.release();
    BOOST_TEST(code_of(io, result) == asio::error::operation_aborted);
    BOOST_TEST(queued() == 0U); // when it completes
    check_nothing_is_left();
}

BOOST_AUTO_TEST_CASE(G4_a_connection_breaks_while_it_waits)
{
    tcp_proxy proxy{server.connect_string()};
    auto& c = connect_through(proxy);
    auto held = acquire({connect(), directory, 1});
    const auto next = waiting({c, directory, 1});
    go_on(io, 5ms);
    proxy.refuse(true);
    proxy.cut();
    BOOST_TEST(until([&] { return c.state() == connection_state::suspended; }));
    BOOST_TEST(release(held) == error_code{});
    proxy.refuse(false);
    BOOST_TEST(bool(value_of(io, next)));
    check_nothing_is_left();
}

// Each event brings a permit more, and so a pause; nobody keeps one that begins at the end of the client.
BOOST_AUTO_TEST_CASE(G6_the_client_is_closed_while_permits_come_and_none_goes)
{
    auto held = acquire({connect(), directory, 1});
    auto& c = connect();
    const auto next = waiting({c, directory, 1});
    const auto watches = [&] { return child_watches() == 1 && c.stats().in_flight == 0; };
    for (int i = 0; i != 4; ++i) {
        BOOST_TEST(until(watches));
        const auto events = c.stats().watch_events;
        admin.create(directory + "/leases/_c_01234567-89ab-cdef-fedc-ba9876543210-lease-", {},
                     admin_session::mode::ephemeral_sequential);
        BOOST_TEST(until([&] { return c.stats().watch_events > events; }));
    }
    BOOST_TEST(until(watches));
    outcome<> closed;
    c.async_close(closed.handler());
    BOOST_TEST(code_of(io, next) == errc::client_closed);
    value_of(io, closed);
}

BOOST_AUTO_TEST_CASE(as_many_as_a_node_says)
{
    auto& c = connect();
    const auto counter = directory + "-count";
    admin.create_path(directory);
    admin.create(counter, number(1));
    const semaphore s{c, directory, counter_node{counter}};
    auto first = acquire(s);
    const auto second = waiting(s);
    admin.set(counter, number(2)); // CURATOR-75
    auto other = value_of(io, second);
    admin.set(counter, number(1)); // those that are held stay
    BOOST_TEST((bool(first) && bool(other)));
    BOOST_TEST(!try_acquire(s));
    other = {};
    BOOST_TEST(until([&] { return taken() == 1U; }));
    BOOST_TEST(!try_acquire(s));
    admin.set(counter, "three");
    BOOST_TEST(code_of(io, start(s)) == errc::invalid_counter);
    BOOST_TEST(c.last_error_detail().find(counter) != std::string::npos);
    admin.remove(counter);
    BOOST_TEST(code_of(io, start(s)) == zookeeper_errc::no_node);
    first = {};
    check_nothing_is_left();
}

BOOST_AUTO_TEST_CASE(bad_input)
{
    auto& c = connect();
    const auto code = [&](semaphore s, std::int64_t n = 1) {
        return code_of(io, start(std::move(s), n));
    };
    BOOST_TEST(code({c, directory, 0}) == errc::invalid_option);
    BOOST_TEST(code({c, directory, -1}) == errc::invalid_option);
    BOOST_TEST(c.last_error_detail().find("at least one permit") != std::string::npos);
    BOOST_TEST(code({c, "relative", 1}) == errc::invalid_path);
    BOOST_TEST(code({c, directory, counter_node{"relative"}}) == errc::invalid_path);
    BOOST_TEST(code({c, directory, 2}, 0) == errc::invalid_option);
    BOOST_TEST(code({c, directory, 2}, -3) == errc::invalid_option);
    BOOST_TEST(code({c, directory, 2}, 3) == errc::too_many_permits);
    auto held = acquire({c, directory, 2});
    const auto says = [&](const char* what) { return c.last_error_detail().ends_with(what); };
    BOOST_TEST(code({c, directory, 3}) == errc::conflicting_use);
    BOOST_TEST(says("the number of permits is 2 there and 3 here"));
    BOOST_TEST(code_of(io, start_lock(c)) == errc::conflicting_use);
    BOOST_TEST(says("it is a semaphore there and a mutex here"));
    BOOST_TEST(code({connect(), directory, 3}) == errc::conflicting_maximum); // S9
    BOOST_TEST(clients.back().last_error_detail().find("2 elsewhere") != std::string::npos);
    permit nothing;
    BOOST_TEST(release(nothing) == errc::not_held);
    held = {};
    check_nothing_is_left();
}

BOOST_AUTO_TEST_CASE(the_number_of_permits_changes_when_nobody_has_any)
{
    semaphore one{connect(), directory, 1}, two{connect(), directory, 2};
    for (const bool first : {true, false, true, false}) { // and is compared anew each time
        auto held = acquire(first ? one : two);
        BOOST_TEST(code_of(io, start(first ? two : one)) == errc::conflicting_maximum);
        BOOST_TEST(release(held) == error_code{});
    }
}

BOOST_AUTO_TEST_CASE(G6_everything_is_destroyed_while_some_wait)
{
    for (const bool client_first : {true, false}) {
        auto context = std::make_unique<asio::io_context>();
        auto c =
            std::make_unique<client>(*context, client_options{.hosts = server.connect_string(),
                                                              .session_timeout = 4s}); // runs out
        c->async_connect(asio::detached);
        std::vector<outcome<permit>> all;
        for (int i = 0; i != 3; ++i) {
            semaphore{*c, directory, 2}.async_acquire(2, all.emplace_back().handler());
        }
        run_until(*context, [&] { return all[0].done(); });
        BOOST_TEST(all[0].ok());
        if (client_first) {
            c.reset();
            context->restart();
            run_until(*context, [&] { return all[1].done() && all[2].done(); });
            BOOST_TEST((all[0].value().loss_reason() == errc::client_closed));
        }
        context.reset();
        BOOST_TEST((all[0].value().loss_reason() == errc::client_closed));
        all.clear();
        c.reset();
    }
    check_nothing_is_left();
}

// A request of more than a megabyte would break the connection, and so would its repetition.
BOOST_AUTO_TEST_CASE(more_permits_than_fit_into_a_request)
{
    auto& c = connect();
    constexpr auto many = std::numeric_limits<std::int64_t>::max();
    semaphore s{c, directory, many};
    auto held = acquire(s);
    BOOST_TEST(code_of(io, start(s, 20'000)) == errc::invalid_option);
    BOOST_TEST(c.last_error_detail().find("in portions") != std::string::npos);
    BOOST_TEST(code_of(io, start(s, many)) == errc::invalid_option);
    held = acquire(s, 2'000);
    BOOST_TEST(until([&] { return taken() == 2'000U; })); // the other one has gone
    BOOST_TEST(release(held) == error_code{});

    lock_options long_data;
    long_data.owner_data = std::string(600'000, 'x');
    semaphore other{c, directory + "-2", 2, long_data};
    BOOST_TEST(code_of(io, start(other, 2)) == errc::invalid_option);
    BOOST_TEST(bool(acquire(other)));
    check_nothing_is_left();
}

BOOST_AUTO_TEST_CASE(G4_one_who_wants_more_than_there_are_waits_also_when_there_is_no_directory)
{
    const auto counter = directory + "-count";
    admin.create(counter, number(1));
    const auto both = start({connect(), directory, counter_node{counter}}, 2);
    BOOST_TEST(until([&] { return queued() == 1; }));
    go_on(io, 5ms);
    BOOST_TEST(!both.done());
    admin.set(counter, number(2));
    BOOST_TEST(value_of(io, both).count() == 2U);
    check_nothing_is_left();
}

BOOST_AUTO_TEST_CASE(under_a_chroot)
{
    admin.create_path(directory);
    auto& c = connect({.chroot = directory});
    for (int i = 0; i != 2; ++i) { // the first one makes the directories
        auto held = acquire({c, "/inner", 2}, 2);
        BOOST_TEST(held.nodes().front().starts_with("/inner/leases/_c_"));
        BOOST_TEST(queue_of(directory + "/inner/leases").size() == 2U);
        BOOST_TEST(release(held) == error_code{});
        BOOST_TEST(queue_of(directory + "/inner/leases").empty());
    }
}

BOOST_AUTO_TEST_CASE(a_wait_for_the_loss_ends_with_the_release_of_what_was_split_off)
{
    auto& c = connect();
    auto rest = acquire({c, directory, 3}, 3);
    auto off = rest.split(1);
    outcome<error_code> of_rest, of_off, of_nothing;
    rest.async_wait_lost(of_rest.handler());
    off.async_wait_lost(of_off.handler());
    BOOST_TEST(release(off) == error_code{});
    BOOST_TEST(code_of(io, of_off) == errc::not_held);
    auto all = rest.split(9); // more than it holds: all
    BOOST_TEST(all.count() == 2U);
    rest.async_wait_lost(asio::bind_executor(io, of_nothing.handler()));
    BOOST_TEST(code_of(io, of_nothing) == errc::not_held); // it holds none any more
    BOOST_TEST(!of_rest.done());
    BOOST_TEST(release(all) == error_code{});
    BOOST_TEST(code_of(io, of_rest) == errc::not_held);
    check_nothing_is_left();
}

BOOST_AUTO_TEST_CASE(a_limit_is_kept_without_a_connection)
{
    tcp_proxy proxy{server.connect_string()};
    auto& c = connect_through(proxy);
    semaphore s{c, directory, 1};
    const auto code = [&](std::chrono::milliseconds limit) {
        outcome<permit> o;
        s.async_try_acquire_for(1, limit, o.handler());
        return code_of(io, o);
    };
    auto held = acquire({connect(), directory, 1});
    BOOST_TEST(until([&] { return queued() == 0; }));
    outcome<permit> waiting;
    s.async_try_acquire_for(1, 5s, waiting.handler());
    BOOST_TEST(until([&] { return queued() == 1; }));
    proxy.refuse(true);
    proxy.cut();
    BOOST_TEST(until([&] { return c.state() == connection_state::suspended; }));
    BOOST_TEST(code(10ms) == errc::disconnected);
    BOOST_TEST(code(0ms) == errc::disconnected);
    BOOST_TEST(code_of(io, waiting) == errc::disconnected);
    proxy.refuse(false);
    BOOST_TEST(until([&] { return c.state() == connection_state::connected; }));

    const auto answer =
        proxy.on_reply(opcode_set{opcode::get_children, opcode::get_children2}, reaction::hold);
    outcome<permit> tried;
    s.async_try_acquire(1, tried.handler());
    BOOST_TEST(until([&] { return answer.fired() == 1; }));
    proxy.refuse(true);
    proxy.cut();
    BOOST_TEST(code_of(io, tried) == errc::disconnected);
    proxy.refuse(false);
    held = {};
    BOOST_TEST(bool(acquire(s)));
    check_nothing_is_left();
}

BOOST_AUTO_TEST_CASE(G4_the_connection_breaks_while_the_directory_is_made)
{
    tcp_proxy proxy{server.connect_string()};
    auto& c = connect_through(proxy);
    for (const bool carried_out : {true, false}) {
        const auto path = directory + (carried_out ? "/1" : "/2");
        const rule_options of_leases{.path_prefix = path + "/leases"};
        const auto lost =
            carried_out
                ? proxy.on_reply(opcode::create_container, reaction::drop_and_cut, of_leases)
                : proxy.on_request(opcode::create_container, reaction::drop_and_cut, of_leases);
        auto held = acquire({c, path, 1});
        BOOST_TEST(lost.fired() == 1U);
        BOOST_TEST(release(held) == error_code{});
    }
}

BOOST_AUTO_TEST_CASE(G5_no_permits_of_a_client_that_was_closed_meanwhile)
{
    tcp_proxy proxy{server.connect_string()};
    auto& c = connect_through(proxy);
    semaphore s{c, directory, 1};
    BOOST_TEST(bool(acquire(s))); // the directories are there
    auto answer =
        proxy.on_reply(opcode::multi, reaction::hold, {.path_prefix = directory + "/locks"});
    const auto result = start(s);
    BOOST_TEST(until([&] { return answer.fired() == 1; }));
    outcome<> closed;
    c.async_close(closed.handler());
    go_on(io, 1ms);
    answer.release();
    BOOST_TEST(code_of(io, result) == errc::client_closed);
    BOOST_TEST(code_of(io, closed) == error_code{});
    BOOST_TEST(taken() == 0U);
}

// Nobody relies on it any more: its client sleeps, also behind the bound.
BOOST_AUTO_TEST_CASE(a_permit_released_while_the_servers_are_away_costs_nothing)
{
    tcp_proxy proxy{server.connect_string()};
    auto& c = connect_through(proxy, {.session_timeout = 4s});
    auto held = acquire({c, directory, 2}, 2);
    BOOST_TEST(until([&] { return queued() == 0; }));
    proxy.stall(true);
    const auto safe = held.remaining();
    outcome<> released;
    held.async_release(released.handler());
    std::size_t handlers = 0;
    for (const auto since = std::chrono::steady_clock::now();
         std::chrono::steady_clock::now() < since + safe + 300ms;) {
        io.restart();
        handlers += io.run_one_for(10ms);
    }
    BOOST_TEST(handlers < 200U);
    proxy.stall(false);
    BOOST_TEST(until([&] { return released.done(); }));
    check_nothing_is_left();
}

BOOST_AUTO_TEST_CASE(G6_a_release_completes_when_the_close_does_not_wait_for_it)
{
    tcp_proxy proxy{server.connect_string()};
    auto& c = connect_through(proxy, {.close_timeout = 50ms});
    auto held = acquire({c, directory, 1});
    BOOST_TEST(until([&] { return queued() == 0; }));
    const auto request = proxy.on_request(opcode::remove, reaction::hold);
    outcome<> released, closed;
    held.async_release(released.handler());
    BOOST_TEST(until([&] { return request.fired() == 1; }));
    c.async_close(closed.handler());
    BOOST_TEST(code_of(io, closed) == errc::disconnected);
    BOOST_TEST(code_of(io, released) == errc::client_closed);
}

BOOST_AUTO_TEST_CASE(G6_what_could_be_cancelled_goes_with_the_context)
{
    tcp_proxy proxy{server.connect_string()};
    asio::cancellation_signal waits, releases;
    const auto owned = std::make_shared<int>();
    auto context = std::make_unique<asio::io_context>();
    auto c = std::make_unique<client>(*context, client_options{.hosts = proxy.connect_string()});
    c->async_connect(asio::detached);
    semaphore s{*c, directory, 1};
    outcome<permit> held;
    s.async_acquire(1, held.handler());
    run_until(*context, [&] { return held.done(); });
    s.async_acquire(1, asio::bind_cancellation_slot(waits.slot(), [owned](error_code, permit) {}));
    run_until(*context, [&] { return queued() == 1; });
    const auto request = proxy.on_request(opcode::remove, reaction::hold);
    held.value().async_release(
        asio::bind_cancellation_slot(releases.slot(), [owned](error_code) {}));
    run_until(*context, [&] { return request.fired() == 1; });
    context.reset();
    c.reset();
    BOOST_TEST(owned.use_count() == 1);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::semaphore_test
