// Directories whose counters are near their end, on a real server: its snapshot is changed, so that it takes
// itself to have created two thousand million nodes there.
//
// Exclusion, whatever the server does (G1); whoever comes gets the lock or errc::sequence_exhausted; nothing hangs
// (G4) or remains (G3); and a directory in whose place a client can make the same one begins anew.
#include "old_directories.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace colock::test::sequence_end_test {

BOOST_AUTO_TEST_SUITE(sequence_end)

BOOST_AUTO_TEST_CASE(G1_G3_G4_many_clients_bring_a_directory_to_an_end_and_it_begins_anew)
{
    old_scene s{"/many"};
    const auto before = s.made_in();
    const auto t = s.compete(6, 1, 30, s.with_nodes());
    BOOST_TEST(t.taken == 180U);
    BOOST_TEST(t.errors.empty());
    BOOST_TEST(t.last_number < 1000);
    // Who joins before the directory is removed keeps it.
    BOOST_TEST(t.late <= 24U);
    BOOST_TEST_MESSAGE("granted with a late number: " << t.late);
    BOOST_TEST(s.made_in() != before);
    s.check_nothing_left();
}

// Who made the directory does not matter.
BOOST_AUTO_TEST_CASE(G1_G3_G4_waiters_that_share_nodes_do_not_keep_the_directory_alive)
{
    for (const auto* path : {"/shared_nodes", "/shared_nodes_persistent"}) {
        old_scene s{path};
        const auto before = s.made_in();
        lock_options options;
        options.max_local_grants = 3;
        const auto t = s.compete(3, 4, 20, options);
        BOOST_TEST(t.taken == 240U);
        BOOST_TEST(t.errors.empty());
        BOOST_TEST(t.last_number < 1000);
        BOOST_TEST(t.late <= 48U);
        BOOST_TEST_MESSAGE("granted with a late number: " << t.late);
        BOOST_TEST(s.made_in() != before);
        s.check_nothing_left();
    }
}

// Nobody else is there to make way: the one client waits for its own node to go.
BOOST_AUTO_TEST_CASE(G4_one_client_with_many_waiters_comes_through)
{
    old_scene s{"/one"};
    const auto before = s.made_in();
    lock_options options;
    options.max_local_grants = 1;
    options.max_local_time = 1min;
    const auto t = s.compete(1, 5, 10, options);
    BOOST_TEST(t.taken == 50U);
    BOOST_TEST(t.last_number < 1000);
    BOOST_TEST(t.late == 2U); // as many as one node serves when others may wait
    BOOST_TEST(s.made_in() != before);
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G4_an_idle_node_does_not_linger_there)
{
    old_scene s{"/lingering"};
    s.share_nodes = true;
    auto& c = s.connect();
    lock_options options;
    options.linger = 10s;
    auto held = s.hold(c, options);
    BOOST_TEST(number_of(held.node()) == late_from_number);
    BOOST_TEST(s.unlock(held) == error_code{});
    BOOST_TEST(s.until([&] { return s.made_in() == 0; }));
    held = s.hold(c, options);
    BOOST_TEST(number_of(held.node()) == 0);
    s.close_all();
    BOOST_TEST(s.queue().empty());
}

BOOST_AUTO_TEST_CASE(G1_G3_G4_readers_and_writers)
{
    old_scene s{"/readers"};
    const auto before = s.made_in();
    old_scene::turns t;
    for (int i = 0; i != 6; ++i) {
        auto& c = s.connect();
        ++t.at_work;
        lock_options options;
        options.layout = curator_shared_layout();
        options.max_local_grants = 0;
        asio::co_spawn(s.io, s.reader_or_writer(c, options, 21, t), asio::detached);
    }
    s.finish(t);
    BOOST_TEST(t.taken == 126U);
    BOOST_TEST(t.last_number < 1000);
    BOOST_TEST(t.late <= 24U);
    BOOST_TEST_MESSAGE("granted with a late number: " << t.late);
    BOOST_TEST(s.made_in() != before);
    s.check_nothing_left();
}

