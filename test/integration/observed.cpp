// What an observer hears: each acquisition begins and ends once, each hold ends once, and what the events say.
#include <support/lock_scene.hpp>
#include <support/recorder.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace colock::test::observed_test {

using enum acquisition_outcome;

namespace {

struct observed_scene : lock_scene {
    std::shared_ptr<recorder> heard = std::make_shared<recorder>(); // by one client

    client& connect_observed(client_options o = {})
    {
        heard = std::make_shared<recorder>();
        o.observer = heard;
        return connect(std::move(o));
    }
    // Everything has ended, once.
    void check_all_ended()
    {
        const auto s = heard->add_up();
        BOOST_TEST(s.faults == 0);
        BOOST_TEST(s.begun != 0U);
        BOOST_TEST(s.ended == s.begun);
        BOOST_TEST(s.holds == s.granted);
    }
    // The client's counters are what the observer has heard.
    void check_counters(const client& c)
    {
        const auto s = heard->add_up();
        const auto stats = c.stats();
        const auto& a = stats.acquisitions;
        auto of = s.by_outcome;
        BOOST_TEST(a.begun == s.begun);
        BOOST_TEST(a.waiting == s.begun - s.ended);
        BOOST_TEST(a.granted == s.granted);
        BOOST_TEST(a.busy == of[busy]);
        BOOST_TEST(a.timed_out == of[timed_out]);
        BOOST_TEST(a.cancelled == of[cancelled]);
        BOOST_TEST(a.failed == of[failed]);
        const auto& l = stats.losses;
        BOOST_TEST(l.session_expired + l.node_deleted + l.safe_until_passed + l.client_closed ==
                   stats.locks_lost);
    }
    void close(client& c)
    {
        outcome<> closed;
        c.async_close(closed.handler());
        BOOST_TEST(code_of(io, closed) == error_code{});
    }
    template <class Guard, class Start>
    Guard take(Start start)
    {
        outcome<Guard> o;
        start(o);
        return value_of(io, o);
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(observed, observed_scene)

BOOST_AUTO_TEST_CASE(each_kind_is_told_with_its_path_and_its_hold)
{
    using kind = acquisition_kind;
    auto& c = connect_observed();
    const auto d = directory;
    lock_owner me;
    const std::vector<std::pair<kind, std::function<std::shared_ptr<void>(const std::string&)>>>
        kinds{{kind::mutex,
               [&](auto& p) {
                   return std::make_shared<unique_lock>(take<unique_lock>([&](auto& o) {
                       mutex{c, p}.async_lock(o.handler());
                   }));
               }},
              {kind::recursive_mutex,
               [&](auto& p) {
                   recursive_mutex m{c, p};
                   auto outer =
                       take<recursive_lock>([&](auto& o) { m.async_lock(me, o.handler()); });
                   const auto inner = take<recursive_lock>(
                       [&](auto& o) { m.async_lock(me, o.handler()); }); // is no acquisition
                   return std::make_shared<recursive_lock>(std::move(outer));
               }},
              {kind::shared_mutex,
               [&](auto& p) {
                   return std::make_shared<unique_lock>(take<unique_lock>([&](auto& o) {
                       shared_mutex{c, p}.async_lock(o.handler());
                   }));
               }},
              {kind::single_node_mutex,
               [&](auto& p) {
                   return std::make_shared<unique_lock>(take<unique_lock>([&](auto& o) {
                       single_node_mutex{c, p}.async_lock(o.handler());
                   }));
               }},
              {kind::election,
               [&](auto& p) {
                   return std::make_shared<leadership>(take<leadership>([&](auto& o) {
                       election{c, p, "me"}.async_campaign(o.handler());
                   }));
               }},
              {kind::semaphore, [&](auto& p) {
                   return std::make_shared<permit>(take<permit>([&](auto& o) {
                       semaphore{c, p, 3}.async_acquire(2, o.handler());
                   }));
               }}};
    for (const auto& [k, hold] : kinds) {
        const auto path = d + "-" + std::to_string(static_cast<int>(k));
        auto guard = hold(path);
        const auto before = heard->all().size();
        const auto a = heard->last();
        BOOST_TEST((a.kind == k));
        BOOST_TEST(a.path == path);
        BOOST_TEST(!a.shared);
        BOOST_REQUIRE(a.end.has_value());
        BOOST_TEST((a.end->outcome == granted));
        BOOST_TEST((a.end->source == grant_source::free));
        BOOST_TEST(a.end->waited.count() > 0);
        BOOST_TEST((k == kind::semaphore || !a.end->node.empty()));
        BOOST_TEST(!a.hold_end.has_value());
        check_counters(c);
        guard.reset();
        BOOST_TEST(until([&] { return heard->last().hold_end.has_value(); }));
        BOOST_TEST(heard->last().hold_end->loss == error_code{});
        BOOST_TEST(heard->last().hold_end->held.count() > 0);
        BOOST_TEST(heard->last().hold_end->margin.count() > 0);
        BOOST_TEST(heard->all().size() == before);
    }
    check_all_ended();
    check_counters(c);
}

BOOST_AUTO_TEST_CASE(a_multi_lock_is_one_acquisition_and_its_parts_are_others)
{
    auto& c = connect_observed();
    {
        const auto all = take<multi_guard>([&](auto& o) {
            multi_lock both{mutex{c, directory + "/a"}, {semaphore{c, directory + "/b", 2}, 1}};
            both.async_lock(o.handler());
        });
        const auto told = heard->all();
        BOOST_TEST(told.size() >= 3U); // it may take them one by one
        const auto whole =
            std::ranges::find(told, acquisition_kind::multi_lock, &recorder::acquisition::kind);
        BOOST_REQUIRE((whole != told.end()));
        for (const auto& each : told) {
            BOOST_TEST(each.end.has_value());
            BOOST_TEST(each.part_of == (each.id == whole->id ? 0 : whole->id));
        }
        BOOST_TEST((whole->end->outcome == granted));
        const auto s = heard->add_up();
        BOOST_TEST(s.granted - s.holds == 2U);
    }
    BOOST_TEST(until([&] { return heard->add_up().holds == heard->add_up().granted; }));
    check_all_ended();
    check_counters(c);
}

BOOST_AUTO_TEST_CASE(each_outcome_is_told)
{
    auto& c = connect_observed();
    const mutex m{c, directory};
    auto held = take<unique_lock>([&](auto& o) { mutex{m}.async_lock(o.handler()); });
    const auto expect = [&](acquisition_outcome wanted, const error_code& ec) {
        const auto a = heard->last();
        BOOST_REQUIRE(a.end.has_value());
        BOOST_TEST((a.end->outcome == wanted));
        BOOST_TEST(a.end->error == ec);
        BOOST_TEST((a.end->source == grant_source::none));
    };
    outcome<unique_lock> tried, late, aborted, wrong;
    mutex{m}.async_try_lock(tried.handler());
    BOOST_TEST(code_of(io, tried) == error_code{});
    expect(busy, {});
    // The limit counts from the initiation on, and the wait a little later: once there is an acquisition.
    const auto before = std::chrono::steady_clock::now();
    mutex{m}.async_try_lock_for(20ms, late.handler());
    const auto initiating = std::chrono::steady_clock::now() - before;
    BOOST_TEST(code_of(io, late) == error_code{});
    expect(timed_out, {});
    BOOST_TEST((heard->last().end->waited + initiating >= 20ms));
    asio::cancellation_signal signal;
    mutex{m}.async_lock(asio::bind_cancellation_slot(signal.slot(), aborted.handler()));
    BOOST_TEST(c.stats().acquisitions.waiting == 1U);
    signal.emit(asio::cancellation_type::total);
    BOOST_TEST(code_of(io, aborted) == asio::error::operation_aborted);
    expect(cancelled, asio::error::operation_aborted);
    mutex{c, "no path"}.async_lock(wrong.handler());
    BOOST_TEST(code_of(io, wrong) == errc::invalid_path);
    expect(failed, errc::invalid_path);
    check_counters(c);
    BOOST_TEST(unlock(held) == error_code{});
    check_all_ended();
}

BOOST_AUTO_TEST_CASE(each_source_of_a_grant_is_told_and_whom_it_waited_for)
{
    auto& c = connect_observed();
    const mutex m{c, directory};
    auto first = take<unique_lock>([&](auto& o) { mutex{m}.async_lock(o.handler()); });
    outcome<unique_lock> second;
    mutex{m}.async_lock(second.handler());
    const auto servers = c.stats().locks_granted_by_servers;
    BOOST_TEST(unlock(first) == error_code{});
    auto local = value_of(io, second);
    const auto told = heard->all();
    BOOST_TEST((told[1].end->source == grant_source::handed_off));
    BOOST_TEST(told[1].end->previous == told[0].id);
    BOOST_TEST((told[1].end->token > told[0].end->token));
    BOOST_TEST(c.stats().locks_granted_by_servers == servers);

    // Through the server, from another client.
    const auto heard_first = heard;
    auto& other = connect_observed();
    auto waits = start_waiter(other, {.max_local_grants = 64});
    const auto node = local.node();
    // It has read whose node that is.
    BOOST_TEST(until([&] { return watches_of(other).contains(node); }));
    BOOST_TEST(unlock(local) == error_code{});
    auto over = value_of(io, waits);
    const auto a = heard->last();
    BOOST_TEST((a.end->source == grant_source::handed_over));
    BOOST_TEST(a.end->holder_node == node);
    BOOST_TEST(a.end->holder_owner == default_owner_data());
    BOOST_TEST(other.stats().acquisitions.handed_over == 1U);
    BOOST_TEST(unlock(over) == error_code{});

    check_all_ended();

    // The node that the client has.
    heard = heard_first;
    shared_mutex rw{c, directory + "-rw"};
    const auto share = [&] {
        return take<shared_lock>([&](auto& o) { rw.async_lock_shared(o.handler()); });
    };
    {
        const auto one = share();
        const auto two = share();
        BOOST_TEST(heard->last().shared);
        BOOST_TEST((heard->last().end->source == grant_source::kept_node));
    }
    check_all_ended();
}

BOOST_AUTO_TEST_CASE(a_hand_off_that_waits_for_the_servers_word_is_told_as_one)
{
    tcp_proxy proxy = link_proxy(server);
    auto& c = connect_through(proxy, {.observer = heard});
    const mutex m{c, directory, {.max_local_time = 1ms}};
    auto first = take<unique_lock>([&](auto& o) { mutex{m}.async_lock(o.handler()); });
    go_on(io, 5ms);
    proxy.stall(true);
    outcome<unique_lock> second;
    mutex{m}.async_lock(second.handler());
    BOOST_TEST(unlock(first) == error_code{});
    BOOST_TEST(!second.done()); // whether another client waits is still to be heard
    proxy.stall(false);
    auto held = value_of(io, second);
    const auto told = heard->all();
    BOOST_TEST((told[1].end->source == grant_source::handed_off));
    BOOST_TEST(told[1].end->previous == told[0].id);
    BOOST_TEST(unlock(held) == error_code{});
    check_all_ended();
}

BOOST_AUTO_TEST_CASE(a_waiter_that_takes_over_the_contender_of_one_that_left_was_handed_over)
{
    auto held = hold(connect());
    auto& c = connect_observed();
    mutex m{c, directory};
    asio::cancellation_signal signal;
    outcome<unique_lock> leaves, follows;
    m.async_lock(asio::bind_cancellation_slot(signal.slot(), leaves.handler()));
    BOOST_REQUIRE(until([&] { return watches_of(c).contains(held.node()); }));
    signal.emit(asio::cancellation_type::terminal);
    m.async_lock(follows.handler()); // before the client has seen that nobody waits
    BOOST_TEST(code_of(io, leaves) == asio::error::operation_aborted);
    const auto node = held.node();
    BOOST_TEST(unlock(held) == error_code{});
    {
        const auto taken = value_of(io, follows);
        const auto end = heard->last().end;
        BOOST_REQUIRE(end.has_value());
        BOOST_TEST((end->source == grant_source::handed_over));
        BOOST_TEST(end->holder_node == node);
        BOOST_TEST(c.stats().acquisitions.handed_over == 1U);
    }
    check_all_ended();
}

BOOST_AUTO_TEST_CASE(each_reason_of_a_loss_is_told)
{
    const auto lose = [&](errc why, auto&& how) {
        auto& c = connect_observed({.session_timeout = 4s});
        std::vector<unique_lock> guards;
        for (const auto* name : {"/x", "/y"}) {
            guards.push_back(take<unique_lock>([&](auto& o) {
                mutex{c, directory + name}.async_lock(o.handler());
            }));
        }
        auto p = take<permit>([&](auto& o) {
            semaphore{c, directory + "/z", 2}.async_acquire(2, o.handler());
        });
        auto half = p.split(1);
        how(c, guards);
        BOOST_TEST(
            until([&] { return c.stats().locks_lost == (why == errc::node_deleted ? 1U : 3U); }));
        std::uint64_t lost = 0;
        for (const auto& each : heard->all()) {
            lost += each.hold_end && each.hold_end->loss == why ? 1 : 0;
        }
        BOOST_TEST(lost == (why == errc::node_deleted ? 1U : 3U));
        guards.clear();
        p = {};
        half = {};
        BOOST_TEST(until([&] { return heard->add_up().holds == heard->add_up().granted; }));
        check_all_ended();
        check_counters(c);
        return c.stats().losses;
    };
    BOOST_TEST(lose(errc::session_expired, [&](client& c, auto&) {
                   BOOST_TEST(
                       !kill_session(server.connect_string(), c.session_id(), password_of(c)));
               }).session_expired == 3U);
    BOOST_TEST(lose(errc::client_closed, [&](client& c, auto&) { close(c); }).client_closed == 3U);
    BOOST_TEST(lose(errc::node_deleted, [&](client&, auto& guards) {
                   const auto node = guards.front().node();
                   BOOST_TEST(until([&] { return server.watches().contains(node); }));
                   admin.remove(node);
               }).node_deleted == 1U);
}

BOOST_AUTO_TEST_CASE(the_bound_is_the_end_of_a_hold)
{
    tcp_proxy proxy{server.connect_string()};
    auto& c = connect_through(proxy, {.session_timeout = 4s, .observer = heard});
    const auto held = hold(c);
    proxy.refuse(true);
    proxy.cut();
    BOOST_TEST(until([&] { return heard->last().hold_end.has_value(); }));
    BOOST_TEST(heard->last().hold_end->loss == errc::safe_until_passed);
    BOOST_TEST(heard->last().hold_end->margin.count() <= 0);
    BOOST_TEST(c.stats().losses.safe_until_passed == 1U);
    BOOST_TEST(c.stats().safe_for.count() == 0);
    check_all_ended();
}

BOOST_AUTO_TEST_CASE(nothing_is_safe_after_the_client_is_closed)
{
    auto& c = connect_observed();
    const auto held = hold(c);
    BOOST_TEST(c.stats().safe_for.count() > 0);
    close(c);
    BOOST_TEST(c.stats().safe_for.count() == 0);
}

BOOST_AUTO_TEST_CASE(a_downgrade_ends_one_hold_and_begins_another)
{
    auto& c = connect_observed();
    shared_mutex m{c, directory};
    outcome<shared_lock> shared;
    m.async_downgrade(take<unique_lock>([&](auto& o) { m.async_lock(o.handler()); }),
                      shared.handler());
    {
        const auto held = value_of(io, shared);
        const auto told = heard->all();
        BOOST_REQUIRE(told.size() == 2U);
        BOOST_TEST((told[0].hold_end && !told[0].hold_end->loss));
        BOOST_TEST(told[1].shared);
        BOOST_TEST(!told[1].hold_end.has_value());
    }
    check_all_ended();
    check_counters(c);
}

BOOST_AUTO_TEST_CASE(all_is_told_when_the_client_is_destroyed)
{
    std::vector<unique_lock> guards;
    std::vector<outcome<unique_lock>> waiters(3);
    outcome<permit> acquired;
    {
        client c{io, {.hosts = link_hosts(server), .observer = heard}};
        outcome<> connected;
        c.async_connect(connected.handler());
        BOOST_REQUIRE(code_of(io, connected) == error_code{});
        mutex m{c, directory};
        guards.push_back(take<unique_lock>([&](auto& o) { m.async_lock(o.handler()); }));
        for (auto& each : waiters) {
            m.async_lock(each.handler());
        }
        semaphore{c, directory + "-s", 1}.async_acquire(acquired.handler());
    }
    BOOST_TEST(until([&] {
        return std::ranges::all_of(waiters, [](auto& o) { return o.done(); }) && acquired.done();
    }));
    guards.clear();
    waiters.clear();
    acquired = {};
    BOOST_TEST(until([&] { return heard->add_up().holds == heard->add_up().granted; }));
    check_all_ended();
}

BOOST_AUTO_TEST_CASE(all_is_told_when_the_context_is_destroyed)
{
    unique_lock outlives;
    std::optional<client> c;
    {
        asio::io_context own;
        c.emplace(own, client_options{.hosts = link_hosts(server), .observer = heard});
        outcome<> connected;
        c->async_connect(connected.handler());
        BOOST_REQUIRE(code_of(own, connected) == error_code{});
        mutex m{*c, directory};
        outcome<unique_lock> first, second, third;
        m.async_lock(first.handler());
        outlives = value_of(own, first);
        m.async_lock(second.handler());                              // waits here
        mutex{*c, directory + "-other"}.async_lock(third.handler()); // is on its way to the servers
        outcome<permit> acquired;
        semaphore{*c, directory + "-s", 2}.async_acquire(acquired.handler());
        const auto p = value_of(own, acquired);
    }
    auto s = heard->add_up();
    BOOST_TEST(s.faults == 0);
    BOOST_TEST(s.ended == s.begun);
    BOOST_TEST(s.by_outcome[dropped] != 0U);
    BOOST_TEST(s.holds + 1 == s.granted);
    outlives = {};
    check_all_ended();
}

BOOST_AUTO_TEST_CASE(an_observer_may_start_operations_and_release_guards)
{
    auto& c = connect_observed();
    std::vector<outcome<unique_lock>> started;
    unique_lock kept = take<unique_lock>([&](auto& o) {
        mutex{c, directory + "-kept"}.async_lock(o.handler());
    });
    mutex again{c, directory};
    heard->also = [&, depth = 0]() mutable {
        if (depth == 0 && started.size() < 30) {
            ++depth;
            auto& o = started.emplace_back();
            switch (started.size() % 3) {
            case 0: again.async_lock(o.handler()); break;
            case 1: again.async_try_lock(o.handler()); break;
            case 2:
                mutex{c, directory + "-b", {.max_local_grants = 0}}.async_lock(o.handler());
                break;
            }
            kept = {};
            --depth;
        }
    };
    started.reserve(30);
    auto first = take<unique_lock>([&](auto& o) { again.async_lock(o.handler()); });
    BOOST_TEST(unlock(first) == error_code{});
    BOOST_TEST(until([&] {
        std::size_t done = 0;
        for (auto& each : started) {
            if (each.done()) {
                each.value() = {}; // the next one shall have it
                ++done;
            }
        }
        return done == 30;
    }));
    BOOST_TEST(until([&] { return heard->add_up().holds == heard->add_up().granted; }));
    check_all_ended();
    check_counters(c);
    heard->also = {};
}

BOOST_AUTO_TEST_CASE(histograms_count_what_the_observer_hears)
{
    auto& c = connect_observed({.session_timeout = 6s, .histograms = true});
    for (int i = 0; i != 5; ++i) {
        auto held = hold(c);
        BOOST_TEST(unlock(held) == error_code{});
    }
    const auto held = hold(c);
    BOOST_TEST(until(
        [&] {
            const auto b = heard->beats();
            return b.size() >= 3 && std::ranges::any_of(b, &heartbeat_answer::proves);
        },
        20s));
    const auto t = c.stats().times;
    std::chrono::nanoseconds waited{0}, kept{0};
    for (const auto& each : heard->all()) {
        waited += each.end->waited;
        kept += each.hold_end ? each.hold_end->held : 0ns;
    }
    BOOST_TEST(t.wait.count == 6U);
    BOOST_TEST(t.hold.count == 5U);
    BOOST_TEST(t.margin.count == 5U);
    BOOST_TEST(t.heartbeat.count >= 3U);
    BOOST_TEST(std::abs(t.wait.sum - std::chrono::duration<double>(waited).count()) < 1e-6);
    BOOST_TEST(std::abs(t.hold.sum - std::chrono::duration<double>(kept).count()) < 1e-6);
    for (const auto* h : {&t.wait, &t.hold, &t.margin, &t.heartbeat}) {
        BOOST_TEST(h->buckets.back().cumulative_count == h->count);
        BOOST_TEST(h->buckets.front().upper_bound == 1e-6);
        BOOST_TEST(std::ranges::is_sorted(h->buckets, {}, &histogram::bucket::cumulative_count));
        BOOST_TEST(std::ranges::is_sorted(h->buckets, {}, &histogram::bucket::upper_bound));
    }
    const auto beats = heard->beats();
    BOOST_TEST(std::ranges::any_of(beats, &heartbeat_answer::proves));
    BOOST_TEST((beats.back().round_trip > 0ns && beats.back().margin > 0ns));
    BOOST_TEST((c.stats().safe_for > 0ns && c.stats().safe_for <= 6s));
    BOOST_TEST(connect().stats().times.wait.count == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::observed_test
