// Waiting for a place in a queue, against a real server.
#include "view_scene.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace colock::test::queue_position_test {

BOOST_FIXTURE_TEST_SUITE(queue_position, view_scene)

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
                position =
                    co_await async_wait_position(mutex{looking_on, directory}, node, position);
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
    BOOST_TEST(!kill_session(server.connect_string(), session, password_of(looking_on)));
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
        async_wait_position(c, node, curator_layout(), 0,
                            asio::bind_cancellation_slot(signal.slot(), o.handler()));
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
    async_wait_position(*c, node, curator_layout(), 1,
                        [&, h = told.handler()](error_code ec, std::size_t n) mutable {
                            async_wait_position(*c, node, curator_layout(), n, again.handler());
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
        c, held.node(), curator_layout(), 0,
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
    async_wait_position(c, "//x-lock-0000000000", curator_layout(), {}, at_the_root.handler());
    BOOST_TEST(code_of(io, at_the_root) == errc::invalid_path);
    BOOST_TEST(says("contains \"//\""));
    async_wait_position(c, "x-lock-0000000000", curator_layout(), {}, relative.handler());
    BOOST_TEST(!relative.done()); // never inline
    BOOST_TEST(code_of(io, relative) == errc::invalid_path);
    BOOST_TEST(says("does not begin with '/'"));
    async_wait_position(c, "/nowhere/x-lock-0000000000", curator_layout(), {}, nowhere.handler());
    BOOST_TEST(code_of(io, nowhere) == zookeeper_errc::no_node);
    client idle{io, {.hosts = server.connect_string()}};
    async_wait_position(idle, held.node(), curator_layout(), {}, unconnected.handler());
    BOOST_TEST(code_of(io, unconnected) == errc::not_connected);
}

BOOST_AUTO_TEST_CASE(who_may_not_read_the_queue_learns_what_is_missing)
{
    constexpr std::int32_t all_but_read = 30;
    admin.create(directory, {}, admin_session::mode::persistent, {{all_but_read}});
    diagnostics why;
    outcome<std::size_t> o;
    async_wait_position(connect(), directory + "/x-lock-0000000007", curator_layout(), {},
                        bind_diagnostics(why, o.handler()));
    BOOST_TEST(code_of(io, o) == zookeeper_errc::no_auth);
    BOOST_TEST(why.message().find("READ on " + directory) != std::string::npos, why.message());
    admin.set_acl(directory, {{31}});
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::queue_position_test
