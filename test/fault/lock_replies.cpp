// Replies and requests that are lost, and what others do to the directory in between: a contender ends up
// with one node or with none, and with the lock when it is its turn (G3, G4).
#include <support/lock_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::test::lock_replies_test {

namespace {

struct proxied : lock_scene {
    proxied() { proxy.log_frames(true); }

    // A second client through the same proxy would obey its rules as well.
    client& through(client_options options = {})
    {
        return connect_through(proxy, std::move(options));
    }

    [[nodiscard]] bool suspended(const client& c)
    {
        return until([&] { return c.state() == connection_state::suspended; });
    }

    // How often the directory's children have changed.
    [[nodiscard]] int changes() { return admin.exists(directory)->cversion; }

    [[nodiscard]] std::string contender_prefix() const { return directory + "/_c_"; }

    tcp_proxy proxy = link_proxy(server);
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(lock_replies, proxied)

// ---- the create

BOOST_AUTO_TEST_CASE(G3_a_create_whose_reply_is_lost_is_found_behind_a_barrier_and_not_made_twice)
{
    auto& c = through();
    admin.create(directory);
    auto lost = proxy.on_reply(any_create(), reaction::drop_and_cut);
    auto held = hold(c);
    BOOST_TEST(lost.fired() == 1U);
    BOOST_TEST(changes() == 1); // one node was ever made
    BOOST_TEST(queue().size() == 1U);
    BOOST_TEST(proxy.requests(any_create()) == 1U);
    BOOST_TEST(c.stats().sessions == 1U);
    BOOST_TEST((held.token() ==
                fencing_token{static_cast<std::uint64_t>(admin.exists(held.node())->czxid), 0}));

    // On the new connection the quorum write goes before the listing.
    const auto log = proxy.frame_log();
    const auto find = [&](auto from, const std::string& what) {
        return std::find_if(from, log.end(), [&](const std::string& line) {
            return line.find(what) != std::string::npos;
        });
    };
    const auto again = find(find(log.begin(), "-> create2"), "-> connect");
    const auto barrier = find(again, "-> multi");
    const auto listing = find(again, "-> get_children");
    BOOST_TEST((again < barrier && barrier < listing && listing != log.end()));
    BOOST_TEST((find(again, "-> create") == log.end()));

    BOOST_TEST(unlock(held) == error_code{});
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G3_a_create_that_never_reached_the_server_is_sent_again)
{
    auto& c = through();
    admin.create(directory);
    auto lost = proxy.on_request(any_create(), reaction::drop_and_cut);
    auto held = hold(c);
    BOOST_TEST(lost.fired() == 1U);
    BOOST_TEST(changes() == 1);
    BOOST_TEST(unlock(held) == error_code{});
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G3_a_create_whose_reply_and_then_session_are_lost_is_made_anew)
{
    auto& c = through();
    admin.create(directory);
    for (const bool rejoin : {true, false}) {
        const auto before = changes();
        proxy.refuse(true);
        auto lost = proxy.on_reply(any_create(), reaction::drop_and_cut);
        // cut first: refuse() concerns new connections only
        auto o = start_lock(c, {.rejoin_on_expiry = rejoin});
        BOOST_TEST(suspended(c));
        BOOST_TEST(lost.wait(long_enough));
        BOOST_TEST(queue().size() == 1U);
        BOOST_TEST(!kill_session(server.connect_string(), c.session_id(), password_of(c)));
        BOOST_TEST(queue().empty());
        proxy.refuse(false);
        if (rejoin) {
            auto held = value_of(io, o);
            BOOST_TEST(queue().size() == 1U);
            BOOST_TEST(admin.exists(held.node())->ephemeral_owner == c.session_id());
            BOOST_TEST(changes() - before == 3); // made, expired, made
            BOOST_TEST(unlock(held) == error_code{});
        } else {
            BOOST_TEST(code_of(io, o) == errc::session_expired);
            BOOST_TEST(until([&] { return c.state() == connection_state::connected; }));
            BOOST_TEST(changes() - before == 2);
        }
        sessions.insert(c.session_id());
        check_nothing_left();
    }
}

BOOST_AUTO_TEST_CASE(G3_a_create_whose_reply_is_lost_while_others_queue_keeps_its_place)
{
    auto& c = through();
    auto& other = connect();
    auto first = hold(other);
    auto lost = proxy.on_reply(any_create(), reaction::drop_and_cut);
    proxy.refuse(true);
    auto waiting = start_lock(c);
    BOOST_TEST(suspended(c));
    BOOST_TEST(lost.wait(long_enough));
    auto behind = start_waiter(other);
    const auto before = queue();
    BOOST_TEST(before.size() == 3U);
    proxy.refuse(false);
    BOOST_TEST(wait_for_watches(c, 2));
    BOOST_TEST(queue() == before, boost::test_tools::per_element());
    BOOST_TEST(unlock(first) == error_code{});
    auto held = value_of(io, waiting);
    BOOST_TEST(!behind.done());
    BOOST_TEST(unlock(held) == error_code{});
    held = value_of(io, behind);
    BOOST_TEST(unlock(held) == error_code{});
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(the_listing_behind_the_create_is_lost)
{
    auto& c = through();
    auto& other = connect();
    auto first = hold(other);
    auto lost = proxy.on_reply(any_get_children(), reaction::drop_and_cut);
    auto waiting = start_lock(c);
    BOOST_TEST(wait_for_watches(c, 2));
    BOOST_TEST(lost.fired() == 1U);
    BOOST_TEST(queue().size() == 2U);
    BOOST_TEST(unlock(first) == error_code{});
    auto held = value_of(io, waiting);
    BOOST_TEST(unlock(held) == error_code{});
    BOOST_TEST(changes() == 4);
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_try_does_not_wait_for_a_connection_that_breaks_under_it)
{
    auto& c = through();
    admin.create(directory);
    const opcode_set replies[] = {any_get_children(), any_create()};
    for (const auto& which : replies) {
        auto lost = proxy.on_reply(which, reaction::drop_and_cut);
        proxy.refuse(true);
        auto tried = start_try_lock(c);
        BOOST_TEST(code_of(io, tried) == errc::disconnected);
        BOOST_TEST(lost.wait(long_enough));
        proxy.refuse(false);
        BOOST_TEST(until([&] { return c.state() == connection_state::connected; }));
        check_nothing_left(); // also not of the create whose reply was lost
    }
}

BOOST_AUTO_TEST_CASE(a_lock_that_waits_for_the_first_connection_fails_with_it)
{
    client_options options{.hosts = proxy.connect_string(), .connect_timeout = 5s};
    proxy.refuse(true);
    client c{io, link_client(options)};
    outcome<> connected;
    c.async_connect(connected.handler());
    go_on(io, 1ms);
    auto o = start_lock(c);
    const auto ec = code_of(io, o);
    BOOST_TEST(code_of(io, connected) == ec);
    BOOST_TEST((ec == errc::no_server || ec == errc::connect_timeout));
    BOOST_TEST(c.stats().contenders == 0U);
    // And succeeds with the next.
    proxy.refuse(false);
    outcome<> again;
    c.async_connect(again.handler());
    go_on(io, 1ms);
    o = start_lock(c);
    auto held = value_of(io, o);
    BOOST_TEST(unlock(held) == error_code{});
    BOOST_TEST(code_of(io, again) == error_code{});
}

BOOST_AUTO_TEST_CASE(G2_locks_started_without_a_connection_join_in_that_order)
{
    client c{io, link_client({.hosts = proxy.connect_string()})};
    outcome<> connected;
    c.async_connect(connected.handler());
    constexpr int count = 50;
    for (int round = 0; round != 2; ++round) {
        std::vector<int> order;
        for (int i = 0; i != count; ++i) {
            mutex{c, directory, with_nodes()}.async_lock(
                [&order, i](error_code ec, const unique_lock&) {
                    BOOST_TEST(ec == error_code{});
                    order.push_back(i);
                });
        }
        proxy.refuse(false);
        BOOST_TEST(until([&] { return order.size() == count; }));
        BOOST_TEST(std::ranges::is_sorted(order));
        BOOST_TEST(code_of(io, connected) == error_code{});
        // Once more while it is suspended.
        proxy.refuse(true);
        proxy.cut();
        BOOST_TEST(suspended(c));
    }
}

// ---- servers that throttle

constexpr int throttled = -127, no_node = -101;

// The second and the third connection are those of a server that throttles and lags behind: it does not show the
// node whose creation was not answered on the first one.
BOOST_AUTO_TEST_CASE(G3_a_list_behind_a_barrier_that_was_throttled_is_not_believed)
{
    admin.create(directory);
    const auto connection = std::make_shared<std::atomic<int>>(0);
    proxy.on_request(opcode::connect, reaction::drop,
                     {.predicate = [connection](opcode, std::string_view) {
                         ++*connection;
                         return false;
                     }});
    auto& c = through();
    auto lost = proxy.on_reply(any_create(), reaction::drop_and_cut);
    auto barrier =
        proxy.on_reply(opcode::multi, reaction::replace, {.times = 2, .replacement = throttled});
    auto old = proxy.on_reply(
        any_get_children(), reaction::replace,
        {.times = 0, .replacement = no_node, .predicate = [connection](opcode, std::string_view) {
             return *connection <= 3;
         }});
    proxy.set_delay(10ms); // so that the list comes with the answer to the barrier
    auto held = hold(c);
    BOOST_TEST(lost.fired() == 1U);
    BOOST_TEST(barrier.fired() == 2U);
    BOOST_TEST(changes() == 1); // one node was ever made
    BOOST_TEST(proxy.requests(any_create()) == 1U);
    BOOST_TEST(c.stats().sessions == 1U);
    BOOST_TEST(c.stats().connections == 4U);
    BOOST_TEST(unlock(held) == error_code{});
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_server_that_throttles_the_barrier_for_ever_is_not_hammered)
{
    auto& c = through({.backoff_min = 200ms});
    auto barrier =
        proxy.on_reply(opcode::multi, reaction::replace, {.times = 0, .replacement = throttled});
    proxy.cut();
    const auto begun = std::chrono::steady_clock::now();
    // 0 + 100 + 200 + 400 + 800 ms at least, and without the back-off 100 ms for each from the tenth on.
    BOOST_TEST(until([&] { return barrier.fired() == 6; }));
    BOOST_TEST((std::chrono::steady_clock::now() - begun >= 1500ms));
    proxy.clear_rules();
    BOOST_TEST(until([&] { return c.state() == connection_state::connected; }));
}

BOOST_AUTO_TEST_CASE(reads_that_are_throttled_are_repeated)
{
    auto& c = through();
    admin.create(directory, "x");
    auto rule =
        proxy.on_reply({opcode::get_data, opcode::exists, opcode::get_children2}, reaction::replace,
                       {.times = 9, .path_prefix = directory, .replacement = throttled});
    outcome<get_result> got;
    c.async_get(directory, got.handler());
    outcome<std::optional<node_stat>> found;
    c.async_exists(directory, found.handler());
    outcome<children_result> listed;
    c.async_children(directory, listed.handler());
    outcome<watched<get_result>> watched_read;
    c.async_watch(directory, watched_read.handler());
    BOOST_TEST(value_of(io, got).data == "x");
    BOOST_TEST(value_of(io, found).has_value());
    BOOST_TEST(value_of(io, listed).names.empty());
    BOOST_TEST(value_of(io, watched_read).value.data == "x");
    BOOST_TEST(rule.fired() == 9U);
}

BOOST_AUTO_TEST_CASE(a_semaphore_whose_lists_are_throttled_gets_its_permits_and_leaves_no_lease)
{
    auto& c = through();
    semaphore s{c, directory, 3};
    const auto acquire = [&] {
        outcome<permit> o;
        s.async_acquire(2, o.handler());
        return value_of(io, o);
    };
    const auto release = [&](permit& p) {
        outcome<> o;
        p.async_release(o.handler());
        return code_of(io, o);
    };
    auto first = acquire(); // makes the directories
    BOOST_TEST(release(first) == error_code{});
    auto lost = proxy.on_reply(opcode::multi, reaction::drop_and_cut,
                               {.path_prefix = directory + "/locks/"});
    auto lists = proxy.on_reply(
        any_get_children(), reaction::replace,
        {.times = 5, .path_prefix = directory + "/leases", .replacement = throttled});
    auto held = acquire();
    BOOST_TEST(lost.fired() == 1U);
    BOOST_TEST(lists.fired() == 5U);
    BOOST_TEST(queue_of(directory + "/leases").size() == 2U);
    BOOST_TEST(release(held) == error_code{});
    BOOST_TEST(until([&] { return queue_of(directory + "/leases").empty(); }));
}

// ---- the delete

BOOST_AUTO_TEST_CASE(a_delete_whose_reply_is_lost_is_repeated_and_is_no_error)
{
    auto& c = through();
    for (const bool by_destructor : {false, true}) {
        auto held = hold(c);
        const auto removes = proxy.requests(opcode::remove);
        auto lost = proxy.on_reply(opcode::remove, reaction::drop_and_cut);
        if (by_destructor) {
            held = {};
        } else {
            BOOST_TEST(unlock(held) == error_code{});
        }
        BOOST_TEST(until([&] { return c.stats().contenders == 0; }));
        BOOST_TEST(lost.fired() == 1U);
        BOOST_TEST(proxy.requests(opcode::remove) - removes == 2U);
        check_nothing_left();
    }
    BOOST_TEST(c.stats().locks_released == 2U);
    BOOST_TEST(c.stats().locks_lost == 0U);
}

BOOST_AUTO_TEST_CASE(a_delete_that_never_reached_the_server_is_sent_again)
{
    auto& c = through();
    auto held = hold(c);
    auto lost = proxy.on_request(opcode::remove, reaction::drop_and_cut);
    BOOST_TEST(unlock(held) == error_code{});
    BOOST_TEST(lost.fired() == 1U);
    BOOST_TEST(queue().empty());
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G3_a_release_while_disconnected_goes_on_after_the_reconnection)
{
    auto& c = through();
    auto& other = connect();
    for (const bool by_destructor : {false, true}) {
        auto held = hold(c);
        auto waiting = start_waiter(other);
        proxy.refuse(true);
        proxy.cut();
        BOOST_TEST(suspended(c));
        outcome<> unlocked;
        if (by_destructor) {
            held = {};
        } else {
            held.async_unlock(unlocked.handler());
        }
        go_on(io, 20ms);
        BOOST_TEST(!unlocked.done());
        BOOST_TEST(!waiting.done());
        BOOST_TEST(queue().size() == 2U);
        proxy.refuse(false);
        auto next = value_of(io, waiting);
        if (!by_destructor) {
            BOOST_TEST(code_of(io, unlocked) == error_code{});
        }
        BOOST_TEST(unlock(next) == error_code{});
        check_nothing_left();
    }
}

// ---- what goes between two requests

BOOST_AUTO_TEST_CASE(G4_the_predecessor_vanishes_between_list_and_watch)
{
    auto& c = through();
    auto& other = connect();
    for (const auto what : {reaction::hold, reaction::drop_and_cut}) {
        auto first = hold(other);
        auto second = start_waiter(other);
        auto between = proxy.on_request(opcode::get_data, what);
        auto waiting = start_lock(c);
        BOOST_TEST(until([&] { return between.fired() == 1; })); // it has its list
        const auto names = queue();
        BOOST_TEST(names.size() == 3U);
        admin.remove(directory + "/" + names[1]);
        admin.remove(directory + "/" + names[0]);
        between.release();
        auto held = value_of(io, waiting);
        BOOST_TEST(until([&] { return first.loss_reason() == errc::node_deleted; }));
        // Nor is the other one, which has joined again, granted at the same time.
        go_on(io, 10ms);
        BOOST_TEST(!second.done());
        BOOST_TEST(unlock(held) == error_code{});
        held = value_of(io, second);
        BOOST_TEST(unlock(held) == error_code{});
        check_nothing_left();
    }
}

BOOST_AUTO_TEST_CASE(the_directory_vanishes_before_the_node_is_created_in_it)
{
    auto& c = through();
    // The first create finds no directory; the second one is behind the making of it.
    for (int i = 0; i != 3; ++i) {
        auto between = proxy.on_request(any_create(), reaction::hold,
                                        {.nth = 2, .path_prefix = contender_prefix()});
        auto waiting = start_lock(c);
        BOOST_TEST(until([&] { return between.fired() == 1 && admin.exists(directory); }));
        admin.remove(directory);
        between.release();
        auto held = value_of(io, waiting);
        BOOST_TEST(queue().size() == 1U);
        BOOST_TEST(changes() == 1);
        BOOST_TEST(unlock(held) == error_code{});
        check_nothing_left();
        admin.remove(directory);
    }
}

BOOST_AUTO_TEST_CASE(a_parent_vanishes_before_the_directory_is_created_in_it)
{
    auto& c = through();
    const mutex nested{c, directory + "/a/b"};
    for (const unsigned nth : {2U, 3U}) {
        auto between = proxy.on_request(opcode::create_container, reaction::hold, {.nth = nth});
        outcome<unique_lock> o;
        mutex{nested}.async_lock(o.handler());
        const auto above = nth == 2 ? directory : directory + "/a";
        BOOST_TEST(until([&] { return between.fired() == 1 && admin.exists(above); }));
        admin.remove_tree(directory);
        between.release();
        auto held = value_of(io, o);
        BOOST_TEST(queue_of(nested.path()).size() == 1U);
        BOOST_TEST(unlock(held) == error_code{});
        BOOST_TEST(queue_of(nested.path()).empty());
        admin.remove_tree(directory);
    }
}

BOOST_AUTO_TEST_CASE(the_directory_vanishes_with_all_in_it_between_create_and_list)
{
    auto& c = through();
    admin.create(directory);
    auto between = proxy.on_request(any_get_children(), reaction::hold);
    auto waiting = start_lock(c);
    BOOST_TEST(until([&] { return between.fired() == 1 && queue().size() == 1; }));
    admin.remove_tree(directory);
    between.release();
    auto held = value_of(io, waiting);
    BOOST_TEST(queue().size() == 1U);
    BOOST_TEST(changes() == 1);
    BOOST_TEST(unlock(held) == error_code{});
    check_nothing_left();
}

// ---- a reply is lost, and the directory cannot be listed any more

constexpr std::int32_t all_but_read = 30;

BOOST_AUTO_TEST_CASE(G3_a_downgrade_whose_reply_is_lost_is_found_without_a_listing)
{
    auto& c = through();
    shared_mutex lock{c, directory};
    outcome<unique_lock> locked;
    lock.async_lock(locked.handler());
    auto held = value_of(io, locked);
    auto lost = proxy.on_reply(opcode::multi, reaction::drop_and_cut);
    proxy.refuse(true); // the next connection
    outcome<shared_lock> stepped_down;
    lock.async_downgrade(std::move(held), stepped_down.handler());
    BOOST_TEST(until([&] { return lost.fired() == 1; }));
    BOOST_TEST(suspended(c));
    const auto names = queue();
    admin.set_acl(directory, {{all_but_read, "world", "anyone"}});
    proxy.refuse(false);
    auto reader = value_of(io, stepped_down);
    BOOST_TEST(bool(reader));
    admin.set_acl(directory, {{permission_all, "world", "anyone"}});
    BOOST_TEST(queue() == names);
    reader = {};
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G3_permits_whose_reply_is_lost_and_that_nobody_may_list_are_logged)
{
    for (const bool cancelled : {false, true}) {
        std::vector<std::string> log;
        auto& c =
            through({.log = [&](log_level, std::string_view text) { log.emplace_back(text); }});
        const auto path = directory + (cancelled ? "/1" : "/2");
        semaphore pool{c, path, 2};
        outcome<permit> first;
        pool.async_acquire(1, first.handler());
        static_cast<void>(value_of(io, first)); // the directories are there
        BOOST_TEST(until([&] {
            return queue_of(path + "/leases").empty() && queue_of(path + "/locks").empty();
        }));
        auto lost = proxy.on_reply(opcode::multi, reaction::drop_and_cut);
        proxy.refuse(true); // the next connection
        asio::cancellation_signal stop;
        outcome<permit> acquired;
        pool.async_acquire(2, asio::bind_cancellation_slot(stop.slot(), acquired.handler()));
        BOOST_TEST(until([&] { return lost.fired() == 1; }));
        BOOST_TEST(suspended(c));
        if (cancelled) {
            stop.emit(asio::cancellation_type::terminal);
        }
        admin.set_acl(path + "/leases", {{all_but_read, "world", "anyone"}});
        proxy.refuse(false);
        BOOST_TEST(code_of(io, acquired) == (cancelled ? error_code{asio::error::operation_aborted}
                                                       : error_code{zookeeper_errc::no_auth}));
        BOOST_TEST(until([&] {
            return std::ranges::any_of(log, [&](const std::string& line) {
                return line.starts_with("semaphore " + path +
                                        ": nodes of permits may remain until the session ends: ");
            });
        }));
        admin.set_acl(path + "/leases", {{permission_all, "world", "anyone"}});
        BOOST_TEST(queue_of(path + "/leases").size() == 2U);
        close_all();
    }
}

BOOST_AUTO_TEST_CASE(the_directory_vanishes_under_a_queue_and_is_made_again)
{
    auto& c = through();
    auto& other = connect();
    auto first = hold(other);
    auto second = start_waiter(c);
    BOOST_TEST(wait_for_watches(c, 2));
    const auto token = first.token();
    const auto names = queue();
    admin.remove(directory + "/" +
                 names[1]); // first the waiter's: it is not granted before it goes
    admin.remove(directory + "/" + names[0]);
    admin.remove(directory);
    auto held = value_of(io, second);
    BOOST_TEST((held.token() > token));
    BOOST_TEST(until([&] { return first.loss_reason() == errc::node_deleted; }));
    BOOST_TEST(unlock(first) == errc::node_deleted);
    BOOST_TEST(unlock(held) == error_code{});
    check_nothing_left();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::lock_replies_test
