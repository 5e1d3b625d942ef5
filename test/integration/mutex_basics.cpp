// What a mutex does when nothing goes wrong. Names: G1..G7 of the guarantees; K, E, R, W: the conformance
// cases of kazoo, etcd, zk-ruby and the Rust client in docs.
#include <colock/queue_view.hpp>
#include <support/lock_scene.hpp>
#include <support/requests_of.hpp>

#include <boost/test/unit_test.hpp>

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace colock::test::mutex_basics_test {

namespace {

std::string node_name(const unique_lock& held)
{
    return held.node().substr(held.node().rfind('/') + 1);
}

} // namespace

BOOST_AUTO_TEST_SUITE(mutex_basics)

BOOST_AUTO_TEST_CASE(G1_K11_lock_unlock_relock)
{
    lock_scene s;
    auto& c = s.connect();
    fencing_token before;
    for (int i = 0; i != 3; ++i) {
        auto held = s.hold(c);
        BOOST_TEST(static_cast<bool>(held));
        BOOST_TEST(!held.loss_reason());
        BOOST_TEST(held.path() == s.directory);
        BOOST_TEST(s.queue() == std::vector{node_name(held)}, boost::test_tools::per_element());
        BOOST_TEST(s.admin.exists(held.node())->ephemeral_owner == c.session_id());
        BOOST_TEST(held.token().high() ==
                   static_cast<std::uint64_t>(s.admin.exists(held.node())->czxid));
        BOOST_TEST((held.token() > before));
        before = held.token();

        BOOST_TEST(s.unlock(held) == error_code{});
        BOOST_TEST(s.queue().empty()); // it is gone when the operation completes
        BOOST_TEST(!held);
    }
    const auto stats = c.stats();
    BOOST_TEST(stats.locks_granted == 3U);
    BOOST_TEST(stats.locks_released == 3U);
    BOOST_TEST(stats.locks_lost == 0U);
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G1_two_objects_on_one_path_and_client_exclude_each_other)
{
    lock_scene s;
    auto& c = s.connect();
    mutex first{c, s.directory};
    mutex second{c, s.directory};
    outcome<unique_lock> a;
    outcome<unique_lock> b;
    outcome<unique_lock> tried;
    first.async_lock(a.handler());
    second.async_lock(b.handler());
    auto held = value_of(s.io, a);
    second.async_try_lock(tried.handler());
    BOOST_TEST(!value_of(s.io, tried)); // K8: not by the same client either
    BOOST_TEST(!b.done());
    BOOST_TEST(s.unlock(held) == error_code{});
    auto next = value_of(s.io, b);
    BOOST_TEST(static_cast<bool>(next));
    BOOST_TEST(s.unlock(next) == error_code{});
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G2_K2_grants_follow_the_order_of_joining_over_several_clients)
{
    lock_scene s;
    std::vector<client*> clients;
    for (int i = 0; i != 3; ++i) {
        clients.push_back(&s.connect());
    }
    auto held = s.hold(*clients[0]);
    std::vector<outcome<unique_lock>> waiting;
    for (std::size_t i = 0; i != 6; ++i) {
        waiting.push_back(s.start_waiter(*clients[i * 2 % 3]));
    }
    auto order = s.queue();
    BOOST_TEST(order.size() == 7U);
    fencing_token before;
    for (auto& next : waiting) {
        for (const auto& w : waiting) { // nobody but those before it
            BOOST_TEST((!w.done() || &w < &next));
        }
        BOOST_TEST((held.token() > before));
        before = held.token();
        BOOST_TEST(s.unlock(held) == error_code{});
        held = value_of(s.io, next);
        order.erase(order.begin());
        BOOST_TEST(node_name(held) == order.front());
        BOOST_TEST(s.queue() == order, boost::test_tools::per_element());
    }
    BOOST_TEST(s.unlock(held) == error_code{});
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(K4_a_try_that_finds_it_busy_leaves_no_node_and_no_watch_and_costs_one_read)
{
    lock_scene s;
    tcp_proxy proxy{s.server.connect_string()};
    auto& holder = s.connect();
    auto& c = s.connect_through(proxy);
    auto held = s.hold(holder);
    const auto before = s.queue();
    const auto cversion = s.admin.exists(s.directory)->cversion;

    const auto requests = requests_of(c);
    for (int i = 0; i != 3; ++i) {
        const auto tried = value_of(s.io, s.start_try_lock(c));
        BOOST_TEST(!tried);
        BOOST_TEST(tried.loss_reason() == errc::not_held);
    }
    BOOST_TEST(requests_of(c) - requests == 3U);
    BOOST_TEST(proxy.requests(any_get_children()) == 3U);
    BOOST_TEST(s.queue() == before, boost::test_tools::per_element());
    BOOST_TEST(s.admin.exists(s.directory)->cversion == cversion); // nothing came and went
    BOOST_TEST(s.watches_of(c).empty());
    BOOST_TEST(s.until([&] { return c.stats().contenders == 0; }));

    BOOST_TEST(s.unlock(held) == error_code{});
    held = value_of(s.io, s.start_try_lock(c));
    BOOST_TEST(static_cast<bool>(held));
    BOOST_TEST(!value_of(s.io, s.start_try_lock(holder)));
    BOOST_TEST(s.unlock(held) == error_code{});
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(K9_of_many_tries_at_once_exactly_one_succeeds)
{
    lock_scene s;
    auto& c = s.connect();
    auto& d = s.connect();
    std::vector<outcome<unique_lock>> tries;
    for (int i = 0; i != 10; ++i) {
        tries.push_back(s.start_try_lock(c));
        tries.push_back(s.start_try_lock(d));
    }
    std::size_t held = 0;
    for (const auto& t : tries) {
        BOOST_TEST(code_of(s.io, t) == error_code{});
        held += static_cast<std::size_t>(static_cast<bool>(t.value()));
    }
    BOOST_TEST(held == 1U);
    tries.clear();
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G3_W5_the_destructor_releases_in_the_background)
{
    lock_scene s;
    auto& c = s.connect();
    auto& other = s.connect();
    auto held = s.hold(c);
    auto waiting = s.start_waiter(other);
    {
        const auto dropped = std::move(held);
    }
    BOOST_TEST(static_cast<bool>(value_of(s.io, waiting)));
    BOOST_TEST(s.until([&] { return c.stats().locks_released == 1; }));
    { // a granted guard that nobody takes out of the result is released, too
        auto unheard = s.start_lock(c);
        waiting = {};
        BOOST_TEST(code_of(s.io, unheard) == error_code{});
    }
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(guards_can_be_moved_swapped_and_assigned)
{
    lock_scene s;
    auto& c = s.connect();
    auto held = s.hold(c);
    const auto node = held.node();
    const auto token = held.token();

    unique_lock moved{std::move(held)};
    BOOST_TEST(!held); // NOLINT(bugprone-use-after-move)
    BOOST_TEST(held.loss_reason() == errc::not_held);
    BOOST_TEST((held.token() == fencing_token{}));
    BOOST_TEST(held.path().empty());
    BOOST_TEST(held.node().empty());
    BOOST_TEST(moved.node() == node);
    BOOST_TEST((moved.token() == token));

    unique_lock assigned;
    assigned = std::move(moved);
    swap(assigned, moved);
    BOOST_TEST(static_cast<bool>(moved));
    auto& same = moved;
    moved = std::move(same);
    BOOST_TEST(static_cast<bool>(moved));
    BOOST_TEST(s.queue().size() == 1U);

    // Assigning to a guard releases what it held.
    auto waiting = s.start_waiter(c);
    moved = unique_lock{};
    moved = value_of(s.io, waiting);
    BOOST_TEST(s.until([&] { return s.queue() == std::vector{node_name(moved)}; }));
    moved = {};
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(E2_unlocking_an_empty_guard_is_refused)
{
    lock_scene s;
    auto& c = s.connect();
    unique_lock empty;
    BOOST_TEST(s.unlock(empty) == errc::not_held);
    auto held = s.hold(c);
    BOOST_TEST(s.unlock(held) == error_code{});
    BOOST_TEST(s.unlock(held) == errc::not_held);
    held = s.hold(c);
    auto moved = std::move(held);
    BOOST_TEST(s.unlock(held) == errc::not_held); // NOLINT(bugprone-use-after-move)
    // It is empty as soon as the operation is initiated.
    outcome<> unlocked;
    moved.async_unlock(unlocked.handler());
    BOOST_TEST(!moved);
    BOOST_TEST(!unlocked.done());
    BOOST_TEST(code_of(s.io, unlocked) == error_code{});
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(tokens_grow_also_when_the_directory_is_deleted_and_made_again)
{
    lock_scene s;
    auto& c = s.connect();
    fencing_token before;
    std::string text(32, '0');
    for (int i = 0; i != 5; ++i) {
        auto held = s.hold(c);
        BOOST_TEST(node_name(held).ends_with("-lock-0000000000")); // so numbers are no tokens
        BOOST_TEST((held.token() > before));
        BOOST_TEST(to_string(held.token()) > text);
        before = held.token();
        text = to_string(before);
        BOOST_TEST(s.unlock(held) == error_code{});
        s.admin.remove(s.directory);
    }
    BOOST_TEST(s.queue().empty());
}

// Curator's testContainerCleanup.
BOOST_AUTO_TEST_CASE(a_missing_directory_is_made_as_a_container_with_all_above_it)
{
    zookeeper_options options;
    options.container_check_interval = 50ms;
    zookeeper_server server{options};
    lock_scene s{server};
    auto& c = s.connect();
    const mutex nested{c, s.directory + "/a/b/c"};
    s.admin.create_path(s.directory + "-plain");
    for (int i = 0; i != 3; ++i) {
        outcome<unique_lock> locked;
        outcome<unique_lock> tried;
        mutex{nested}.async_lock(locked.handler());
        mutex{c, s.directory + "-plain/lock"}.async_try_lock(tried.handler());
        auto held = value_of(s.io, locked);
        auto also = value_of(s.io, tried);
        BOOST_TEST(static_cast<bool>(also));
        BOOST_TEST(s.queue_of(nested.path()).size() == 1U);
        BOOST_TEST(s.unlock(held) == error_code{});
        BOOST_TEST(s.unlock(also) == error_code{});
        // The server removes empty containers, and only those.
        BOOST_TEST(s.until([&] {
            return !s.admin.exists(s.directory) && s.admin.children(s.directory + "-plain").empty();
        }));
        BOOST_TEST(static_cast<bool>(s.admin.exists(s.directory + "-plain")));
    }
}

BOOST_AUTO_TEST_CASE(R8_W2_below_a_chroot_paths_are_those_of_the_chroot)
{
    lock_scene s;
    s.admin.create_path(s.directory);
    auto& c = s.connect({.chroot = s.directory});
    auto& whole = s.connect();
    outcome<unique_lock> o;
    mutex{c, "/orders"}.async_lock(o.handler());
    auto held = value_of(s.io, o);
    BOOST_TEST(held.path() == "/orders");
    BOOST_TEST(held.node().starts_with("/orders/_c_"));
    BOOST_TEST(s.queue_of(s.directory + "/orders") == std::vector{node_name(held)},
               boost::test_tools::per_element());

    outcome<unique_lock> waiting;
    mutex{whole, s.directory + "/orders"}.async_lock(waiting.handler());
    BOOST_TEST(s.until([&] { return s.watches_of(whole).size() == 2; }));
    BOOST_TEST(!waiting.done());
    BOOST_TEST(s.unlock(held) == error_code{});
    held = value_of(s.io, waiting);

    // The way back: an event below the chroot.
    outcome<unique_lock> back;
    mutex{c, "/orders"}.async_lock(back.handler());
    BOOST_TEST(s.until([&] { return s.watches_of(c).size() == 2; }));
    BOOST_TEST(s.unlock(held) == error_code{});
    BOOST_TEST(static_cast<bool>(value_of(s.io, back)));

    // The root of a chroot, and the root itself, are directories like any other.
    outcome<unique_lock> root;
    mutex{c, "/"}.async_lock(root.handler());
    held = value_of(s.io, root);
    BOOST_TEST(held.node().starts_with("/_c_"));
    BOOST_TEST(s.unlock(held) == error_code{});
}

BOOST_AUTO_TEST_CASE(nodes_carry_data_and_access_control_of_the_options)
{
    lock_scene s;
    auto& c = s.connect({.credentials = {{"digest", "me:secret"}}, .acl = read_only_acl()});

    // The client's access control is the default; here it forbids to create anything in the directory.
    BOOST_TEST(code_of(s.io, s.start_lock(c)) == zookeeper_errc::no_auth);
    BOOST_TEST(s.queue().empty());
    s.admin.remove(s.directory);

    const access_control_list mine{{permission_all, "auth", ""},
                                   {permission_read, "world", "anyone"}};
    auto held = s.hold(c, {.acl = mine, .owner_data = "Ann, desk 7"});
    BOOST_TEST(s.admin.get(held.node()) == "Ann, desk 7");
    for (const auto& path : {s.directory, held.node()}) {
        const auto acl = s.admin.get_acl(path);
        BOOST_REQUIRE(acl.size() == 2U);
        BOOST_TEST(acl[0].scheme == "digest");
        BOOST_TEST(acl[0].id.starts_with("me:"));
        BOOST_TEST(acl[0].permissions == 31);
        BOOST_TEST(acl[1].permissions == 1);
    }
    BOOST_TEST(s.unlock(held) == error_code{});

    // By default the data says who it is.
    auto& plain = s.connect();
    outcome<unique_lock> o;
    mutex{plain, s.directory + "-plain"}.async_lock(o.handler());
    held = value_of(s.io, o);
    BOOST_TEST((parse_owner(s.admin.get(held.node())).pid == ::getpid()));
    BOOST_TEST(s.unlock(held) == error_code{});

    // Bytes are bytes, and none are some, too.
    const std::string binary("\0\1\xff", 3);
    for (const auto& data : {binary, std::string{}}) {
        outcome<unique_lock> again;
        mutex{plain, s.directory + "-plain", {.owner_data = data}}.async_lock(again.handler());
        held = value_of(s.io, again);
        BOOST_TEST(s.admin.get(held.node()) == data);
        BOOST_TEST(s.unlock(held) == error_code{});
    }
}

BOOST_AUTO_TEST_CASE(objects_with_other_options_conflict_while_the_path_is_in_use)
{
    lock_scene s;
    auto& c = s.connect();
    auto& other_client = s.connect();
    auto held = s.hold(c);
    const std::pair<lock_options, std::string> others[] = {
        {{.rejoin_on_expiry = false}, "rejoin_on_expiry is true there and false here"},
        {{.layout = layout{"_c_", "door-"}}, "layout.marker is \"lock-\" there and \"door-\" here"},
        {{.max_local_time = 7ms}, "max_local_time is 10 ms there and 7 ms here"},
        {{.acl = open_acl()}, "acl is the client's there and \"world:anyone:31\" here"}};
    for (const auto& [options, says] : others) {
        BOOST_TEST(code_of(s.io, s.start_lock(c, options)) == errc::conflicting_use);
        BOOST_TEST(code_of(s.io, s.start_try_lock(c, options)) == errc::conflicting_use);
        const auto detail = c.last_error_detail();
        BOOST_TEST(detail.find(s.directory) != std::string::npos);
        BOOST_TEST(detail.ends_with(says), detail);
    }
    // owner_data is for people: objects with other data do not conflict.
    BOOST_TEST(!value_of(s.io, s.start_try_lock(c, {.owner_data = "x"})));
    outcome<unique_lock> of_another;
    single_node_mutex{c, s.directory, {.max_local_grants = 0}}.async_lock(of_another.handler());
    BOOST_TEST(code_of(s.io, of_another) == errc::conflicting_use);
    BOOST_TEST(c.last_error_detail().ends_with("it is a mutex there and a single_node_mutex here"));
    BOOST_TEST(s.queue().size() == 1U);
    // Options belong to the path within a client.
    auto waiting = s.start_waiter(other_client, {.owner_data = "x"});
    BOOST_TEST(s.unlock(held) == error_code{});
    held = value_of(s.io, waiting);
    BOOST_TEST(s.unlock(held) == error_code{});
    // And only while it is in use.
    held = s.hold(c, {.owner_data = "y"});
    BOOST_TEST(s.unlock(held) == error_code{});
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(without_a_connection_each_operation_says_so)
{
    lock_scene s;
    s.clients.emplace_back(s.io, client_options{.hosts = s.server.connect_string()});
    auto& c = s.clients.back();
    BOOST_TEST(code_of(s.io, s.start_lock(c)) == errc::not_connected);
    BOOST_TEST(code_of(s.io, s.start_try_lock(c)) == errc::not_connected);

    tcp_proxy proxy{s.server.connect_string()};
    auto& cut = s.connect_through(proxy);
    auto held = s.hold(cut);
    proxy.refuse(true);
    proxy.cut();
    BOOST_TEST(s.until([&] { return cut.state() == connection_state::suspended; }));
    BOOST_TEST(code_of(s.io, s.start_try_lock(cut)) == errc::disconnected);
    auto waiting = s.start_lock(cut); // waits
    outcome<> closed;
    cut.async_close(closed.handler());
    BOOST_TEST(code_of(s.io, closed) == errc::disconnected);
    BOOST_TEST(code_of(s.io, waiting) == errc::client_closed);
    BOOST_TEST(held.loss_reason() == errc::client_closed);
    BOOST_TEST(!held);
    BOOST_TEST(s.unlock(held) == errc::client_closed);
    BOOST_TEST(code_of(s.io, s.start_lock(cut)) == errc::client_closed);
    BOOST_TEST(code_of(s.io, s.start_try_lock(cut)) == errc::client_closed);
    // Its node would stay until the session's end; the operator does not wait for that.
    s.admin.remove_tree(s.directory);
}

// Those who read can wait for the next handler, but not those who wait for the lock.
BOOST_AUTO_TEST_CASE(G4_a_release_among_many_requests_does_not_wait_for_the_context)
{
    lock_scene s;
    auto& c = s.connect();
    auto held = s.hold(c);
    bool released = false;
    asio::post(s.io, [&] {
        for (int i = 0; i != 20; ++i) {
            c.async_exists("/", [](error_code ec, const auto&) { BOOST_TEST(!ec); });
        }
        held = {};
        const auto end = std::chrono::steady_clock::now() + 10s;
        while (!released && std::chrono::steady_clock::now() < end) {
            released = s.queue().empty();
        }
    });
    BOOST_TEST(s.until([&] { return c.stats().in_flight == 0 && released; }));
    s.check_nothing_left();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::mutex_basics_test
