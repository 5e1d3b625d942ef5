// Who is in a group, against a real server.
#include <colock/group.hpp>
#include <support/lock_scene.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace colock::test::group_test {

namespace {

using members = std::vector<member_view>;

struct scene : lock_scene {
    explicit scene(zookeeper_server& s = common_server()) : lock_scene{s} {}

    outcome<membership> start_join(client& c, member_options options)
    {
        outcome<membership> o;
        group{c, directory}.async_join(std::move(options), o.handler());
        return o;
    }
    membership join(client& c, std::string name, std::string data = {}, std::uint32_t weight = 1)
    {
        return value_of(
            io,
            start_join(c, {.name = std::move(name), .data = std::move(data), .weight = weight}));
    }
    members list(client& c)
    {
        outcome<members> o;
        group{c, directory}.async_members(o.handler());
        return value_of(io, o);
    }
    std::vector<std::string> names(client& c)
    {
        std::vector<std::string> all;
        for (auto& m : list(c)) {
            all.push_back(std::move(m.name));
        }
        return all;
    }
    outcome<members> start_wait(client& c, members seen)
    {
        outcome<members> o;
        group{c, directory}.async_wait_change(std::move(seen), o.handler());
        return o;
    }
    void end_session_of(client& c)
    {
        BOOST_REQUIRE(
            !kill_session(server.connect_string(), c.session_id(), password_of(c)).has_value());
    }
};

// Sessions end soon there.
struct quick_scene : scene {
    static zookeeper_server& quick_server()
    {
        static zookeeper_server server{[] {
            zookeeper_options options;
            options.tick_time = 500ms;
            return link_servers(options);
        }()};
        return server;
    }
    quick_scene() : scene{quick_server()} {}

    static client_options quick() { return {.session_timeout = 2s, .tick = 500ms}; }
    client& connect_quick() { return connect(quick()); }
};

using list_of_names = std::vector<std::string>;

} // namespace

BOOST_FIXTURE_TEST_SUITE(group_cases, scene)

