// A leadership that is had as a guard, and proclaimed; and standing for election for a limited time.
#include <colock/leadership.hpp>
#include <colock/queue_view.hpp>

#include "election_scene.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <exception>
#include <optional>
#include <string>
#include <utility>

namespace colock::test::election_campaign_test {

BOOST_FIXTURE_TEST_SUITE(election_campaign, election_scene)

BOOST_AUTO_TEST_CASE(a_campaign_gives_the_leadership_which_is_proclaimed_and_resigned)
{
    auto& c = connect();
    auto& onlooker = connect();
    election mine{c, directory, "ann"}, theirs{connect(), directory, "bob"},
        seen{onlooker, directory, ""};
    outcome<leadership> first, second;
    mine.async_campaign(first.handler());
    auto term = value_of(io, first);
    BOOST_TEST(bool(term));
    BOOST_TEST((leader(seen) == "ann"));
    theirs.async_campaign(second.handler());
    BOOST_TEST(until([&] { return queue().size() == 2U; }));
    BOOST_TEST(!second.done());

    auto change = start_wait(seen, "ann");
    outcome<> proclaimed, resigned;
    term.async_proclaim("host-7:8080", proclaimed.handler());
    BOOST_TEST(!proclaimed.done()); // never inline
    BOOST_TEST(code_of(io, proclaimed) == error_code{});
    BOOST_TEST((value_of(io, change) == "host-7:8080"));
    BOOST_TEST((leader(seen) == "host-7:8080"));
    BOOST_TEST((participants(seen) == names({"host-7:8080", "bob"})));
    BOOST_TEST(bool(term)); // its own write is no reason to doubt

    const auto token = term.token();
    term.async_resign(resigned.handler());
    BOOST_TEST(!term);
    BOOST_TEST(code_of(io, resigned) == error_code{});
    auto next = value_of(io, second);
    BOOST_TEST((next.token() > token));
    BOOST_TEST((leader(seen) == "bob"));
    next = {};
    check_nothing_left();
}

// The request is the data of the node, as the identity is.
BOOST_AUTO_TEST_CASE(a_proclamation_does_not_overwrite_a_request_to_resign)
{
    auto& c = connect();
    election e{c, directory, "ann"};
    outcome<leadership> o;
    e.async_campaign(o.handler());
    auto term = value_of(io, o);
    outcome<> asked, proclaimed, heard;
    async_revoke(connect(), term.node(), asked.handler());
    BOOST_TEST(code_of(io, asked) == error_code{});
    term.async_proclaim("host-7:8080", proclaimed.handler());
    BOOST_TEST(code_of(io, proclaimed) == errc::revoked);
    const auto request = std::string{revocation_request};
    BOOST_TEST(until([&] { return admin.get(term.node()) == "ann\n" + request; })); // in time
    outcome<std::optional<std::string>> leader;
    e.async_leader(leader.handler());
    BOOST_TEST(value_of(io, leader).value_or("") == "ann");
    term.async_wait_revoked(heard.handler());
    BOOST_TEST(code_of(io, heard) == error_code{});
    term = {};
    check_nothing_left();
}

// Of a leader that does not read it, such as another library's.
BOOST_AUTO_TEST_CASE(a_request_to_resign_is_no_identity)
{
    admin.create(directory);
    admin.create(directory + "/_c_00000000-0000-0000-0000-000000000000-latch-",
                 std::string{revocation_request}, admin_session::mode::ephemeral_sequential);
    election e{connect(), directory, "ann"};
    outcome<std::optional<std::string>> leader, changed;
    e.async_leader(leader.handler());
    BOOST_TEST((value_of(io, leader) == ""));
    e.async_wait_change(std::nullopt, changed.handler());
    BOOST_TEST((value_of(io, changed) == ""));
    outcome<std::optional<std::string>> differs; // from the leader before that one
    e.async_wait_change("bob", differs.handler());
    BOOST_TEST((value_of(io, differs) == ""));
    outcome<std::vector<std::string>> all;
    e.async_participants(all.handler());
    BOOST_TEST((value_of(io, all) == std::vector<std::string>{""}));
}

BOOST_AUTO_TEST_CASE(a_leader_that_is_asked_to_resign_leads_on)
{
    admin.create(directory);
    const auto node = admin.create(directory + "/_c_00000000-0000-0000-0000-000000000000-latch-",
                                   "bob", admin_session::mode::ephemeral_sequential);
    auto& c = connect();
    election e{c, directory, "ann"};
    outcome<std::optional<std::string>> changed;
    e.async_wait_change("bob", changed.handler());
    BOOST_TEST(wait_for_watches(c, 1));
    const auto events = c.stats().watch_events;
    admin.set(node, revocation_request);
    BOOST_TEST(until([&] { return c.stats().watch_events > events; }));
    BOOST_TEST(wait_for_watches(c, 1));
    BOOST_TEST(until([&] { return c.stats().in_flight == 0U; })); // it has read the request
    BOOST_TEST(!changed.done());
    admin.remove(node);
    BOOST_TEST(!value_of(io, changed));
}

BOOST_AUTO_TEST_CASE(a_campaign_for_a_limited_time_gives_an_empty_guard_when_it_is_over)
{
    election mine{connect(), directory, "ann"}, theirs{connect(), directory, "bob"};
    const auto stand = [&](election& e, std::chrono::milliseconds limit) {
        outcome<leadership> o;
        e.async_try_campaign_for(limit, o.handler());
        return value_of(io, o);
    };
    auto term = stand(mine, 0ms);
    BOOST_TEST(bool(term));
    for (const auto limit : {-1ms, 0ms, 30ms}) {
        BOOST_TEST(!stand(theirs, limit));
    }
    term = {};
    BOOST_TEST(bool(stand(theirs, std::chrono::milliseconds{long_enough})));
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_leadership_that_is_lost_proclaims_nothing)
{
    auto& c = connect();
    const auto proclaim = [&](const leadership& term, std::string text) {
        outcome<> o;
        term.async_proclaim(std::move(text), asio::bind_executor(io, o.handler()));
        return code_of(io, o);
    };
    BOOST_TEST(proclaim(leadership{}, "x") == errc::not_held);
    election e{c, directory, "ann"};
    outcome<leadership> o;
    e.async_campaign(o.handler());
    auto term = value_of(io, o);
    BOOST_TEST(proclaim(term, std::string{revocation_request}) == errc::invalid_option);
    BOOST_TEST((leader(e) == "ann"));
    admin.remove(term.node());
    BOOST_TEST(proclaim(term, "late") == errc::node_deleted); // known or not
    BOOST_TEST(until([&] { return term.loss_reason() == errc::node_deleted; }));
    BOOST_TEST(proclaim(term, "later") == errc::node_deleted);
    BOOST_TEST(queue().empty());
    term = {};
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_proclamation_waits_for_a_connection_and_can_be_cancelled)
{
    tcp_proxy proxy{server.connect_string()};
    auto& c = connect_through(proxy, {.session_timeout = 40s});
    election e{c, directory, "ann"};
    outcome<leadership> o;
    e.async_campaign(o.handler());
    auto term = value_of(io, o);
    proxy.refuse(true);
    proxy.cut();
    BOOST_TEST(until([&] { return c.state() == connection_state::suspended; }));
    asio::cancellation_signal stop;
    outcome<> cancelled, waits;
    term.async_proclaim("never", asio::bind_cancellation_slot(stop.slot(), cancelled.handler()));
    term.async_proclaim("then", waits.handler());
    go_on(io, 5ms);
    stop.emit(asio::cancellation_type::total);
    BOOST_TEST(code_of(io, cancelled) == asio::error::operation_aborted);
    BOOST_TEST(!waits.done());
    proxy.refuse(false);
    BOOST_TEST(code_of(io, waits) == error_code{});
    BOOST_TEST(admin.get(term.node()) == "then");
    term = {};
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G3_a_campaign_that_is_cancelled_leaves_nothing_behind)
{
    auto a = make(connect(), "ann");
    stand(a);
    BOOST_TEST(leads(a));
    election e{connect(), directory, "bob"};
    asio::cancellation_signal stop;
    outcome<leadership> o;
    e.async_campaign(asio::bind_cancellation_slot(stop.slot(), o.handler()));
    BOOST_TEST(until([&] { return queue().size() == 2U; }));
    stop.emit(asio::cancellation_type::total);
    BOOST_TEST(code_of(io, o) == asio::error::operation_aborted);
    BOOST_TEST(queue().size() == 1U);
    a.stop();
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(one_who_is_not_elected_in_time_does_not_lead)
{
    auto a = make(connect(), "ann");
    stand(a);
    BOOST_TEST(leads(a));
    election e{connect(), directory, "bob"};
    std::optional<bool> late, in_time;
    const auto body = [](const leadership& term) -> asio::awaitable<void> {
        co_await term.async_proclaim("bob, at last", asio::use_awaitable);
    };
    e.async_try_lead_for(20ms, body, [&](std::exception_ptr f, bool led) {
        BOOST_TEST(!f);
        late = led;
    });
    BOOST_TEST(until([&] { return late.has_value(); }));
    BOOST_TEST(!*late);
    e.async_try_lead_for(1min, body, [&](std::exception_ptr f, bool led) {
        BOOST_TEST(!f);
        in_time = led;
    });
    a.stop();
    BOOST_TEST(until([&] { return in_time.has_value(); }));
    BOOST_TEST(*in_time);
    check_nothing_left();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::election_campaign_test
