// Looking into a queue from outside, against a real server.
#include <colock/semaphore.hpp>
#include <support/requests_of.hpp>

#include "view_scene.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace colock::test::queue_view_test {

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

BOOST_AUTO_TEST_CASE(a_bounded_view_reads_the_first_nodes_only)
{
    admin.create(directory);
    constexpr std::size_t count = 300;
    for (std::size_t i = 0; i != count; ++i) {
        admin.create(directory + "/other-lock-", "data",
                     admin_session::mode::persistent_sequential);
    }
    auto& c = connect();
    const auto look = [&](std::size_t most) {
        const auto before = requests_of(c);
        outcome<queue_view> o;
        async_view_queue(c, directory, curator_layout(), view_options{.most_read = most},
                         o.handler());
        auto found = value_of(io, o);
        BOOST_TEST(requests_of(c) - before == 1 + std::min(most, count));
        BOOST_TEST_REQUIRE(found.entries.size() == count);
        for (std::size_t i = 0; i != count; ++i) {
            const auto& e = found.entries[i];
            BOOST_TEST(e.unread == (i >= most));
            BOOST_TEST(e.data.empty() == (i >= most));
            BOOST_TEST(e.holds == (i == 0));
            BOOST_TEST(e.number == static_cast<std::int64_t>(i));
        }
        return found;
    };
    for (const std::size_t most : {0U, 1U, 65U, 300U, 1000U}) {
        look(most);
    }
    BOOST_TEST(look(0).holders().size() == 1U);

    outcome<queue_view> by_object;
    async_view_queue(mutex{c, directory}, view_options{.most_read = 2}, by_object.handler());
    BOOST_TEST(value_of(io, by_object).entries[2].unread);
    admin.remove_tree(directory);
}