BOOST_AUTO_TEST_CASE(members_come_and_go)
{
    auto& a = connect();
    auto& b = connect();
    BOOST_TEST(list(a).empty());
    auto ann = join(a, "ann", "10.0.0.1", 3);
    auto bob = join(b, "bob");
    BOOST_TEST(static_cast<bool>(ann));
    BOOST_TEST(ann.name() == "ann");
    BOOST_TEST(ann.joins() == 1u);

    const auto all = list(b);
    BOOST_REQUIRE(all.size() == 2u);
    BOOST_TEST(all[0].name == "ann");
    BOOST_TEST(all[0].data == "10.0.0.1");
    BOOST_TEST(all[0].weight == 3u);
    BOOST_TEST(all[0].session == a.session_id());
    BOOST_TEST(!all[0].own);
    BOOST_TEST((all[0].since.time_since_epoch() > 0s));
    BOOST_TEST(all[1].name == "bob");
    BOOST_TEST(all[1].weight == 1u);
    BOOST_TEST(all[1].own);

    outcome<> left;
    bob.async_leave(left.handler());
    BOOST_TEST(!bob);
    BOOST_TEST(!code_of(io, left));
    BOOST_TEST((names(a) == list_of_names{"ann"}));
    {
        const auto gone = std::move(ann);
    }
    BOOST_TEST(until([&] { return list(b).empty(); }));
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_leave_that_is_never_started_leaves)
{
    auto& a = connect();
    auto ann = join(a, "ann");
    static_cast<void>(ann.async_leave());
    BOOST_TEST(!ann);
    BOOST_TEST(until([&] { return list(a).empty(); }));
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(what_members_say_is_that_of_curators)
{
    auto& a = connect();
    const auto plain = join(a, "ann", "10.0.0.1");
    BOOST_TEST(admin.get(directory + "/ann") == "10.0.0.1");
    admin.create(directory + "/curator", "its data", admin_session::mode::ephemeral);
    const auto all = list(a);
    BOOST_REQUIRE(all.size() == 2u);
    BOOST_TEST(all[1].name == "curator");
    BOOST_TEST(all[1].data == "its data");
    BOOST_TEST(all[1].weight == 1u);
    admin.remove(directory + "/curator");
}

BOOST_AUTO_TEST_CASE(nodes_of_nobody_are_no_members)
{
    auto& a = connect();
    const auto ann = join(a, "ann");
    admin.create(directory + "/left-over");
    admin.create(directory + "/container", {}, admin_session::mode::container);
    BOOST_TEST((names(a) == list_of_names{"ann"}));
    const auto told = value_of(io, start_wait(a, {}));
    BOOST_REQUIRE(told.size() == 1u);
    BOOST_TEST(told[0].name == "ann");
    BOOST_TEST(code_of(io, start_join(a, {.name = "left-over"})) == errc::not_ephemeral);
    admin.remove(directory + "/left-over");
    admin.remove(directory + "/container");
}

BOOST_AUTO_TEST_CASE(of_many_members_some_are_read_at_a_time)
{
    constexpr std::size_t many = 200, most = 64;
    admin.create(directory);
    for (std::size_t i = 0; i != many; ++i) {
        admin.create(directory + '/' + std::to_string(i), "x", admin_session::mode::ephemeral);
    }
    tcp_proxy proxy{server.connect_string()};
    auto& a = connect_through(proxy);
    for (const bool waits : {false, true}) {
        auto held = proxy.on_reply(opcode::get_data, reaction::hold, {.path_prefix = directory});
        const auto before = proxy.requests(opcode::get_data);
        outcome<members> o;
        if (waits) {
            group{a, directory}.async_wait_change({}, o.handler());
        } else {
            group{a, directory}.async_members(o.handler());
        }
        BOOST_TEST(until([&] { return proxy.requests(opcode::get_data) - before == most; }));
        held.release();
        const auto all = value_of(io, o);
        BOOST_TEST(all.size() == many);
        BOOST_TEST(std::ranges::is_sorted(all, {}, &member_view::name));
        BOOST_TEST(proxy.requests(opcode::get_data) - before == many);
    }
}

BOOST_FIXTURE_TEST_CASE(a_second_member_of_a_name_is_refused, quick_scene)
{
    auto& a = connect_quick();
    auto& b = connect_quick();
    const auto ann = join(a, "ann");
    const auto second = start_join(b, {.name = "ann"});
    const auto third = start_join(a, {.name = "ann"}); // of the same client
    BOOST_TEST(code_of(io, second) == errc::name_in_use);
    BOOST_TEST(!second.value());
    BOOST_TEST(code_of(io, third) == errc::name_in_use);
    BOOST_TEST(static_cast<bool>(ann));
    BOOST_TEST((names(b) == list_of_names{"ann"}));
}

BOOST_AUTO_TEST_CASE(the_next_member_of_a_client_says_its_own)
{
    auto& a = connect();
    auto first = join(a, "ann", "first", 2);
    const auto second = start_join(a, {.name = "ann", .data = "second"});
    go_on(io, 50ms);
    BOOST_TEST(!second.done());
    outcome<> left;
    first.async_leave(left.handler());
    const auto here = value_of(io, second);
    BOOST_TEST(until([&] {
        const auto all = list(a);
        return all.size() == 1 && all[0].data == "second" && all[0].weight == 1;
    }));
}

BOOST_FIXTURE_TEST_CASE(the_node_of_a_dead_process_is_waited_for, quick_scene)
{
    auto& a = connect_quick();
    auto& b = connect_quick();
    auto ann = join(a, "ann");
    const auto second = start_join(b, {.name = "ann", .data = "again"});
    go_on(io, 50ms);
    BOOST_TEST(!second.done());
    end_session_of(a);
    const auto again = value_of(io, second);
    BOOST_TEST(static_cast<bool>(again));

    // The first one comes back, and has lost its name.
    outcome<std::uint64_t> told;
    ann.async_wait_rejoin(1, told.handler());
    BOOST_TEST(code_of(io, told) == errc::name_in_use);
    BOOST_TEST(!ann);
    const auto all = list(b);
    BOOST_REQUIRE(all.size() == 1u);
    BOOST_TEST(all[0].data == "again");
}

BOOST_FIXTURE_TEST_CASE(a_process_that_starts_again_at_once_gets_its_name, quick_scene)
{
    auto& b = connect({.session_timeout = 3s, .tick = 1s});
    admin.create(directory);
    admin_session killed{server.connect_string(), {.session_timeout = 3s}};
    killed.create(directory + "/ann", {}, admin_session::mode::ephemeral);
    killed.abandon();
    const auto again = join(b, "ann");
    BOOST_TEST(static_cast<bool>(again));
}

BOOST_AUTO_TEST_CASE(a_member_that_may_not_be_read_is_named)
{
    constexpr std::int32_t all_but_read = 30;
    auto& a = connect();
    admin.create(directory);
    const auto stranger = directory + "/stranger";
    admin.create(stranger, {}, admin_session::mode::ephemeral, {{all_but_read}});
    diagnostics why, of_list;
    outcome<members> waits, listed;
    group{a, directory}.async_wait_change({}, bind_diagnostics(why, waits.handler()));
    group{a, directory}.async_members(bind_diagnostics(of_list, listed.handler()));
    BOOST_TEST(code_of(io, waits) == zookeeper_errc::no_auth);
    BOOST_TEST(code_of(io, listed) == zookeeper_errc::no_auth);
    BOOST_TEST(why.message().find(stranger) != std::string::npos, why.message());
    BOOST_TEST(of_list.message().find(stranger) != std::string::npos, of_list.message());
    admin.remove(stranger);
}

BOOST_AUTO_TEST_CASE(a_member_joins_again_after_its_session)
{
    auto& a = connect();
    auto ann = join(a, "ann", "first");
    outcome<> updated;
    ann.async_update("second", 7, updated.handler());
    BOOST_TEST(!code_of(io, updated));

    outcome<std::uint64_t> told;
    ann.async_wait_rejoin(ann.joins(), told.handler());
    const auto before = a.session_id();
    end_session_of(a);
    BOOST_TEST(value_of(io, told) == 2u);
    BOOST_TEST(ann.joins() == 2u);
    BOOST_TEST(a.session_id() != before);
    const auto all = list(a);
    BOOST_REQUIRE(all.size() == 1u);
    BOOST_TEST(all[0].data == "second");
    BOOST_TEST(all[0].weight == 7u);
    BOOST_TEST(all[0].own);
    outcome<std::uint64_t> at_once;
    ann.async_wait_rejoin(1, at_once.handler());
    BOOST_TEST(value_of(io, at_once) == 2u);

    // The same when somebody deletes the node.
    outcome<std::uint64_t> third;
    ann.async_wait_rejoin(2, third.handler());
    admin.remove(directory + "/ann");
    BOOST_TEST(value_of(io, third) == 3u);
    BOOST_TEST((names(a) == list_of_names{"ann"}));
}

BOOST_AUTO_TEST_CASE(an_update_that_comes_while_it_joins_again)
{
    auto& a = connect();
    auto ann = join(a, "ann", "first");
    end_session_of(a);
    outcome<> updated, later;
    ann.async_update("second", 1, updated.handler());
    ann.async_update("colock-member weight=9\nthird", 0, later.handler());
    BOOST_TEST(!code_of(io, updated));
    BOOST_TEST(!code_of(io, later));
    BOOST_TEST(until([&] { return ann.joins() == 2; }));
    BOOST_TEST(until([&] {
        const auto all = list(a);
        return all.size() == 1 && all[0].data == "colock-member weight=9\nthird" &&
               all[0].weight == 0;
    }));
}

BOOST_FIXTURE_TEST_CASE(what_a_lost_member_has_not_said_is_not_said_by_the_next_one, quick_scene)
{
    tcp_proxy proxy{server.connect_string()};
    auto& a = connect_through(proxy, quick());
    auto& b = connect_quick();
    auto ann = join(a, "ann", "first");
    proxy.refuse(true);
    proxy.cut(cut_kind::reset);
    BOOST_REQUIRE(until([&] { return a.state() == connection_state::suspended; }));
    outcome<> updated;
    ann.async_update("late", 5, updated.handler()); // cannot be sent
    end_session_of(a);
    const auto next = join(b, "ann", "next");
    outcome<std::uint64_t> told;
    ann.async_wait_rejoin(1, told.handler());
    proxy.refuse(false);
    BOOST_TEST(code_of(io, told) == errc::name_in_use);
    BOOST_TEST(code_of(io, updated) == errc::name_in_use);
    const auto all = list(b);
    BOOST_REQUIRE(all.size() == 1u);
    BOOST_TEST(all[0].data == "next");
    BOOST_TEST(all[0].weight == 1u);
}

BOOST_AUTO_TEST_CASE(changes_are_told)
{
    auto& a = connect();
    auto& b = connect();
    auto first = start_wait(b, {});
    go_on(io, 20ms);
    BOOST_TEST(!first.done());
    auto ann = join(a, "ann");
    auto all = value_of(io, first);
    BOOST_REQUIRE(all.size() == 1u);

    const auto data = start_wait(b, all);
    outcome<> updated;
    ann.async_update("new", 1, updated.handler());
    all = value_of(io, data);
    BOOST_TEST(all[0].data == "new");

    const auto another = start_wait(b, all);
    const auto bob = join(b, "bob");
    all = value_of(io, another);
    BOOST_TEST(all.size() == 2u);

    const auto gone = start_wait(b, all);
    {
        const auto leaves = std::move(ann);
    }
    all = value_of(io, gone);
    BOOST_REQUIRE(all.size() == 1u);
    BOOST_TEST(all[0].name == "bob");

    // Nothing is sent while nothing happens, and nothing is left behind.
    asio::cancellation_signal stop;
    outcome<members> idle;
    group{b, directory}.async_wait_change(
        all, asio::bind_cancellation_slot(stop.slot(), idle.handler()));
    go_on(io, 50ms);
    const auto sent = b.stats();
    go_on(io, 200ms);
    const auto now = b.stats();
    BOOST_TEST(now.requests - now.heartbeats == sent.requests - sent.heartbeats);
    BOOST_TEST(!idle.done());
    stop.emit(asio::cancellation_type::terminal);
    BOOST_TEST(code_of(io, idle) == asio::error::operation_aborted);
    BOOST_TEST(until([&] { return child_watches() == 0; }));
}

BOOST_AUTO_TEST_CASE(bad_names_are_refused)
{
    auto& a = connect();
    for (const auto& name : {std::string{}, std::string{"a/b"}, std::string{"."}, std::string{".."},
                             std::string{"a\nb"}, std::string(256, 'x')}) {
        BOOST_TEST(code_of(io, start_join(a, {.name = name})) == errc::invalid_option);
    }
    diagnostics why, of_root;
    outcome<membership> o, root;
    group{a, "relative"}.async_join({.name = "ann"}, bind_diagnostics(why, o.handler()));
    BOOST_TEST(code_of(io, o) == errc::invalid_path);
    BOOST_TEST(why.message() == "the group relative: the path does not begin with '/'");
    group{a, "/"}.async_join({.name = "ann"}, bind_diagnostics(of_root, root.handler()));
    BOOST_TEST(code_of(io, root) == errc::invalid_path);
    BOOST_TEST(of_root.message() == "the group /: the path must not be \"/\"");
    BOOST_TEST(a.last_error_detail() == of_root.message());
    diagnostics of_data;
    outcome<membership> data;
    group{a, directory}.async_join({.name = "ann", .data = "__REVOKE__"},
                                   bind_diagnostics(of_data, data.handler()));
    BOOST_TEST(code_of(io, data) == errc::invalid_option);
    BOOST_TEST(of_data.message() ==
               "the group " + directory + ": these data stand for a request to release");
    outcome<members> listed;
    group{a, "relative"}.async_members(listed.handler());
    BOOST_TEST(code_of(io, listed) == errc::invalid_path);
}

BOOST_AUTO_TEST_CASE(a_join_that_is_cancelled_leaves_nothing)
{
    auto& a = connect();
    auto& b = connect();
    auto ann = join(a, "ann");
    for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::total}) {
        asio::cancellation_signal stop;
        outcome<membership> o;
        group{b, directory}.async_join({.name = "ann"},
                                       asio::bind_cancellation_slot(stop.slot(), o.handler()));
        go_on(io, 20ms);
        stop.emit(type);
        BOOST_TEST(code_of(io, o) == asio::error::operation_aborted);
    }
    {
        const auto leaves = std::move(ann);
    }
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(the_client_is_closed)
{
    auto& a = connect();
    const auto ann = join(a, "ann");
    outcome<std::uint64_t> told;
    ann.async_wait_rejoin(1, told.handler());
    outcome<> closed;
    a.async_close(closed.handler());
    BOOST_TEST(!code_of(io, closed));
    BOOST_TEST(code_of(io, told) == errc::client_closed);
    BOOST_TEST(!ann);
    outcome<> updated;
    ann.async_update("late", 1, updated.handler());
    BOOST_TEST(code_of(io, updated) == errc::client_closed);
}

