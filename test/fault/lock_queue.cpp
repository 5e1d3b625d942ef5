// The queue when sessions end, connections break, operators delete nodes, and the server goes away.
#include <support/lock_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <utility>
#include <vector>

namespace colock::test::lock_queue_test {

namespace {

struct queue_scene : lock_scene {
    using lock_scene::lock_scene;

    void kill(const client& c)
    {
        BOOST_TEST(!kill_session(server.connect_string(), c.session_id(), password_of(c)));
    }

    // The operator.
    void remove_place(std::size_t place) { admin.remove(directory + "/" + queue().at(place)); }

    // The rest of the queue is granted one by one, in this order, and everything is gone in the end.
    void finish(unique_lock held, const std::vector<outcome<unique_lock>>& order)
    {
        for (const auto& next : order) {
            for (const auto& o : order) {
                BOOST_TEST((!o.done() || &o < &next)); // nobody early
            }
            BOOST_TEST(unlock(held) == error_code{});
            held = value_of(io, next);
            BOOST_TEST(static_cast<bool>(held));
        }
        BOOST_TEST(unlock(held) == error_code{});
        for (const auto& c : clients) {
            sessions.insert(c.session_id());
        }
        check_nothing_left();
    }

    void wait_for_connection(const client& c, connection_state state = connection_state::connected)
    {
        BOOST_TEST(until([&] { return c.state() == state; }));
    }