// Or readers that follow on each other would keep the queue from becoming empty, and writers that make way would starve.
BOOST_AUTO_TEST_CASE(G4_a_reader_makes_way_for_a_reader)
{
    old_scene s{"/readers_only"};
    const auto before = s.made_in();
    const auto start = [&](client& c) {
        outcome<shared_lock> o;
        shared_mutex{c, s.directory}.async_lock_shared(o.handler());
        return o;
    };
    auto first = value_of(s.io, start(s.connect()));
    old_scene::newcomer d{s};
    auto second = start(d.c);
    BOOST_TEST(s.until([&] { return d.has_made_way() && s.queue().size() == 1; }));
    outcome<shared_lock> tried;
    shared_mutex{s.connect(), s.directory}.async_try_lock_shared(tried.handler());
    BOOST_TEST(!value_of(s.io, tried)); // busy, though it could share
    BOOST_TEST(!second.done());
    first = {};
    auto held = value_of(s.io, second);
    BOOST_TEST(number_of(held.node()) < 1000);
    BOOST_TEST(s.made_in() != before);
    held = {};
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G4_who_makes_way_is_let_in_cancelled_or_out_of_time)
{
    old_scene s{"/makes_way"};
    auto& c = s.connect();
    auto held = s.hold(c);
    BOOST_TEST(number_of(held.node()) == late_from_number);

    old_scene::newcomer d{s};
    auto waiting = s.start_lock(d.c);
    BOOST_TEST(s.until([&] { return d.has_made_way() && s.queue().size() == 1; }));

    old_scene::newcomer e{s};
    asio::cancellation_signal cancel;
    outcome<unique_lock> cancelled;
    mutex{e.c, s.directory, s.with_nodes()}.async_lock(
        asio::bind_cancellation_slot(cancel.slot(), cancelled.handler()));
    BOOST_TEST(s.until([&] { return e.has_made_way(); }));
    cancel.emit(asio::cancellation_type::total);
    BOOST_TEST(code_of(s.io, cancelled) == asio::error::operation_aborted);

    outcome<unique_lock> timed;
    mutex{e.c, s.directory, s.with_nodes()}.async_try_lock_for(100ms, timed.handler());
    BOOST_TEST(!value_of(s.io, timed));
    BOOST_TEST(s.until([&] { return e.c.stats().contenders == 0; }));

    BOOST_TEST(!waiting.done());
    BOOST_TEST(s.queue().size() == 1U);
    BOOST_TEST(s.unlock(held) == error_code{});
    held = value_of(s.io, waiting);
    BOOST_TEST(number_of(held.node()) == 0);
    BOOST_TEST(s.unlock(held) == error_code{});
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(try_is_busy_or_first)
{
    old_scene s{"/tries"};
    auto& c = s.connect();
    auto& d = s.connect();
    auto held = value_of(s.io, s.start_try_lock(c));
    BOOST_TEST(number_of(held.node()) == late_from_number);
    BOOST_TEST(!value_of(s.io, s.start_try_lock(d)));
    BOOST_TEST(s.unlock(held) == error_code{});
    BOOST_TEST(s.until([&] { return s.made_in() == 0; }));
    held = value_of(s.io, s.start_try_lock(d));
    BOOST_TEST(number_of(held.node()) == 0);
    BOOST_TEST(s.unlock(held) == error_code{});
    s.check_nothing_left();
}

// The servers hear of it once a second at the most, however long that takes.
BOOST_AUTO_TEST_CASE(G4_G7_who_stands_by_asks_seldom)
{
    old_scene s{"/stands_by"};
    auto& c = s.connect();
    auto held = s.hold(c);
    old_scene::newcomer d{s};
    auto waiting = s.start_lock(d.c);
    BOOST_TEST(s.until([&] { return d.proxy.requests(any_get_children()) == 14; }));
    const auto from = std::chrono::steady_clock::now(); // the pauses have grown by now
    BOOST_TEST(s.until([&] { return d.proxy.requests(any_get_children()) == 18; }));
    BOOST_TEST((std::chrono::steady_clock::now() - from > 2s));
    BOOST_TEST(!waiting.done());
    held = {};
    held = value_of(s.io, waiting);
    BOOST_TEST(number_of(held.node()) == 0);
    held = {};
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G3_G4_who_makes_way_loses_its_connection)
{
    old_scene s{"/cut"};
    auto& c = s.connect();
    old_scene::newcomer d{s};
    auto held = s.hold(c);
    auto waiting = s.start_lock(d.c);
    BOOST_TEST(s.until([&] { return d.has_made_way(); }));
    for (int i = 0; i != 3; ++i) {
        d.proxy.refuse(true);
        d.proxy.cut();
        BOOST_TEST(s.until([&] { return d.c.state() == connection_state::suspended; }));
        const auto lists = d.proxy.requests(any_get_children());
        d.proxy.refuse(false);
        BOOST_TEST(s.until([&] { return d.proxy.requests(any_get_children()) > lists; }));
        BOOST_TEST(s.queue().size() == 1U);
    }
    // The holder releases the lock while the one who stands by has no connection.
    d.proxy.refuse(true);
    d.proxy.cut();
    BOOST_TEST(s.until([&] { return d.c.state() == connection_state::suspended; }));
    BOOST_TEST(s.unlock(held) == error_code{});
    BOOST_TEST(s.until([&] { return s.made_in() == 0; }));
    d.proxy.refuse(false);
    held = value_of(s.io, waiting);
    BOOST_TEST(number_of(held.node()) == 0);
    BOOST_TEST(s.unlock(held) == error_code{});
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G4_the_holder_dies_while_others_stand_by)
{
    old_scene s{"/expired"};
    auto& c = s.connect();
    auto held = s.hold(c);
    const auto before = s.made_in();
    old_scene::newcomer d{s};
    old_scene::newcomer e{s};
    auto one = s.start_lock(d.c);
    auto other = s.start_lock(e.c);
    BOOST_TEST(s.until([&] { return d.has_made_way() && e.has_made_way(); }));
    BOOST_TEST(!kill_session(s.server.connect_string(), c.session_id(), password_of(c)));
    BOOST_TEST(s.until([&] { return one.done() || other.done(); }));
    auto& first = one.done() ? one : other;
    auto& second = one.done() ? other : one;
    auto next = value_of(s.io, first);
    // The one who died has removed no directory.
    BOOST_TEST(number_of(next.node()) > late_from_number);
    BOOST_TEST(s.unlock(next) == error_code{});
    next = value_of(s.io, second);
    BOOST_TEST(s.unlock(next) == error_code{});
    held = {};
    s.check_nothing_left();
    BOOST_TEST(s.until([&] { return s.made_in() != before; })); // it may be another one already
}

// Curator's nodes stay, and Curator removes no directory. Ours wait until nobody of them is left.
BOOST_AUTO_TEST_CASE(G1_G4_beside_a_peer_that_knows_nothing_of_it)
{
    old_scene s{"/peer"};
    const auto join = [&] {
        return s.admin.create(s.directory + "/_c_01234567-89ab-cdef-fedc-ba9876543210-lock-", {},
                              admin_session::mode::ephemeral_sequential);
    };
    auto theirs = join();
    old_scene::newcomer c{s};
    auto waiting = s.start_lock(c.c);
    BOOST_TEST(s.until([&] { return c.has_made_way(); }));
    auto next = join();
    s.admin.remove(theirs);
    const auto lists = c.proxy.requests(any_get_children());
    BOOST_TEST(s.until([&] { return c.proxy.requests(any_get_children()) > lists + 1; }));
    BOOST_TEST(!waiting.done());
    s.admin.remove(next);
    auto held = value_of(s.io, waiting);
    BOOST_TEST(number_of(held.node()) > late_from_number);
    BOOST_TEST(s.unlock(held) == error_code{});
    BOOST_TEST(s.until([&] { return s.made_in() == 0; }));
    s.check_nothing_left();
}

// ---- directories that are to stay

BOOST_AUTO_TEST_CASE(a_directory_that_is_to_stay_is_used_up_and_the_error_says_what_to_do)
{
    for (const auto* path : {"/with_data", "/with_another_list", "/stranger"}) {
        old_scene s{path};
        const auto before = s.made_in();
        const auto t = s.compete(4, 1, 10, s.with_nodes());
        BOOST_TEST(t.taken != 0U);
        BOOST_TEST(t.taken <= 20U); // who makes way uses a number more
        BOOST_TEST(t.errors.size() == 1U);
        BOOST_TEST(t.errors.at(errc::sequence_exhausted) + t.taken == 40U);
        BOOST_TEST(s.made_in() == before);
        BOOST_TEST(std::ranges::any_of(s.clients, [](const client& c) { // one may be done before
            return c.last_error_detail().find("delete the directory") != std::string::npos;
        }));
        s.check_nothing_of_ours_is_left();
        s.admin.remove_tree(path);
        auto held = s.hold(s.clients.front()); // it has done what it was told
        BOOST_TEST(number_of(held.node()) == 0);
        BOOST_TEST(s.unlock(held) == error_code{});
    }
}

// Each one makes way, and has its turn.
BOOST_AUTO_TEST_CASE(G1_G4_a_directory_that_is_to_stay_serves_all)
{
    old_scene s{"/shared_nodes_with_data"};
    const auto before = s.made_in();
    lock_options options;
    options.max_local_grants = 3;
    const auto t = s.compete(3, 4, 10, options);
    BOOST_TEST(t.taken == 120U);
    BOOST_TEST(t.late != 0U);
    BOOST_TEST(t.last_number >= late_from_number);
    BOOST_TEST(s.made_in() == before);
    BOOST_TEST(s.admin.get(s.directory) == "mine");
    s.check_nothing_left();
}

// ---- at the very end

BOOST_AUTO_TEST_CASE(G1_numbers_that_may_come_again_are_not_granted_and_the_next_one_begins_anew)
{
    for (const auto* path : {"/last", "/over"}) {
        old_scene s{path};
        auto& c = s.connect();
        BOOST_TEST(code_of(s.io, s.start_lock(c)) == errc::sequence_exhausted);
        BOOST_TEST(s.until([&] { return s.made_in() == 0; }));
        auto held = s.hold(c);
        BOOST_TEST(number_of(held.node()) == 0);
        BOOST_TEST(s.unlock(held) == error_code{});
        s.check_nothing_left();
    }
}

BOOST_AUTO_TEST_CASE(G1_G3_G4_many_clients_at_the_overflow)
{
    old_scene s{"/over_many"};
    const auto t = s.compete(6, 1, 20, s.with_nodes());
    BOOST_TEST(t.errors.size() == 1U);
    BOOST_TEST(t.errors.at(errc::sequence_exhausted) + t.taken == 120U);
    BOOST_TEST(t.late == 0U);
    // The last one to fail finds the directory empty.
    BOOST_TEST(s.until([&] { return t.taken != 0 || s.made_in() == 0; }));
    auto held = s.hold(s.clients.front());
    BOOST_TEST(number_of(held.node()) < 1000);
    BOOST_TEST(s.unlock(held) == error_code{});
    s.check_nothing_left();
}

// The server's numbers repeat and turn negative.
BOOST_AUTO_TEST_CASE(G1_G3_G4_a_directory_that_is_to_stay_at_the_overflow)
{
    for (const auto* path : {"/over_with_data", "/over_with_data_in_turn"}) {
        old_scene s{path};
        const std::size_t processes = path == std::string{"/over_with_data"} ? 6 : 1;
        const auto t = s.compete(processes, 1, 20, s.with_nodes());
        BOOST_TEST(t.taken == 0U);
        BOOST_TEST(t.errors.size() == 1U);
        BOOST_TEST(t.errors.at(errc::sequence_exhausted) == 20 * processes);
        auto& c = s.clients.front();
        for (int i = 0; i != 20; ++i) {
            BOOST_TEST(s.until([&] { return s.queue().empty(); })); // or it is busy
            BOOST_TEST(code_of(s.io, s.start_try_lock(c)) == errc::sequence_exhausted);
        }
        // Many at a time.
        std::vector<outcome<unique_lock>> all;
        for (int i = 0; i != 20; ++i) {
            all.push_back(s.start_lock(c));
        }
        for (auto& each : all) {
            BOOST_TEST(code_of(s.io, each) == errc::sequence_exhausted);
        }
        s.check_nothing_left();
    }
}

BOOST_AUTO_TEST_CASE(a_directory_with_data_of_somebody_else_stays)
{
    old_scene s{"/taken_over"};
    auto& c = s.connect();
    const mutex used{c, s.directory, {.max_local_grants = 0}}; // all the time
    auto held = s.hold(c);
    BOOST_TEST(s.unlock(held) == error_code{});
    s.admin.remove(s.directory + "/stranger");
    s.admin.set(s.directory, "mine");
    held = value_of(s.io, s.start_try_lock(c));
    BOOST_REQUIRE(bool(held));
    BOOST_TEST(s.unlock(held) == error_code{});
    const outcome<> synced; // behind whatever the unlock has left to be done
    c.async_sync("/", synced.handler());
    value_of(s.io, synced);
    BOOST_TEST(s.admin.get(s.directory) == "mine");
    s.check_nothing_left();
}

// ---- what is built on it

BOOST_AUTO_TEST_CASE(a_semaphore_comes_through)
{
    old_scene s{"/permits"};
    const auto before = s.admin.exists("/permits/locks")->czxid;
    int inside = 0, at_work = 0, taken = 0;
    const auto user = [&](client& c) -> asio::awaitable<void> {
        semaphore permits{c, s.directory, 2};
        for (int i = 0; i != 15; ++i) {
            auto [ec, p] = co_await permits.async_acquire(1, no_throw);
            BOOST_TEST_REQUIRE(!ec);
            ++taken;
            BOOST_TEST(++inside <= 2);
            co_await c.async_exists("/", no_throw);
            --inside;
            co_await p.async_release(no_throw);
        }
        --at_work;
    };
    for (int i = 0; i != 4; ++i) {
        ++at_work;
        asio::co_spawn(s.io, user(s.connect()), asio::detached);
    }
    BOOST_TEST(s.until([&] { return at_work == 0; }, 60s));
    BOOST_TEST(taken == 60);
    BOOST_TEST(s.until([&] { return s.queue_of("/permits/leases").empty(); }));
    BOOST_TEST(s.until([&] { return s.queue_of("/permits/locks").empty(); }));
    const auto after = s.admin.exists("/permits/locks");
    BOOST_TEST((!after || after->czxid != before));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::sequence_end_test
