// Looking into a queue from outside, against a real server.
#include <colock/queue_view.hpp>
#include <support/lock_scene.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace colock;
using namespace colock::test;

namespace {

struct view_scene : lock_scene {
    outcome<queue_view> start_view(client& c, layout l = curator_layout())
    {
        outcome<queue_view> o;
        async_view_queue(c, directory, std::move(l), o.handler());
        return o;
    }
    queue_view view(client& c, layout l = curator_layout())
    {
        return value_of(io, start_view(c, std::move(l)));
    }
    outcome<shared_lock> start_read(client& c)
    {
        outcome<shared_lock> o;
        shared_mutex{c, directory}.async_lock_shared(o.handler());
        return o;
    }
    outcome<unique_lock> start_write(client& c)
    {
        outcome<unique_lock> o;
        shared_mutex{c, directory}.async_lock(o.handler());
        return o;
    }
    outcome<std::size_t> start_wait(client& c, const std::string& name,
                                    std::optional<std::size_t> seen, layout l = curator_layout())
    {
        outcome<std::size_t> o;
        async_wait_position(c, directory + '/' + name, std::move(l), seen, o.handler());
        return o;
    }
    std::size_t position_now(client& c, const std::string& name, layout l = curator_layout())
    {
        return value_of(io, start_wait(c, name, {}, std::move(l)));
    }
    bool watches_children(std::int64_t n)
    {
        return until([&] { return child_watches() == n; });
    }
    bool queue_grows_to(std::size_t n)
    {
        return until([&] { return queue().size() == n; });
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(queue_view_cases, view_scene)

BOOST_AUTO_TEST_CASE(who_has_it_and_who_waits_in_order)
{
    auto& a = connect();
    auto& b = connect();
    const auto held = hold(a, {.owner_data = "first"});
    const auto second = start_waiter(b, {.owner_data = "second"});
    auto& c = connect();
    const auto third = start_waiter(c, {.owner_data = "third"});
    admin.create(directory + "/not-a-contender");

    const auto found = view(connect()); // who need not be one of them
    BOOST_TEST_REQUIRE(found.entries.size() == 3U);
    BOOST_TEST_REQUIRE(found.holders().size() == 1U);
    BOOST_TEST_REQUIRE(found.waiters().size() == 2U);
    const auto& first = found.holders().front();
    BOOST_TEST(first.path == held.node());
    BOOST_TEST(first.path == directory + '/' + first.name);
    BOOST_TEST(first.data == "first");
    BOOST_TEST(first.session == a.session_id());
    BOOST_TEST(static_cast<std::uint64_t>(first.czxid) == held.token().high());
    const auto age = std::chrono::system_clock::now() - first.since;
    BOOST_TEST((age > -1s && age < 1min));
    BOOST_TEST((first.holds && !first.shared && !first.unreadable));
    BOOST_TEST(found.waiters()[0].data == "second");
    BOOST_TEST(found.waiters()[1].data == "third");
    BOOST_TEST(found.waiters()[1].session == c.session_id());
    BOOST_TEST((first.number < found.waiters()[0].number &&
                found.waiters()[0].number < found.waiters()[1].number));
    BOOST_TEST(!found.waiters()[0].holds);
    admin.remove(directory + "/not-a-contender");
}

BOOST_AUTO_TEST_CASE(readers_before_the_first_writer_have_it)
{
    auto& a = connect();
    auto& b = connect();
    auto& w = connect();
    auto& late = connect();
    const auto first = value_of(io, start_read(a));
    const auto second = value_of(io, start_read(b));
    const auto writer = start_write(w);
    BOOST_TEST(queue_grows_to(3));
    const auto third = start_read(late);
    BOOST_TEST(queue_grows_to(4));
    const auto found = view(a, curator_shared_layout());
    BOOST_TEST_REQUIRE(found.entries.size() == 4U);
    BOOST_TEST_REQUIRE(found.holders().size() == 2U);
    BOOST_TEST((found.entries[0].shared && found.entries[1].shared && !found.entries[2].shared &&
                found.entries[3].shared));
    BOOST_TEST(found.entries[1].path == second.node());
    BOOST_TEST(found.waiters()[0].session == w.session_id());
    BOOST_TEST(!found.entries[3].holds); // a reader, but behind a writer
    BOOST_TEST(view(a).entries.empty()); // there is no mutex
}

BOOST_AUTO_TEST_CASE(nothing_is_an_empty_queue)
{
    auto& c = connect();
    BOOST_TEST(view(c).entries.empty());
    BOOST_TEST(view(c).holders().empty());
    BOOST_TEST(view(c).waiters().empty());
    admin.create(directory);
    BOOST_TEST(view(c).entries.empty());
    BOOST_TEST(view(c).waiters().empty());
}

BOOST_AUTO_TEST_CASE(two_round_trips_for_as_many_as_are_read_at_once)
{
    tcp_proxy proxy{server.connect_string()};
    auto& c = connect_through(proxy);
    admin.create(directory);
    constexpr std::size_t length = 64;
    for (std::size_t i = 0; i != length; ++i) {
        admin.create(directory + "/x-lock-", std::to_string(i),
                     admin_session::mode::persistent_sequential);
    }
    const auto before = c.stats().requests;
    auto replies_held = proxy.on_reply(opcode::get_data, reaction::hold);
    const auto o = start_view(c);
    // All are asked before one is answered.
    BOOST_TEST(until([&] { return c.stats().in_flight == length; }));
    BOOST_TEST(c.stats().requests - before == 1 + length);
    BOOST_TEST(!o.done());
    replies_held.release();
    const auto found = value_of(io, o);
    BOOST_TEST_REQUIRE(found.entries.size() == length);
    for (std::size_t i = 0; i != length; ++i) {
        BOOST_TEST(found.entries[i].data == std::to_string(i));
        BOOST_TEST(found.entries[i].session == 0);
    }
    admin.remove_tree(directory);
}

BOOST_AUTO_TEST_CASE(who_goes_meanwhile_is_left_out)
{
    tcp_proxy proxy{server.connect_string()};
    auto& c = connect_through(proxy);
    admin.create(directory);
    std::vector<std::string> nodes;
    for (const auto* data : {"a", "b", "c"}) {
        nodes.push_back(
            admin.create(directory + "/x-lock-", data, admin_session::mode::persistent_sequential));
    }
    auto list_held = proxy.on_reply(opcode::get_children2, reaction::hold);
    const auto o = start_view(c);
    BOOST_TEST(until([&] { return list_held.fired() == 1U; }));
    admin.remove(nodes[0]);
    list_held.release();
    const auto found = value_of(io, o);
    BOOST_TEST_REQUIRE(found.entries.size() == 2U);
    BOOST_TEST(found.holders().size() == 1U);
    BOOST_TEST(found.holders().front().data == "b"); // who is the first one now
    BOOST_TEST(found.waiters().front().data == "c");
    admin.remove_tree(directory);
}

BOOST_AUTO_TEST_CASE(the_connection_breaks_under_it)
{
    tcp_proxy proxy{server.connect_string()};
    auto& c = connect_through(proxy);
    const auto held = hold(connect(), {.owner_data = "x"});
    const auto lost = proxy.on_reply(opcode::get_data, reaction::drop_and_cut);
    const auto found = view(c);
    BOOST_TEST(lost.fired() == 1U);
    BOOST_TEST_REQUIRE(found.entries.size() == 1U);
    BOOST_TEST(found.entries.front().data == "x");
}

BOOST_AUTO_TEST_CASE(a_node_that_may_not_be_read_is_there_all_the_same)
{
    auto& c = connect();
    admin.create(directory); // which everybody may list
    const auto held =
        hold(connect({.credentials = {{"digest", "me:secret"}}}), {.acl = creator_acl()});
    // Not one of ours, which would give up: it may not watch the node before it.
    const auto next =
        admin.create(directory + "/x-lock-", "x", admin_session::mode::persistent_sequential);
    const auto found = view(c);
    BOOST_TEST_REQUIRE(found.entries.size() == 2U);
    BOOST_TEST(found.entries[0].unreadable == zookeeper_errc::no_auth);
    BOOST_TEST(found.entries[0].holds);
    BOOST_TEST(found.entries[0].path == held.node());
    BOOST_TEST(found.entries[1].data == "x");
    admin.remove(next);
}

BOOST_AUTO_TEST_CASE(it_can_be_cancelled)
{
    tcp_proxy proxy{server.connect_string()};
    auto& c = connect_through(proxy);
    admin.create(directory);
    admin.create(directory + "/x-lock-", "", admin_session::mode::persistent_sequential);
    for (const auto op : {opcode::get_children2, opcode::get_data}) {
        auto answer_held = proxy.on_reply(op, reaction::hold);
        asio::cancellation_signal signal;
        outcome<queue_view> o;
        async_view_queue(c, directory, asio::bind_cancellation_slot(signal.slot(), o.handler()));
        BOOST_TEST(until([&] { return answer_held.fired() == 1U; }));
        signal.emit(asio::cancellation_type::total);
        BOOST_TEST(code_of(io, o) == asio::error::operation_aborted);
        answer_held.release();
        BOOST_TEST(until([&] { return c.stats().in_flight == 0U; }));
    }
    // Without a connection, too.
    proxy.refuse(true);
    proxy.cut();
    BOOST_TEST(until([&] { return c.state() == connection_state::suspended; }));
    asio::cancellation_signal signal;
    outcome<queue_view> o;
    async_view_queue(c, directory, asio::bind_cancellation_slot(signal.slot(), o.handler()));
    BOOST_TEST(until([&] { return c.stats().waiting == 1U; }));
    signal.emit(asio::cancellation_type::terminal);
    BOOST_TEST(code_of(io, o) == asio::error::operation_aborted);
    BOOST_TEST(c.stats().waiting == 0U);
    proxy.refuse(false);
    admin.remove_tree(directory);
}

BOOST_AUTO_TEST_CASE(the_client_is_closed_meanwhile)
{
    tcp_proxy proxy{server.connect_string()};
    auto& c = connect_through(proxy);
    admin.create(directory);
    for (int i = 0; i != 3; ++i) {
        admin.create(directory + "/x-lock-", "", admin_session::mode::persistent_sequential);
    }
    const auto answers_held = proxy.on_reply(opcode::get_data, reaction::hold);
    const auto o = start_view(c);
    BOOST_TEST(until([&] { return answers_held.fired() == 1U; }));
    proxy.refuse(true);
    proxy.cut();
    BOOST_TEST(until([&] { return c.state() == connection_state::suspended; }));
    BOOST_TEST(!o.done()); // all reads wait to be repeated
    outcome<> closed;
    c.async_close(closed.handler());
    BOOST_TEST(code_of(io, o) == errc::client_closed);
    BOOST_TEST(c.stats().waiting == 0U);
    static_cast<void>(code_of(io, closed));
    admin.remove_tree(directory);
}

BOOST_AUTO_TEST_CASE(bad_input)
{
    auto& c = connect();
    outcome<queue_view> path, bad_layout, unconnected;
    async_view_queue(c, "no/slash", path.handler());
    BOOST_TEST(code_of(io, path) == errc::invalid_path);
    async_view_queue(c, directory, layout{.prefix = "_c_", .marker = ""}, bad_layout.handler());
    BOOST_TEST(code_of(io, bad_layout) == errc::invalid_option);
    BOOST_TEST(c.last_error_detail().find("has no marker") != std::string::npos);
    client idle{io, {.hosts = server.connect_string()}};
    async_view_queue(idle, directory, unconnected.handler());
    BOOST_TEST(!unconnected.done()); // never inline
    BOOST_TEST(code_of(io, unconnected) == errc::not_connected);
}

// ---- a position that changes

BOOST_AUTO_TEST_CASE(a_position_counts_down_to_the_lock)
{
    auto& looking_on = connect();
    auto first = hold(connect());
    auto& b = connect();
    auto second = start_waiter(b);
    auto& c = connect();
    const auto third = start_waiter(c);
    // As a user finds his own place.
    const auto found = view(looking_on);
    const auto own = std::ranges::find(found.entries, c.session_id(), &queue_entry::session);
    BOOST_TEST_REQUIRE((own != found.entries.end()));
    BOOST_TEST(position_now(looking_on, own->name) == 2U);

    const auto one_goes = start_wait(looking_on, own->name, 2);
    BOOST_TEST(watches_children(1));
    const auto behind = start_waiter(connect()); // who changes nothing for those before him
    BOOST_TEST(!one_goes.done());
    BOOST_TEST(!unlock(first));
    BOOST_TEST(value_of(io, one_goes) == 1U);

    const auto another_goes = start_wait(looking_on, own->name, 1);
    auto held = value_of(io, second);
    BOOST_TEST(watches_children(1));
    BOOST_TEST(!another_goes.done());
    BOOST_TEST(!unlock(held));
    BOOST_TEST(value_of(io, another_goes) == 0U);
    BOOST_TEST(position_now(looking_on, own->name) == 0U);
    held = value_of(io, third);
    BOOST_TEST(held.node() == own->path);

    const auto it_goes = start_wait(looking_on, own->name, 0);
    BOOST_TEST(watches_children(1));
    BOOST_TEST(!unlock(held));
    BOOST_TEST(code_of(io, it_goes) == zookeeper_errc::no_node);
    BOOST_TEST(watches_children(0));
}

// In the coroutine that the documentation shows.
BOOST_AUTO_TEST_CASE(a_loop_tells_a_position_until_the_node_goes)
{
    auto& looking_on = connect();
    auto first = hold(connect());
    const auto second = start_waiter(connect());
    const auto third = start_waiter(connect());
    const auto node = directory + '/' + queue().back();
    std::vector<std::size_t> told;
    outcome<> ended;
    asio::co_spawn(
        io,
        [&]() -> asio::awaitable<void> {
            std::optional<std::size_t> position;
            for (;;) {
                position = co_await async_wait_position(looking_on, node, position);
                told.push_back(*position);
            }
        },
        [handler = ended.handler()](const std::exception_ptr& e) mutable {
            error_code ec;
            try {
                std::rethrow_exception(e);
            } catch (const boost::system::system_error& failed) {
                ec = failed.code();
            }
            handler(ec);
        });
    BOOST_TEST(until([&] { return told.size() == 1U; }));
    BOOST_TEST(!unlock(first));
    BOOST_TEST(until([&] { return told.size() == 2U; }));
    auto held = value_of(io, second);
    BOOST_TEST(!unlock(held));
    BOOST_TEST(until([&] { return told.size() == 3U; }));
    held = value_of(io, third);
    BOOST_TEST(!unlock(held));
    BOOST_TEST(code_of(io, ended) == zookeeper_errc::no_node);
    BOOST_TEST((told == std::vector<std::size_t>{2, 1, 0}));
}

BOOST_AUTO_TEST_CASE(a_position_among_readers_and_writers)
{
    const auto l = curator_shared_layout();
    auto& looking_on = connect();
    const auto join = [&](bool shared) {
        return admin
            .create(directory + (shared ? "/x-__READ__" : "/x-__WRIT__"), "",
                    admin_session::mode::persistent_sequential)
            .substr(directory.size() + 1);
    };
    admin.create(directory);
    const auto reader = join(true), second_reader = join(true), writer = join(false),
               third_reader = join(true), fourth_reader = join(true), second_writer = join(false);
    BOOST_TEST(position_now(looking_on, reader, l) == 0U);
    BOOST_TEST(position_now(looking_on, second_reader, l) == 0U);
    BOOST_TEST(position_now(looking_on, writer, l) == 2U);
    BOOST_TEST(position_now(looking_on, third_reader, l) == 3U);
    BOOST_TEST(position_now(looking_on, fourth_reader, l) == 3U);
    BOOST_TEST(position_now(looking_on, second_writer, l) == 5U);
    // A reader before it goes: that is nothing to a reader.
    const auto changes = start_wait(looking_on, fourth_reader, 3, l);
    BOOST_TEST(watches_children(1));
    admin.remove(directory + '/' + third_reader);
    BOOST_TEST(position_now(looking_on, second_writer, l) == 4U);
    BOOST_TEST(!changes.done());
    admin.remove(directory + '/' + writer); // which gives up
    BOOST_TEST(value_of(io, changes) == 0U);
    admin.remove_tree(directory);
}

// As Curator steps down: the reader's node, with the number of the writer's, comes before the writer's goes.
BOOST_AUTO_TEST_CASE(a_position_does_not_grow_when_somebody_steps_down)
{
    const auto l = curator_shared_layout();
    auto& looking_on = connect();
    admin.create(directory);
    admin.create(directory + "/x-__WRIT__0000000001");
    admin.create(directory + "/y-__WRIT__0000000002");
    admin.create(directory + "/y-__READ__0000000003");
    const auto writer = start_wait(looking_on, "y-__WRIT__0000000002", 1, l);
    const auto reader = start_wait(looking_on, "y-__READ__0000000003", 2, l);
    BOOST_TEST(watches_children(1));
    admin.create(directory + "/x-__READ__0000000001");
    BOOST_TEST(position_now(looking_on, "x-__READ__0000000001", l) == 0U);
    BOOST_TEST(position_now(looking_on, "y-__WRIT__0000000002", l) == 1U);
    BOOST_TEST(position_now(looking_on, "y-__READ__0000000003", l) == 2U);
    admin.remove(directory + "/x-__WRIT__0000000001");
    BOOST_TEST(position_now(looking_on, "y-__WRIT__0000000002", l) == 1U);
    BOOST_TEST((!writer.done() && !reader.done()));
    admin.remove(directory + "/x-__READ__0000000001");
    BOOST_TEST(value_of(io, writer) == 0U);
    BOOST_TEST(value_of(io, reader) == 1U);
    admin.remove_tree(directory);
}

BOOST_AUTO_TEST_CASE(G4_a_position_that_changes_behind_a_disconnection_is_told)
{
    tcp_proxy proxy{server.connect_string()};
    auto& looking_on = connect_through(proxy);
    auto first = hold(connect());
    const auto second = start_waiter(connect());
    const auto name = queue().back();
    const auto changes = start_wait(looking_on, name, 1);
    BOOST_TEST(watches_children(1));
    proxy.refuse(true);
    proxy.cut();
    BOOST_TEST(until([&] { return looking_on.state() == connection_state::suspended; }));
    BOOST_TEST(!unlock(first));
    BOOST_TEST(until([&] { return second.done(); }));
    BOOST_TEST(!changes.done());
    const auto again =
        start_wait(looking_on, name, 1); // who asks meanwhile waits for the connection
    proxy.refuse(false);
    BOOST_TEST(value_of(io, changes) == 0U);
    BOOST_TEST(value_of(io, again) == 0U);
}

BOOST_AUTO_TEST_CASE(a_wait_for_a_position_outlives_the_session_of_who_looks_on)
{
    auto& looking_on = connect();
    auto first = hold(connect());
    const auto second = start_waiter(connect());
    const auto changes = start_wait(looking_on, queue().back(), 1);
    BOOST_TEST(watches_children(1));
    const auto session = looking_on.session_id();
    BOOST_TEST(!kill_session(server.connect_string(), session, looking_on.session_password()));
    BOOST_TEST(until([&] {
        return looking_on.state() == connection_state::connected &&
               looking_on.session_id() != session;
    }));
    BOOST_TEST(!changes.done());
    BOOST_TEST(!unlock(first));
    BOOST_TEST(value_of(io, changes) == 0U);
}

BOOST_AUTO_TEST_CASE(waiting_for_a_position_can_be_cancelled)
{
    tcp_proxy proxy{server.connect_string()};
    auto& c = connect_through(proxy);
    const auto held = hold(connect());
    const auto node = directory + '/' + queue().front();
    const auto start = [&](asio::cancellation_signal& signal) {
        outcome<std::size_t> o;
        async_wait_position(c, node, 0, asio::bind_cancellation_slot(signal.slot(), o.handler()));
        return o;
    };
    for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                            asio::cancellation_type::total}) {
        asio::cancellation_signal signal;
        const auto o = start(signal);
        BOOST_TEST(watches_children(1));
        signal.emit(type);
        BOOST_TEST(code_of(io, o) == asio::error::operation_aborted);
        BOOST_TEST(watches_children(0));
    }
    // While it lists: the watch that the answer sets is removed.
    auto answer_held = proxy.on_reply(opcode::get_children2, reaction::hold);
    asio::cancellation_signal signal;
    const auto o = start(signal);
    BOOST_TEST(until([&] { return answer_held.fired() == 1U; }));
    signal.emit(asio::cancellation_type::terminal);
    BOOST_TEST(code_of(io, o) == asio::error::operation_aborted);
    answer_held.release();
    BOOST_TEST(watches_children(0));
    // Before it begins.
    asio::cancellation_signal early;
    const auto never = start(early);
    early.emit(asio::cancellation_type::terminal);
    BOOST_TEST(code_of(io, never) == asio::error::operation_aborted);
}

BOOST_AUTO_TEST_CASE(the_client_is_closed_while_somebody_waits_for_a_position)
{
    auto& c = connect();
    const auto held = hold(connect());
    const auto changes = start_wait(c, queue().front(), 0);
    BOOST_TEST(watches_children(1));
    outcome<> closed;
    c.async_close(closed.handler());
    BOOST_TEST(code_of(io, changes) == errc::client_closed);
    BOOST_TEST(!code_of(io, closed));
}

BOOST_AUTO_TEST_CASE(a_client_that_waits_for_a_position_goes_in_the_completion_of_another)
{
    auto first = hold(connect());
    const auto second = start_waiter(connect());
    const auto node = directory + '/' + queue().back();
    std::optional<client> c{std::in_place, io, client_options{.hosts = server.connect_string()}};
    outcome<> connected;
    c->async_connect(connected.handler());
    BOOST_TEST(!code_of(io, connected));
    outcome<std::size_t> told, again;
    async_wait_position(*c, node, 1, [&, h = told.handler()](error_code ec, std::size_t n) mutable {
        async_wait_position(*c, node, n, again.handler());
        c.reset();
        h(ec, n);
    });
    BOOST_TEST(watches_children(1));
    BOOST_TEST(!unlock(first));
    BOOST_TEST(value_of(io, told) == 0U);
    BOOST_TEST(code_of(io, again) == asio::error::operation_aborted);
    BOOST_TEST(watches_children(0));
}

BOOST_AUTO_TEST_CASE(who_waits_for_a_position_may_outlive_the_context)
{
    const auto held = hold(connect());
    std::optional<asio::io_context> context{std::in_place};
    client c{*context, {.hosts = server.connect_string()}};
    outcome<> connected;
    c.async_connect(connected.handler());
    BOOST_TEST(!code_of(*context, connected));
    outcome<std::size_t> o;
    const auto alive = std::make_shared<int>();
    asio::cancellation_signal signal;
    async_wait_position(
        c, held.node(), 0,
        asio::bind_cancellation_slot(
            signal.slot(), [alive, h = o.handler()](error_code ec, std::size_t n) { h(ec, n); }));
    BOOST_TEST(becomes_true(*context, [&] { return child_watches() == 1; }));
    context.reset();
    BOOST_TEST(alive.use_count() == 1); // the handler is destroyed with its context
    signal.emit(asio::cancellation_type::terminal);
    BOOST_TEST(!o.done());
    BOOST_TEST(watches_children(0));
}

BOOST_AUTO_TEST_CASE(bad_input_for_a_position)
{
    auto& c = connect();
    const auto says = [&](const char* text) {
        return c.last_error_detail().find(text) != std::string::npos;
    };
    const auto held = hold(connect());
    BOOST_TEST(code_of(io, start_wait(c, "x-lock-0000001000", {})) == zookeeper_errc::no_node);
    for (const auto* name : {"", "locks", "x-lock-", "x-lock-12", "x-__READ__0000000000"}) {
        BOOST_TEST(code_of(io, start_wait(c, name, {})) == errc::invalid_path, name);
        BOOST_TEST(says("not the node of a contender of the layout"), name);
    }
    BOOST_TEST(code_of(io, start_wait(c, queue().front(), {}, layout{.prefix = "_c_"})) ==
               errc::invalid_option);
    BOOST_TEST(says("has no marker"));
    outcome<std::size_t> at_the_root, relative, nowhere, unconnected;
    async_wait_position(c, "//x-lock-0000000000", {}, at_the_root.handler());
    BOOST_TEST(code_of(io, at_the_root) == errc::invalid_path);
    BOOST_TEST(says("contains \"//\""));
    async_wait_position(c, "x-lock-0000000000", {}, relative.handler());
    BOOST_TEST(!relative.done()); // never inline
    BOOST_TEST(code_of(io, relative) == errc::invalid_path);
    BOOST_TEST(says("does not begin with '/'"));
    async_wait_position(c, "/nowhere/x-lock-0000000000", {}, nowhere.handler());
    BOOST_TEST(code_of(io, nowhere) == zookeeper_errc::no_node);
    client idle{io, {.hosts = server.connect_string()}};
    async_wait_position(idle, held.node(), {}, unconnected.handler());
    BOOST_TEST(code_of(io, unconnected) == errc::not_connected);
}

// ---- what it says about itself

BOOST_AUTO_TEST_CASE(what_a_node_says_about_its_owner)
{
    auto& c = connect();
    const auto held = hold(c);
    const auto found = view(c);
    BOOST_TEST_REQUIRE(found.entries.size() == 1U);
    const auto owner = found.entries.front().owner();
    char host[256] = "";
    ::gethostname(host, sizeof host - 1);
    BOOST_TEST((owner.host == host));
    BOOST_TEST((owner.pid == ::getpid()));
    BOOST_TEST((owner.program == "queue_view"));
    BOOST_TEST(owner.text == default_owner_data());

    const auto blank = parse_owner("host=a pid=12 program=my own pid=3");
    BOOST_TEST((blank.host == "a" && blank.pid == 12 && blank.program == "my own pid=3"));
    for (const auto* foreign :
         {"", "10.0.0.1", "__REVOKE__", "host=", "host=a pid= program=b", "host=a pid=1x program=b",
          "host=a program=b pid=1", " host=a pid=1 program=b"}) {
        BOOST_TEST((parse_owner(foreign) == owner_info{.text = foreign}), foreign);
    }
}

BOOST_AUTO_TEST_SUITE_END()