BOOST_AUTO_TEST_CASE(a_membership_outlives_its_context)
{
    membership ann;
    {
        asio::io_context context;
        client c{context, server.connect_string()};
        outcome<> connected;
        c.async_connect(connected.handler());
        BOOST_REQUIRE(!code_of(context, connected));
        outcome<membership> o;
        group{c, directory}.async_join({.name = "ann"}, o.handler());
        ann = value_of(context, o);
        outcome<std::uint64_t> told;
        ann.async_wait_rejoin(1, told.handler());
        go_on(context, 10ms);
    }
    BOOST_TEST(!ann);
}

// The handlers that would end its operations never run.
BOOST_AUTO_TEST_CASE(a_membership_outlives_a_context_that_stops_with_its_client)
{
    membership ann;
    bool completed = false;
    {
        asio::io_context context;
        std::optional<client> c{std::in_place, context, server.connect_string()};
        outcome<> connected;
        c->async_connect(connected.handler());
        BOOST_REQUIRE(!code_of(context, connected));
        outcome<membership> o;
        group{*c, directory}.async_join({.name = "ann"}, o.handler());
        ann = value_of(context, o);
        // A handler that is not destroyed with the context would refer to it afterwards.
        ann.async_wait_rejoin(
            1, asio::bind_executor(
                   asio::require(context.get_executor(), asio::execution::outstanding_work.tracked),
                   [&](const error_code&, std::uint64_t) { completed = true; }));
        go_on(context, 10ms);
        asio::post(context, [&] {
            c.reset();
            context.stop();
        });
        context.restart();
        context.run();
    }
    BOOST_TEST(!ann);
    BOOST_TEST(!completed);
}