    // The client is connected again afterwards. It may be so at once: then nobody sees it suspended.
    void break_connection(const client& c, tcp_proxy& proxy, cut_kind how = cut_kind::reset)
    {
        const auto before = c.stats().connections;
        proxy.cut(how);
        BOOST_TEST(until([&] {
            return c.stats().connections > before && c.state() == connection_state::connected;
        }));
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(lock_queue)

// ---- sessions end

BOOST_AUTO_TEST_CASE(E1_S8_who_waits_joins_again_at_the_end_when_its_session_expires)
{
    queue_scene s;
    auto& holder = s.connect();
    auto& victim = s.connect();
    auto& behind = s.connect();
    auto held = s.hold(holder);
    auto first = s.start_waiter(victim);
    auto second = s.start_waiter(behind);
    BOOST_TEST(s.wait_for_watches(behind, 3));
    const auto old = s.queue();
    s.kill(victim);
    BOOST_TEST(s.until([&] { return s.queue().size() == 3; }));
    const auto now = s.queue();
    BOOST_TEST(now[0] == old[0]);
    BOOST_TEST(now[1] == old[2]);
    BOOST_TEST(now[2].ends_with("-lock-0000000003"));
    BOOST_TEST(victim.stats().expirations == 1U);
    s.finish(std::move(held), {second, first});
}

BOOST_AUTO_TEST_CASE(E1_or_is_told_when_it_does_not_want_to_join_again)
{
    queue_scene s;
    auto& holder = s.connect();
    auto& victim = s.connect();
    auto held = s.hold(holder);
    auto first = s.start_waiter(victim, {.rejoin_on_expiry = false});
    s.kill(victim);
    BOOST_TEST(code_of(s.io, first) == errc::session_expired);
    BOOST_TEST(!first.value());
    s.wait_for_connection(victim);
    BOOST_TEST(s.queue().size() == 1U);
    s.finish(std::move(held), {});
}

// kazoo K3, Curator's testKilledSession; but here the holder is told.
BOOST_AUTO_TEST_CASE(G5_K3_a_holder_whose_session_expires_is_told_and_the_next_is_granted)
{
    queue_scene s;
    auto& victim = s.connect();
    auto& other = s.connect();
    auto held = s.hold(victim);
    auto next = s.start_waiter(other);
    const auto token = held.token();
    const auto node = held.node();
    s.kill(victim);
    auto theirs = value_of(s.io, next);
    BOOST_TEST((theirs.token() > token));
    BOOST_TEST(s.until([&] { return held.loss_reason() == errc::session_expired; }));
    BOOST_TEST(!held);
    BOOST_TEST((held.token() == token)); // for the log
    BOOST_TEST(held.node() == node);
    BOOST_TEST(victim.stats().locks_lost == 1U);
    BOOST_TEST(s.unlock(held) == errc::session_expired); // E7: deletes nothing of anybody
    BOOST_TEST(s.queue().size() == 1U);
    s.wait_for_connection(victim);
    auto again = s.start_waiter(victim);
    s.finish(std::move(theirs), {again});
}

// ---- connections break

BOOST_AUTO_TEST_CASE(G2_a_mere_disconnection_does_not_cost_the_place)
{
    queue_scene s;
    tcp_proxy proxy = link_proxy(s.server);
    auto& holder = s.connect();
    auto& c = s.connect_through(proxy);
    auto& behind = s.connect();
    auto held = s.hold(holder);
    auto first = s.start_waiter(c);
    auto second = s.start_waiter(behind);
    BOOST_TEST(s.wait_for_watches(behind, 3));
    const auto order = s.queue();
    for (int i = 0; i != 3; ++i) {
        s.break_connection(c, proxy);
        BOOST_TEST(s.wait_for_watches(c, 2));
        BOOST_TEST(s.queue() == order, boost::test_tools::per_element());
    }
    // Its turn comes while it is away, and nobody takes it.
    proxy.refuse(true);
    proxy.cut();
    s.wait_for_connection(c, connection_state::suspended);
    BOOST_TEST(s.unlock(held) == error_code{});
    go_on(s.io, 50ms);
    BOOST_TEST(!first.done());
    BOOST_TEST(!second.done());
    BOOST_TEST(s.queue().size() == 2U);
    proxy.refuse(false);
    held = value_of(s.io, first);
    BOOST_TEST(c.stats().sessions == 1U);
    s.finish(std::move(held), {second});
}

BOOST_AUTO_TEST_CASE(a_holder_keeps_the_lock_over_a_disconnection)
{
    queue_scene s;
    tcp_proxy proxy = link_proxy(s.server);
    auto& c = s.connect_through(proxy);
    auto& other = s.connect();
    auto held = s.hold(c);
    auto next = s.start_waiter(other);
    for (int i = 0; i != 3; ++i) {
        s.break_connection(c, proxy, cut_kind::finish);
        BOOST_TEST(s.wait_for_watches(c, 1)); // its own node
        BOOST_TEST(static_cast<bool>(held));
    }
    // What happens to the node meanwhile is found out afterwards.
    proxy.refuse(true);
    proxy.cut();
    s.wait_for_connection(c, connection_state::suspended);
    s.remove_place(0);
    auto theirs = value_of(s.io, next);
    BOOST_TEST(static_cast<bool>(held)); // it cannot know
    proxy.refuse(false);
    BOOST_TEST(s.until([&] { return held.loss_reason() == errc::node_deleted; }));
    s.finish(std::move(theirs), {});
}

// ---- waiters leave

BOOST_AUTO_TEST_CASE(E3_a_waiter_in_the_middle_dies_and_nobody_is_granted_early)
{
    queue_scene s;
    auto& holder = s.connect();
    auto held = s.hold(holder);
    std::vector<outcome<unique_lock>> waiting;
    std::vector<client*> who;
    for (int i = 0; i != 5; ++i) {
        who.push_back(&s.connect());
        waiting.push_back(s.start_waiter(*who.back(), {.rejoin_on_expiry = false}));
        BOOST_TEST(s.wait_for_watches(*who.back(), i == 0 ? 2 : 3));
    }
    for (const std::size_t victim : {1U, 2U, 0U}) { // next to one that died; and the first
        s.kill(*who[victim]);
        BOOST_TEST(code_of(s.io, waiting[victim]) == errc::session_expired);
        go_on(s.io, 10ms);
    }
    BOOST_TEST(s.queue().size() == 3U);
    s.finish(std::move(held), {waiting[3], waiting[4]});
}

BOOST_AUTO_TEST_CASE(G1_a_waiter_whose_node_an_operator_deletes_joins_again)
{
    queue_scene s;
    tcp_proxy proxy = link_proxy(s.server);
    auto& holder = s.connect();
    auto& victim = s.connect_through(proxy);
    auto& behind = s.connect();
    auto held = s.hold(holder);
    auto first = s.start_waiter(victim);
    BOOST_TEST(s.wait_for_watches(victim, 2));
    auto second = s.start_waiter(behind);
    BOOST_TEST(s.wait_for_watches(behind, 3));
    s.remove_place(1);
    BOOST_TEST(s.until([&] { return s.queue().size() == 3; }));
    BOOST_TEST(s.wait_for_watches(victim, 3));
    BOOST_TEST(!first.done());

    // Now it hears of it only together with the end of the one before it.
    auto events = proxy.on_reply(opcode::notification, reaction::hold);
    const auto order = s.queue();
    s.admin.remove(s.directory + "/" + order[2]);
    BOOST_TEST(s.until([&] { return events.fired() == 1; }));
    auto third = s.start_waiter(holder);
    BOOST_TEST(s.unlock(held) == error_code{});
    held = value_of(s.io, second);
    BOOST_TEST(s.unlock(held) == error_code{}); // the one before it
    held = value_of(s.io, third);
    events.release();
    BOOST_TEST(s.until([&] { return s.queue().size() == 2; }));
    BOOST_TEST(!first.done()); // two were holding it otherwise
    s.finish(std::move(held), {first});
}

BOOST_AUTO_TEST_CASE(G1_the_same_when_its_own_watch_is_not_set_yet)
{
    queue_scene s;
    tcp_proxy proxy = link_proxy(s.server);
    auto& holder = s.connect();
    auto& victim = s.connect_through(proxy);
    auto& behind = s.connect();
    for (const bool reply : {false, true}) {
        auto held = s.hold(holder);
        auto watching = reply ? proxy.on_reply(opcode::get_data, reaction::hold)
                              : proxy.on_request(opcode::get_data, reaction::hold);
        auto first = s.start_waiter(victim);
        BOOST_TEST(s.until([&] { return watching.fired() == 1; }));
        auto second = s.start_waiter(behind);
        s.remove_place(1);
        s.remove_place(0);
        auto theirs = value_of(s.io, second);
        watching.release();
        BOOST_TEST(s.until([&] { return s.queue().size() == 2; }));
        go_on(s.io, 10ms);
        BOOST_TEST(!first.done());
        BOOST_TEST(s.until([&] { return held.loss_reason() == errc::node_deleted; }));
        s.finish(std::move(theirs), {first});
    }
}

BOOST_AUTO_TEST_CASE(G5_a_holder_whose_node_an_operator_deletes_is_told_and_the_next_is_granted)
{
    queue_scene s;
    auto& holder = s.connect();
    auto& other = s.connect();
    auto held = s.hold(holder);
    auto next = s.start_waiter(other);
    s.remove_place(0);
    auto theirs = value_of(s.io, next);
    BOOST_TEST(s.until([&] { return held.loss_reason() == errc::node_deleted; }));
    BOOST_TEST(!held);
    BOOST_TEST(s.unlock(held) == errc::node_deleted);
    s.finish(std::move(theirs), {});

    // At the latest the release tells, when it was held too shortly for anything else.
    held = s.hold(holder);
    s.remove_place(0);
    BOOST_TEST(s.unlock(held) == errc::node_deleted);
    // The client did not know of the second loss when the guard let go.
    BOOST_TEST(holder.stats().locks_lost == 1U);
    BOOST_TEST(holder.stats().locks_released == 1U);
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G5_closing_the_client_loses_its_locks)
{
    queue_scene s;
    auto& holder = s.connect();
    auto& other = s.connect();
    auto held = s.hold(holder);
    auto next = s.start_waiter(other);
    auto own = s.start_waiter(holder);
    outcome<> closed;
    holder.async_close(closed.handler());
    BOOST_TEST(code_of(s.io, closed) == error_code{});
    BOOST_TEST(held.loss_reason() == errc::client_closed);
    BOOST_TEST(code_of(s.io, own) == errc::client_closed);
    BOOST_TEST(s.unlock(held) == errc::client_closed);
    BOOST_TEST(holder.stats().contenders == 0U);
    s.finish(value_of(s.io, next), {});
}

// ---- the server goes away

// Curator's testWaitingProcessKilledServer.
BOOST_AUTO_TEST_CASE(G4_Z1_the_server_is_killed_and_started_while_one_holds_and_others_wait)
{
    zookeeper_server server{link_servers()};
    queue_scene s{server};
    const client_options patient{.session_timeout = 40s}; // the server's start takes seconds
    auto& holder = s.connect(patient);
    auto held = s.hold(holder);
    std::vector<outcome<unique_lock>> waiting;
    for (int i = 0; i != 3; ++i) {
        waiting.push_back(s.start_waiter(s.connect(patient)));
    }
    const auto order = s.queue();
    server.kill();
    for (const auto& c : s.clients) {
        s.wait_for_connection(c, connection_state::suspended);
    }
    BOOST_TEST(static_cast<bool>(held)); // the session lives
    outcome<> unlocked;
    held.async_unlock(unlocked.handler()); // waits for the server
    server.start();
    BOOST_TEST(code_of(s.io, unlocked) == error_code{});
    held = value_of(s.io, waiting[0]);
    BOOST_TEST(s.until([&] { return s.queue() == std::vector(order.begin() + 1, order.end()); }));
    for (const auto& c : s.clients) {
        BOOST_TEST(c.stats().sessions == 1U);
    }
    s.finish(std::move(held), {waiting[1], waiting[2]});
}

BOOST_AUTO_TEST_CASE(G4_the_server_stands_still_for_a_while)
{
    zookeeper_server server{link_servers()};
    queue_scene s{server};
    auto& holder = s.connect();
    auto& other = s.connect();
    auto held = s.hold(holder);
    auto first = s.start_waiter(other);
    server.stop_process();
    auto second = s.start_lock(holder);
    outcome<> unlocked;
    held.async_unlock(unlocked.handler());
    go_on(s.io, 300ms); // how long it stands still
    BOOST_TEST(!unlocked.done());
    BOOST_TEST(!first.done());
    BOOST_TEST(!second.done());
    server.continue_process();
    held = value_of(s.io, first);
    BOOST_TEST(code_of(s.io, unlocked) == error_code{});
    BOOST_TEST(holder.stats().connections == 1U);
    s.finish(std::move(held), {second});
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::lock_queue_test
