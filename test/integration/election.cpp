// Electing a leader, against a real server.
#include <colock/queue_view.hpp>
#include <support/requests_of.hpp>

#include "election_scene.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace colock::test::election_test {

BOOST_FIXTURE_TEST_SUITE(election_cases, election_scene)

BOOST_AUTO_TEST_CASE(the_first_one_leads_and_the_next_follows)
{
    auto a = make(connect(), "ann");
    auto b = make(connect(), "bob");
    auto c = make(connect(), "cid");
    stand(a);
    BOOST_TEST(leads(a));
    stand(b);
    stand(c);
    go_on(io, 10ms);
    BOOST_TEST(!b.state->leading);
    BOOST_TEST(!c.state->leading);
    BOOST_TEST((leader(b.self) == "ann"));
    BOOST_TEST((participants(c.self) == names({"ann", "bob", "cid"})));

    a.stop();
    BOOST_TEST(leads(b));
    BOOST_TEST(a.state->ends == 1);
    BOOST_TEST(a.state->why == asio::error::operation_aborted);
    BOOST_TEST((b.state->token > a.state->token));
    BOOST_TEST((leader(a.self) == "bob"));
    stand(a); // again, behind the others
    BOOST_TEST((participants(a.self) == names({"bob", "cid", "ann"})));
    c.stop(); // who does not lead
    BOOST_TEST(until([&] { return c.state->ends == 1; }));
    b.stop();
    BOOST_TEST(leads(a));
    a.stop();
    check_nothing_left();
    BOOST_TEST(!leader(a.self));
    BOOST_TEST(participants(a.self).empty());
}