BOOST_AUTO_TEST_CASE(an_update_that_is_refused_ends_no_membership)
{
    auto& a = connect();
    auto ann = join(a, "ann", "first");
    outcome<> updated;
    ann.async_update(std::string(2'000'000, 'x'), 1, updated.handler());
    BOOST_TEST(code_of(io, updated) == errc::request_too_large);
    // Nor other updates: what is refused is not written in their place.
    const auto limit = client_options{}.max_request_size;
    outcome<> early, refused, late, asks;
    ann.async_update("second", 1, early.handler());
    ann.async_update(std::string(limit, 'x'), 1, refused.handler()); // the path comes to that
    ann.async_update("__REVOKE__", 1, asks.handler());
    ann.async_update("first", 1, late.handler());
    BOOST_TEST(!code_of(io, early));
    BOOST_TEST(!code_of(io, late));
    BOOST_TEST(code_of(io, asks) == errc::invalid_option);
    static_cast<void>(code_of(io, refused));
    outcome<std::uint64_t> told;
    ann.async_wait_rejoin(1, told.handler());
    end_session_of(a);
    BOOST_TEST(!code_of(io, told));
    BOOST_TEST(static_cast<bool>(ann));
    BOOST_TEST(until([&] {
        const auto all = list(a);
        return all.size() == 1 && all[0].data == "first";
    }));
}

BOOST_AUTO_TEST_CASE(a_membership_that_is_moved_to_itself_stays)
{
    auto here = join(connect(), "ann");
    auto& same = here;
    here = std::move(same);
    BOOST_TEST(static_cast<bool>(here));
    BOOST_TEST(here.name() == "ann");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::group_test