BOOST_AUTO_TEST_CASE(a_bounded_view_of_a_semaphore_reads_so_many_of_each)
{
    admin.create(directory);
    for (const auto* part : {"/locks/x-lock-", "/leases/x-lease-"}) {
        const std::string path = directory + part;
        admin.create(path.substr(0, path.rfind('/')));
        for (int i = 0; i != 5; ++i) {
            admin.create(path, "data", admin_session::mode::persistent_sequential);
        }
    }
    auto& c = connect();
    const auto before = requests_of(c);
    outcome<queue_view> o;
    async_view_queue(semaphore{c, directory, 5}, view_options{.most_read = 2}, o.handler());
    const auto found = value_of(io, o);
    BOOST_TEST(requests_of(c) - before == 2 + 2 * 2U);
    BOOST_TEST((found.holders().size() == 5U && found.waiters().size() == 5U));
    for (const auto part : {found.holders(), found.waiters()}) {
        BOOST_TEST((!part[1].unread && part[2].unread));
    }
    admin.remove_tree(directory);
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

BOOST_AUTO_TEST_CASE(of_a_semaphore_its_permits_and_the_waiters)
{
    auto& a = connect();
    auto& b = connect();
    auto& w = connect();
    semaphore of_a{a, directory, 3};
    const auto look = [&] {
        outcome<queue_view> o;
        async_view_queue(of_a, o.handler());
        return value_of(io, o);
    };
    BOOST_TEST(look().entries.empty());

    const auto acquire = [&](client& c, std::int64_t count, const std::string& who) {
        outcome<permit> o;
        semaphore{c, directory, 3, {.owner_data = who}}.async_acquire(count, o.handler());
        return o;
    };
    const auto two = value_of(io, acquire(b, 2, "b"));
    auto one = value_of(io, acquire(w, 1, "w"));
    const auto wants_two = acquire(w, 2, "w");
    BOOST_TEST(until([&] { return look().waiters().size() == 1; }));
    const auto found = look();
    BOOST_TEST_REQUIRE(found.holders().size() == 3U);
    for (std::size_t i = 0; i != 3; ++i) {
        const auto& held = found.holders()[i];
        BOOST_TEST(held.holds);
        BOOST_TEST(!held.unreadable);
        BOOST_TEST(held.session == (i == 2 ? w : b).session_id());
        BOOST_TEST(held.data == (i == 2 ? "w" : "b"));
    }
    BOOST_TEST(found.holders()[2].path == one.nodes().front());
    const auto& waiter = found.waiters().front();
    BOOST_TEST(!waiter.holds);
    BOOST_TEST(waiter.session == w.session_id());
    BOOST_TEST(waiter.data == "w");
    BOOST_TEST(!wants_two.done());

    one = {};
    BOOST_TEST(until([&] { return look().holders().size() == 2; }));
    BOOST_TEST(look().waiters().size() == 1U);
    outcome<queue_view> bad;
    async_view_queue(semaphore{a, "no path", 1}, bad.handler());
    BOOST_TEST(code_of(io, bad) == errc::invalid_path);
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
    const auto before = requests_of(c);
    auto replies_held = proxy.on_reply(opcode::get_data, reaction::hold);
    const auto o = start_view(c);
    // All are asked before one is answered.
    BOOST_TEST(until([&] { return c.stats().in_flight == length; }));
    BOOST_TEST(requests_of(c) - before == 1 + length);
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
        async_view_queue(c, directory, curator_layout(),
                         asio::bind_cancellation_slot(signal.slot(), o.handler()));
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
    async_view_queue(c, directory, curator_layout(),
                     asio::bind_cancellation_slot(signal.slot(), o.handler()));
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
    async_view_queue(c, "no/slash", curator_layout(), path.handler());
    BOOST_TEST(code_of(io, path) == errc::invalid_path);
    async_view_queue(c, directory, layout{.prefix = "_c_", .marker = ""}, bad_layout.handler());
    BOOST_TEST(code_of(io, bad_layout) == errc::invalid_option);
    BOOST_TEST(c.last_error_detail().find("has no marker") != std::string::npos);
    client idle{io, {.hosts = server.connect_string()}};
    async_view_queue(idle, directory, curator_layout(), unconnected.handler());
    BOOST_TEST(!unconnected.done()); // never inline
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
    BOOST_TEST((owner.program == std::filesystem::read_symlink("/proc/self/exe").filename()));
    BOOST_TEST(owner.text == default_owner_data());

    const auto blank = parse_owner("host=a pid=12 program=my own pid=3");
    BOOST_TEST((blank.host == "a" && blank.pid == 12 && blank.program == "my own pid=3"));
    for (const auto* foreign :
         {"", "10.0.0.1", "__REVOKE__", "host=", "host=a pid= program=b", "host=a pid=1x program=b",
          "host=a program=b pid=1", " host=a pid=1 program=b"}) {
        BOOST_TEST((parse_owner(foreign) == owner_info{.text = foreign}), foreign);
    }
}

// ---- whose node it is, behind a request to let it go

namespace {

const std::string request = "__REVOKE__"; // on the wire, as Curator has it

outcome<> asked_for(const held_lock& held)
{
    outcome<> o;
    held.async_wait_revoked(o.handler());
    return o;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_view_tells_who_was_asked)
{
    const std::string me = "host=h pid=7 program=a worker";
    auto held = hold(connect(), {.owner_data = me});
    auto waiting = start_waiter(connect(), {.owner_data = me});
    auto& other = connect();
    const auto waiter = directory + '/' + queue().back();
    for (const auto& node : {held.node(), waiter}) { // also one that waits
        for (int i = 0; i != 3; ++i) {               // asked again and again
            outcome<> o;
            async_revoke(other, node, o.handler());
            value_of(io, o);
            BOOST_TEST(until([&] { return admin.get(node) == me + '\n' + request; }));
        }
    }
    for (const auto& e : view(other).entries) {
        BOOST_TEST(e.is_revoked());
        BOOST_TEST(e.owner().host.value_or("") == "h");
        BOOST_TEST(e.owner().program.value_or("") == "a worker");
        BOOST_TEST(e.owner().text == me);
    }
    BOOST_TEST(unlock(held) == error_code{});
    held = value_of(io, waiting);
    BOOST_TEST(code_of(io, asked_for(held)) == error_code{});
    held = {};
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(who_may_not_write_its_node_is_asked_all_the_same)
{
    auto& c = connect();
    auto held = hold(c);
    admin.add_auth("digest", "boss:secret");
    admin.set_acl(held.node(), {{1, "world", "anyone"}, {31, "auth", ""}}); // READ
    const auto asked = asked_for(held);
    BOOST_TEST(until([&] { return watches_of(c).contains(held.node()); }));
    admin.set(held.node(), request);
    BOOST_TEST(code_of(io, asked) == error_code{});
    go_on(io, 20ms);
    BOOST_TEST(admin.get(held.node()) == request); // so the data are gone
    BOOST_TEST(bool(held));
    BOOST_TEST(unlock(held) == error_code{});
    check_nothing_left();
}

// Its path may be another client's by the time.
BOOST_AUTO_TEST_CASE(the_holder_of_a_single_node_writes_nothing_back)
{
    auto& c = connect();
    outcome<unique_lock> o;
    single_node_mutex{c, directory}.async_lock(o.handler());
    auto held = value_of(io, o);
    const auto asked = asked_for(held);
    admin.set(held.node(), request);
    BOOST_TEST(code_of(io, asked) == error_code{});
    go_on(io, 20ms);
    BOOST_TEST(admin.get(held.node()) == request);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::queue_view_test