BOOST_AUTO_TEST_CASE(what_is_written_is_that_of_a_latch)
{
    auto a = make(connect(), "ann");
    stand(a);
    BOOST_TEST(leads(a));
    const auto name = queue().front();
    BOOST_TEST(name.size() == 3 + 36 + 7 + 10U);
    BOOST_TEST(name.starts_with("_c_"));
    BOOST_TEST(name.substr(39, 7) == "-latch-");
    BOOST_TEST(a.state->node == directory + '/' + name);
    BOOST_TEST(admin.get(a.state->node) == "ann");
    outcome<queue_view> o;
    async_view_queue(a.self, o.handler());
    BOOST_TEST(value_of(io, o).holders().front().data == "ann");
    a.stop();
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(the_body_gives_something_and_the_term_ends_with_it)
{
    auto& c = connect();
    election e{c, directory, "ann"};
    int value = 0;
    std::size_t left = 99;
    bool done = false;
    asio::co_spawn(
        io,
        [&]() -> asio::awaitable<void> {
            value = co_await e.async_lead(
                [](const unique_lock& held) -> asio::awaitable<int> { co_return held ? 42 : 0; });
            left = queue().size();
            const auto now = co_await e.async_leader();
            BOOST_TEST(!now);
            BOOST_TEST((co_await e.async_participants()).empty());
        },
        [&](std::exception_ptr failed) {
            BOOST_TEST(!failed);
            done = true;
        });
    BOOST_TEST(until([&] { return done; }));
    BOOST_TEST(value == 42);
    BOOST_TEST(left == 0U); // released, not just on its way
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G5_a_leader_that_is_deposed_is_cancelled)
{
    auto a = make(connect(), "ann");
    auto b = make(connect(), "bob");
    stand(a);
    BOOST_TEST(leads(a));
    stand(b);
    BOOST_TEST(until([&] { return watches_of(clients.front()).contains(a.state->node); }));
    admin.remove(a.state->node);
    BOOST_TEST(until([&] { return a.state->ends == 1; }));
    BOOST_TEST(a.state->why == errc::lock_lost);
    BOOST_TEST(leads(b));
    b.stop();
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G3_a_session_that_ends_makes_way)
{
    auto& c = connect();
    auto a = make(c, "ann");
    auto b = make(connect(), "bob");
    stand(a);
    BOOST_TEST(leads(a));
    stand(b);
    BOOST_TEST(!kill_session(server.connect_string(), c.session_id(), password_of(c)).has_value());
    BOOST_TEST(until([&] { return a.state->ends == 1; }));
    BOOST_TEST(a.state->why == errc::lock_lost);
    BOOST_TEST(leads(b));
    BOOST_TEST((leader(a.self) == "bob")); // under a new session
    b.stop();
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(several_of_one_client_each_have_a_place)
{
    auto& c = connect();
    auto first = make(c, "ann");
    auto second = make(c, "ann");
    stand(first);
    BOOST_TEST(leads(first));
    stand(second);
    BOOST_TEST((participants(first.self) == names({"ann", "ann"})));
    first.stop();
    BOOST_TEST(leads(second));
    second.stop();
    check_nothing_left();
}

// ---- looking on

BOOST_AUTO_TEST_CASE(a_change_is_told_to_whoever_waits_for_it)
{
    auto& looking_on = connect();
    const election e{looking_on, directory, ""}; // who does not stand
    auto a = make(connect(), "ann");
    auto b = make(connect(), "bob");
    auto c = make(connect(), "cid");

    // Nobody leads, and there is no directory.
    auto change = start_wait(e, {});
    BOOST_TEST(!change.done());
    BOOST_TEST(wait_for_watches(looking_on, 1));
    stand(a);
    BOOST_TEST((value_of(io, change) == "ann"));
    BOOST_TEST((value_of(io, start_wait(e, {})) == "ann"));    // it is so already
    BOOST_TEST((value_of(io, start_wait(e, "bob")) == "ann")); // likewise

    // Their watches go, which is a request, too.
    BOOST_TEST(wait_for_watches(looking_on, 0));
    BOOST_TEST(until([&] { return looking_on.stats().in_flight == 0U; }));

    change = start_wait(e, "ann");
    BOOST_TEST(until([&] { return watches_of(looking_on).size() == 1U; }));
    BOOST_TEST(until([&] { return looking_on.stats().in_flight == 0U; }));
    const auto requests = requests_of(looking_on);
    const auto events = looking_on.stats().watch_events;
    stand(b);
    stand(c);
    b.stop();
    BOOST_TEST(until([&] { return queue().size() == 2U; }));
    go_on(io, 20ms);
    BOOST_TEST(!change.done());
    BOOST_TEST(requests_of(looking_on) == requests); // G7: nobody is told of those behind
    BOOST_TEST(looking_on.stats().watch_events == events);
    a.stop();
    BOOST_TEST((value_of(io, change) == "cid"));

    change = start_wait(e, "cid");
    BOOST_TEST(until([&] { return watches_of(looking_on).size() == 1U; }));
    c.stop();
    BOOST_TEST(!value_of(io, change));

    // Nobody leads, and there is a directory.
    change = start_wait(e, {});
    BOOST_TEST(until([&] { return child_watches() == 1; }));
    admin.create(directory + "/no-candidate");
    go_on(io, 10ms);
    BOOST_TEST(!change.done());
    stand(a);
    BOOST_TEST((value_of(io, change) == "ann"));
    admin.remove(directory + "/no-candidate");
    a.stop();
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_leader_of_the_same_identity_is_no_change)
{
    auto& looking_on = connect();
    const election e{looking_on, directory, ""};
    auto a = make(connect(), "ann");
    auto b = make(connect(), "ann");
    auto c = make(connect(), "cid");
    stand(a);
    BOOST_TEST(leads(a));
    const auto change = start_wait(e, "ann");
    BOOST_TEST(until([&] { return watches_of(looking_on).contains(a.state->node); }));
    stand(b);
    stand(c);
    a.stop();
    BOOST_TEST(leads(b));
    BOOST_TEST(until([&] { return watches_of(looking_on).contains(b.state->node); }));
    BOOST_TEST(!change.done());
    b.stop();
    BOOST_TEST((value_of(io, change) == "cid"));
    c.stop();
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G4_a_change_behind_a_disconnection_is_told)
{
    tcp_proxy proxy{server.connect_string()};
    auto& looking_on = connect_through(proxy);
    const election e{looking_on, directory, ""};
    auto a = make(connect(), "ann");
    auto b = make(connect(), "bob");
    stand(a);
    BOOST_TEST(leads(a));
    stand(b);
    const auto change = start_wait(e, "ann");
    BOOST_TEST(until([&] { return watches_of(looking_on).contains(a.state->node); }));
    proxy.refuse(true);
    proxy.cut();
    BOOST_TEST(until([&] { return looking_on.state() == connection_state::suspended; }));
    a.stop();
    BOOST_TEST(leads(b));
    BOOST_TEST(!change.done());
    proxy.refuse(false);
    BOOST_TEST((value_of(io, change) == "bob"));
    b.stop();
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(the_leader_goes_between_the_list_and_the_read)
{
    tcp_proxy proxy{server.connect_string()};
    auto& looking_on = connect_through(proxy);
    const election e{looking_on, directory, ""};
    for (const bool waiting : {false, true}) {
        auto a = make(connect(), "ann");
        auto b = make(connect(), "bob");
        stand(a);
        BOOST_TEST(leads(a));
        stand(b);
        auto list = proxy.on_reply(opcode::get_children2, reaction::hold);
        outcome<identity> now;
        if (waiting) {
            e.async_wait_change({}, now.handler());
        } else {
            e.async_leader(now.handler());
        }
        BOOST_TEST(until([&] { return list.fired() == 1U; }));
        a.stop();
        BOOST_TEST(leads(b));
        list.release();
        BOOST_TEST((value_of(io, now) == "bob"));
        b.stop();
        BOOST_TEST(until([&] { return queue().empty(); }));
    }
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(waiting_for_a_change_can_be_cancelled)
{
    auto& looking_on = connect();
    const election e{looking_on, directory, ""};
    auto a = make(connect(), "ann");
    for (const bool somebody : {false, true}) {
        if (somebody) {
            stand(a);
            BOOST_TEST(leads(a));
        }
        for (const auto type :
             {asio::cancellation_type::terminal, asio::cancellation_type::total}) {
            asio::cancellation_signal signal;
            outcome<identity> o;
            e.async_wait_change(somebody ? identity{"ann"} : identity{},
                                asio::bind_cancellation_slot(signal.slot(), o.handler()));
            BOOST_TEST(wait_for_watches(looking_on, 1));
            signal.emit(type);
            BOOST_TEST(code_of(io, o) == asio::error::operation_aborted);
            BOOST_TEST(wait_for_watches(looking_on, 0));
        }
    }
    asio::cancellation_signal early;
    outcome<identity> o;
    e.async_wait_change("ann", asio::bind_cancellation_slot(early.slot(), o.handler()));
    early.emit(asio::cancellation_type::terminal);
    BOOST_TEST(code_of(io, o) == asio::error::operation_aborted);
    a.stop();
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(the_client_is_closed_while_somebody_waits)
{
    const election e{connect(), directory, ""};
    auto a = make(clients.front(), "ann");
    stand(a);
    BOOST_TEST(leads(a));
    const auto change = start_wait(e, "ann");
    BOOST_TEST(wait_for_watches(clients.front(), 1)); // both watch the same node
    go_on(io, 20ms);
    close_all();
    BOOST_TEST(code_of(io, change) == errc::client_closed);
    BOOST_TEST(until([&] { return a.state->ends == 1; }));
    BOOST_TEST(a.state->why == errc::lock_lost);
}

// ---- bad input

BOOST_AUTO_TEST_CASE(bad_input)
{
    auto& c = connect();
    auto bad_path = candidate{c, "relative", "ann"};
    bad_path.stand();
    BOOST_TEST(bad_path.state->ends == 0); // never inline
    BOOST_TEST(until([&] { return bad_path.state->ends == 1; }));
    BOOST_TEST(bad_path.state->why == errc::invalid_path);
    outcome<identity> who, change;
    bad_path.self.async_leader(who.handler());
    BOOST_TEST(code_of(io, who) == errc::invalid_path);
    bad_path.self.async_wait_change({}, change.handler());
    BOOST_TEST(code_of(io, change) == errc::invalid_path);
    outcome<std::vector<std::string>> all;
    bad_path.self.async_participants(all.handler());
    BOOST_TEST(code_of(io, all) == errc::invalid_path);

    auto too_long = make(c, std::string(2'000'000, 'x'));
    too_long.stand();
    BOOST_TEST(until([&] { return too_long.state->ends == 1; }));
    BOOST_TEST(too_long.state->why == errc::request_too_large);
}

BOOST_AUTO_TEST_CASE(another_kind_of_use_is_refused)
{
    auto& c = connect();
    auto a = make(c, "ann");
    stand(a);
    BOOST_TEST(leads(a));
    outcome<unique_lock> of_mutex;
    mutex{c, directory}.async_lock(of_mutex.handler());
    BOOST_TEST(code_of(io, of_mutex) == errc::conflicting_use);
    // Not even one that would write the same.
    outcome<unique_lock> alike;
    mutex{c,
          directory,
          {.layout = curator_latch_layout(), .owner_data = "ann", .max_local_grants = 0}}
        .async_lock(alike.handler());
    BOOST_TEST(code_of(io, alike) == errc::conflicting_use);
    auto other = make(c, "another identity");
    other.stand();
    BOOST_TEST(until([&] { return other.state->ends == 1; }));
    BOOST_TEST(other.state->why == errc::conflicting_use);
    a.stop();
    check_nothing_left();

    auto held = hold(c); // now it is the path of a mutex
    a.stand();
    BOOST_TEST(until([&] { return a.state->ends == 2; }));
    BOOST_TEST(a.state->why == errc::conflicting_use);
    held = {};
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(who_may_not_read_the_election_learns_what_is_missing)
{
    constexpr std::int32_t all_but_read = 30;
    admin.create(directory, {}, admin_session::mode::persistent, {{all_but_read}});
    auto& a = connect();
    diagnostics why;
    outcome<identity> changed;
    election{a, directory, "ann"}.async_wait_change({}, bind_diagnostics(why, changed.handler()));
    BOOST_TEST(code_of(io, changed) == zookeeper_errc::no_auth);
    BOOST_TEST(why.message().find("READ on " + directory) != std::string::npos, why.message());
    admin.set_acl(directory, {{31}});
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::election_test
