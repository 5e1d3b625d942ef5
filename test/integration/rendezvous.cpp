// Latches and barriers, against a real server.
#include <colock/barrier.hpp>
#include <colock/latch.hpp>
#include <support/lock_scene.hpp>
#include <support/requests_of.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/strand.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <list>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace colock::test::rendezvous_test {

namespace {

struct scene : lock_scene {
    outcome<> arrive(client& c, std::uint32_t count)
    {
        outcome<> o;
        latch{c, directory, count}.async_arrive_and_wait(o.handler());
        return o;
    }
    outcome<> count_down(client& c, std::uint32_t count)
    {
        outcome<> o;
        latch{c, directory, count}.async_count_down(o.handler());
        return o;
    }
    outcome<> wait(client& c, std::uint32_t count)
    {
        outcome<> o;
        latch{c, directory, count}.async_wait(o.handler());
        return o;
    }
    bool is_open(client& c, std::uint32_t count)
    {
        outcome<bool> o;
        latch{c, directory, count}.async_try_wait(o.handler());
        return value_of(io, o);
    }
    outcome<std::uint64_t> step(client& c, std::uint32_t count)
    {
        outcome<std::uint64_t> o;
        barrier{c, directory, count}.async_arrive_and_wait(o.handler());
        return o;
    }
    outcome<std::uint64_t> step_in(std::uint64_t phase, client& c, std::uint32_t count)
    {
        outcome<std::uint64_t> o;
        barrier{c, directory, count}.async_arrive_and_wait(phase, o.handler());
        return o;
    }
    std::uint64_t phase(client& c, std::uint32_t count)
    {
        outcome<std::uint64_t> o;
        barrier{c, directory, count}.async_phase(o.handler());
        return value_of(io, o);
    }
    std::vector<std::string> names_of_arrivals()
    {
        if (!admin.exists(directory)) {
            return {};
        }
        auto all = admin.children(directory);
        std::erase_if(all, [](const std::string& name) {
            return !name.starts_with("arrival-") && !name.starts_with("counted-");
        });
        return all;
    }
    std::size_t arrivals() { return names_of_arrivals().size(); }
    void check_no_arrival()
    {
        BOOST_TEST(until([&] { return arrivals() == 0; }));
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(rendezvous_cases, scene)

BOOST_AUTO_TEST_CASE(a_latch_opens_when_all_have_arrived)
{
    auto& a = connect();
    auto& b = connect();
    auto& c = connect();
    BOOST_TEST(!is_open(a, 3));
    const auto looks_on = wait(c, 3);
    const auto first = arrive(a, 3);
    const auto second = arrive(b, 3);
    BOOST_TEST(until([&] { return arrivals() == 2; }));
    go_on(io, 50ms);
    BOOST_TEST(!first.done());
    BOOST_TEST(!second.done());
    BOOST_TEST(!looks_on.done());
    BOOST_TEST(!is_open(c, 3));

    BOOST_TEST(!code_of(io, count_down(c, 3)));
    BOOST_TEST(!code_of(io, first));
    BOOST_TEST(!code_of(io, second));
    BOOST_TEST(!code_of(io, looks_on));
    BOOST_TEST(is_open(a, 3));
    check_no_arrival();

    // It stays open, and who comes late leaves nothing.
    BOOST_TEST(!code_of(io, arrive(a, 3)));
    BOOST_TEST(!code_of(io, count_down(b, 3)));
    BOOST_TEST(!code_of(io, wait(c, 3)));
    check_no_arrival();
}

BOOST_AUTO_TEST_CASE(what_has_counted_down_may_end)
{
    auto& a = connect();
    auto& b = connect();
    auto& c = connect();
    BOOST_TEST(!code_of(io, count_down(b, 2)));
    outcome<> closed;
    b.async_close(closed.handler());
    BOOST_TEST(!code_of(io, closed));
    BOOST_TEST(!is_open(c, 2));
    BOOST_TEST(!code_of(io, arrive(a, 2)));
    check_no_arrival();
}

BOOST_AUTO_TEST_CASE(one_that_dies_while_it_waits_is_counted_out)
{
    auto& a = connect();
    auto& b = connect();
    auto& c = connect();
    const auto first = arrive(a, 2);
    BOOST_TEST(until([&] { return arrivals() == 1; }));
    outcome<> closed;
    a.async_close(closed.handler());
    BOOST_TEST(!code_of(io, closed));
    BOOST_TEST(code_of(io, first) == errc::client_closed);
    BOOST_TEST(arrivals() == 0u);

    const auto second = arrive(b, 2);
    BOOST_TEST(until([&] { return arrivals() == 1; }));
    go_on(io, 50ms);
    BOOST_TEST(!second.done());
    BOOST_TEST(!code_of(io, arrive(c, 2)));
    BOOST_TEST(!code_of(io, second));
}

BOOST_AUTO_TEST_CASE(one_arrives_again_after_its_session)
{
    auto& a = connect();
    auto& b = connect();
    const auto first = arrive(a, 2);
    BOOST_TEST(until([&] { return arrivals() == 1; }));
    const auto before = a.session_id();
    BOOST_REQUIRE(!kill_session(server.connect_string(), before, password_of(a)).has_value());
    BOOST_TEST(until([&] { return a.session_id() != before && arrivals() == 1; }));
    BOOST_TEST(!first.done());
    BOOST_TEST(!code_of(io, arrive(b, 2)));
    BOOST_TEST(!code_of(io, first));
    check_no_arrival();
}

BOOST_AUTO_TEST_CASE(a_cancellation_takes_the_arrival_back)
{
    for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::total}) {
        auto& a = connect();
        asio::cancellation_signal stop;
        outcome<> o;
        latch{a, directory, 2}.async_arrive_and_wait(
            asio::bind_cancellation_slot(stop.slot(), o.handler()));
        BOOST_TEST(until([&] { return arrivals() == 1; }));
        stop.emit(type);
        BOOST_TEST(code_of(io, o) == asio::error::operation_aborted);
        if (type == asio::cancellation_type::total) {
            BOOST_TEST(arrivals() == 0u);
        }
        check_no_arrival();
        BOOST_TEST(!is_open(a, 2));
    }
}

BOOST_AUTO_TEST_CASE(a_barrier_has_many_phases)
{
    std::list<client*> all{&connect(), &connect(), &connect()};
    BOOST_TEST(phase(*all.front(), 3) == 0u);
    for (std::uint64_t n = 0; n != 20; ++n) {
        std::vector<outcome<std::uint64_t>> under_way;
        for (auto* const each : all) {
            if (each != all.back()) {
                under_way.push_back(step(*each, 3));
            }
        }
        BOOST_TEST(until([&] { return arrivals() == 2; }));
        BOOST_TEST(!under_way[0].done());
        BOOST_TEST(!under_way[1].done());
        BOOST_TEST(value_of(io, step(*all.back(), 3)) == n);
        BOOST_TEST(value_of(io, under_way[0]) == n);
        BOOST_TEST(value_of(io, under_way[1]) == n);
        BOOST_TEST(phase(*all.front(), 3) == n + 1);
    }
    check_no_arrival();
}

BOOST_AUTO_TEST_CASE(a_phase_that_has_ended_without_a_process)
{
    auto& a = connect();
    auto& b = connect();
    auto& dead = connect(); // but its session lives
    const auto left = step_in(0, dead, 2);
    BOOST_TEST(until([&] { return arrivals() == 1; }));
    BOOST_TEST(value_of(io, step_in(0, a, 2)) == 0u); // in its place
    BOOST_TEST(value_of(io, left) == 0u);

    // The other one goes on where it was, and they meet again.
    BOOST_TEST(value_of(io, step_in(0, b, 2)) == 0u);
    BOOST_TEST(arrivals() == 0u);
    const auto ahead = step_in(1, a, 2);
    BOOST_TEST(until([&] { return arrivals() == 1; }));
    BOOST_TEST(value_of(io, step_in(0, b, 2)) == 0u);
    BOOST_TEST(!ahead.done());
    BOOST_TEST(value_of(io, step_in(1, b, 2)) == 1u);
    BOOST_TEST(value_of(io, ahead) == 1u);

    diagnostics why;
    outcome<std::uint64_t> early;
    barrier{a, directory, 2}.async_arrive_and_wait(5, bind_diagnostics(why, early.handler()));
    BOOST_TEST(code_of(io, early) == errc::invalid_option);
    BOOST_TEST(why.message() == "barrier " + directory + ": phase 5 has not begun; under way is 2");
    check_no_arrival();
}

BOOST_AUTO_TEST_CASE(one_that_arrives_again_is_counted_once)
{
    tcp_proxy proxy{server.connect_string()};
    auto& a = connect_through(proxy);
    auto& b = connect();
    asio::cancellation_signal stop;
    outcome<std::uint64_t> first, second;
    barrier{a, directory, 2}.async_arrive_and_wait(
        asio::bind_cancellation_slot(stop.slot(), first.handler()));
    BOOST_TEST(until([&] { return arrivals() == 1; }));
    const auto before = names_of_arrivals();
    // It cannot be taken back for a while, in which the others can do what they like.
    const auto removals =
        proxy.on_request(opcode::multi, reaction::drop_and_cut,
                         {.times = 0, .path_prefix = directory + '/' + before.front()});
    stop.emit(asio::cancellation_type::terminal);
    BOOST_TEST(code_of(io, first) == asio::error::operation_aborted);

    // One that waits for that can be cancelled.
    asio::cancellation_signal enough;
    barrier{a, directory, 2}.async_arrive_and_wait(
        asio::bind_cancellation_slot(enough.slot(), second.handler()));
    const auto again = step(a, 2);
    enough.emit(asio::cancellation_type::total);
    BOOST_TEST(code_of(io, second) == asio::error::operation_aborted);
    BOOST_TEST(until([&] { return removals.fired() >= 8; }));
    BOOST_TEST(names_of_arrivals() == before);

    proxy.clear_rules();
    BOOST_TEST(until([&] {
        const auto now = names_of_arrivals();
        return now.size() == 1 && now != before;
    }));
    BOOST_TEST(!again.done());
    BOOST_TEST(value_of(io, step(b, 2)) == 0u);
    BOOST_TEST(value_of(io, again) == 0u);
    check_no_arrival();
}

BOOST_AUTO_TEST_CASE(one_that_may_list_no_more_leaves_no_arrival)
{
    constexpr std::int32_t all_but_read = 30;
    auto& a = connect();
    diagnostics why;
    outcome<> o;
    latch{a, directory, 2}.async_arrive_and_wait(bind_diagnostics(why, o.handler()));
    BOOST_TEST(until([&] { return arrivals() == 1; }));
    const auto node = directory + '/' + names_of_arrivals().front();
    BOOST_TEST(until([&] { return server.watch_count() == 1; })); // of its node: it has listed
    admin.set_acl(directory, {{all_but_read, "world", "anyone"}});
    admin.set(node, "look again");
    BOOST_TEST(code_of(io, o) == zookeeper_errc::no_auth);
    BOOST_TEST(why.message().starts_with("latch " + directory + ": "));
    BOOST_TEST(!admin.exists(node).has_value());
}

BOOST_AUTO_TEST_CASE(an_arrival_that_the_servers_do_not_take_back_is_logged)
{
    constexpr std::int32_t all_but_delete = 23;
    std::vector<std::string> log;
    auto& a = connect({.log = [&](log_level, std::string_view text) { log.emplace_back(text); }});
    asio::cancellation_signal stop;
    outcome<> o;
    latch{a, directory, 2}.async_arrive_and_wait(
        asio::bind_cancellation_slot(stop.slot(), o.handler()));
    BOOST_TEST(until([&] { return arrivals() == 1; }));
    BOOST_TEST(until([&] { return server.watch_count() == 1; })); // of its node: it has listed
    admin.set_acl(directory, {{all_but_delete, "world", "anyone"}});
    stop.emit(asio::cancellation_type::total);
    BOOST_TEST(code_of(io, o) == asio::error::operation_aborted);
    BOOST_TEST(arrivals() == 1U);
    BOOST_TEST(std::ranges::count_if(log, [&](const std::string& line) {
                   return line.starts_with("latch " + directory +
                                           ": a node may remain until the session ends: ");
               }) == 1);
    close_all(); // while the log is there
}

BOOST_AUTO_TEST_CASE(many_on_one_client)
{
    auto& a = connect();
    std::vector<outcome<std::uint64_t>> all;
    for (int i = 0; i != 200; ++i) {
        all.push_back(step(a, 200));
    }
    for (auto& each : all) {
        BOOST_TEST(value_of(io, each) == 0u);
    }
    check_no_arrival();
}

BOOST_AUTO_TEST_CASE(a_directory_that_is_there_already)
{
    admin.create(directory, "for the latch");
    auto& a = connect();
    BOOST_TEST(!is_open(a, 1));
    BOOST_TEST(!code_of(io, arrive(a, 1)));
    BOOST_TEST(is_open(a, 1));
    BOOST_TEST(admin.get(directory) == "for the latch");
}

BOOST_AUTO_TEST_CASE(bad_input_is_refused)
{
    auto& a = connect();
    BOOST_TEST(code_of(io, arrive(a, 0)) == errc::invalid_option);
    BOOST_TEST(code_of(io, arrive(a, 1'001)) == errc::invalid_option);
    diagnostics why, of_step;
    outcome<> o;
    latch{a, "no/path", 1}.async_wait(bind_diagnostics(why, o.handler()));
    BOOST_TEST(code_of(io, o) == errc::invalid_path);
    BOOST_TEST(why.message() == "latch no/path: the path does not begin with '/'");
    outcome<std::uint64_t> none;
    barrier{a, "/x/", 1}.async_arrive_and_wait(bind_diagnostics(of_step, none.handler()));
    BOOST_TEST(code_of(io, none) == errc::invalid_path);
    BOOST_TEST(of_step.message() == "barrier /x/: the path ends in '/'");

    const auto first = arrive(a, 2);
    BOOST_TEST(until([&] { return arrivals() == 1; }));
    BOOST_TEST(code_of(io, arrive(a, 3)) == errc::conflicting_maximum);
    BOOST_TEST(!code_of(io, count_down(a, 2)));
    BOOST_TEST(!code_of(io, first));
}

BOOST_AUTO_TEST_CASE(names_of_others_count_for_nothing)
{
    auto& a = connect();
    const auto first = arrive(a, 2);
    BOOST_TEST(until([&] { return arrivals() == 1; }));
    for (const auto* name : {"arrival-", "arrival-0000000001-x", "arrival-0000000000", "counted-0",
                             "phase-", "phase-9", "phase-9-of-", "phase-9-of-2x", "phase--1-of-2",
                             "phase-99999999999999999999-of-2", "phase-x-of-2", "x"}) {
        admin.create(directory + '/' + name);
    }
    const auto looks_on = wait(a, 2);
    go_on(io, 50ms);
    BOOST_TEST(!first.done());
    BOOST_TEST(!looks_on.done());
    BOOST_TEST(!code_of(io, count_down(a, 2)));
    BOOST_TEST(!code_of(io, first));
    BOOST_TEST(!code_of(io, looks_on));
}

BOOST_AUTO_TEST_CASE(a_phase_of_another_name_is_not_asked_for_without_end)
{
    admin.create(directory);
    admin.create(directory + "/begun");
    admin.create(directory + "/phase-0-of-2");
    auto& a = connect();
    const auto looks_on = wait(a, 2);
    go_on(io, 500ms);
    const auto sent = requests_of(a);
    go_on(io, 1s);
    BOOST_TEST(requests_of(a) - sent < 100u);
    BOOST_TEST(!looks_on.done());
}

BOOST_AUTO_TEST_CASE(changes_of_a_node_are_looked_at_with_pauses)
{
    auto& a = connect();
    const auto first = arrive(a, 2);
    BOOST_TEST(until([&] { return arrivals() == 1; }));
    const auto node = directory + '/' + names_of_arrivals().front();
    std::atomic<bool> over{false};
    std::thread noise{[&] {
        admin_session other{server.connect_string()};
        while (!over) {
            other.set(node, "x");
        }
    }};
    go_on(io, 300ms);
    const auto sent = requests_of(a);
    go_on(io, 1s);
    const auto n = requests_of(a) - sent;
    over = true;
    noise.join();
    BOOST_TEST(n < 100u);
}

BOOST_AUTO_TEST_CASE(a_cancellation_is_not_lost_among_threads)
{
    asio::io_context many;
    auto work = asio::make_work_guard(many);
    client c{many, server.connect_string()};
    outcome<> connected;
    c.async_connect(connected.handler());
    BOOST_REQUIRE(!code_of(many, connected));
    std::vector<std::thread> threads;
    for (int i = 0; i != 3; ++i) {
        threads.emplace_back([&] { many.run(); });
    }
    const auto rounds = 1'000;
    std::minstd_rand random{7};
    bool lost = false;
    int at = 0;
    const auto wait_for = [](const std::atomic<bool>& what, std::chrono::milliseconds limit) {
        const auto end = std::chrono::steady_clock::now() + limit;
        while (!what && std::chrono::steady_clock::now() < end) {
            std::this_thread::yield();
        }
        return what.load();
    };
    for (; at != rounds && !lost; ++at) {
        struct state {
            asio::cancellation_signal stop;
            std::atomic<bool> done{false};
        };
        const auto of = std::make_shared<state>();
        const auto there = asio::make_strand(many);
        latch it{c, directory, 2};
        asio::post(there, [&, of] {
            it.async_arrive_and_wait(asio::bind_cancellation_slot(
                of->stop.slot(),
                asio::bind_executor(there, [of](error_code) { of->done = true; })));
        });
        const auto until_then =
            std::chrono::steady_clock::now() + std::chrono::microseconds{random() % 3'000};
        while (std::chrono::steady_clock::now() < until_then) {
        }
        asio::post(there, [of] { of->stop.emit(asio::cancellation_type::total); });
        lost = !wait_for(of->done, 10s);
    }
    BOOST_TEST(!lost);
    work.reset();
    many.stop();
    for (auto& each : threads) {
        each.join();
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::rendezvous_test
