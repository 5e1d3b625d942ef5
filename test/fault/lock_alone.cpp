// A contender on the uncontended fast path joins by the transaction that counts the children of the directory. What others do to the
// queue, or to the directory, in between: the lock is granted when it is its turn, nothing is left, and nobody's data
// are overwritten (G1, G3, G4).
#include <support/lock_scene.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <string>
#include <thread>
#include <vector>

using namespace colock;
using namespace colock::test;

namespace {

struct alone : lock_scene {
    alone()
    {
        take_turns(c);
        BOOST_TEST(until([&] { return admin.exists(directory)->version == 1; }));
    }

    void take_turns(client& who, int turns = 2)
    {
        for (int i = 0; i != turns; ++i) {
            auto held = hold(who);
            BOOST_REQUIRE(unlock(held) == error_code{});
        }
    }

    // Those that have been counted, since the directory was marked.
    [[nodiscard]] std::size_t counted() const { return proxy.requests(opcode::multi) - 1; }
    [[nodiscard]] std::size_t listed() const { return proxy.requests(any_get_children()); }

    void check_lock()
    {
        auto held = hold(c);
        BOOST_TEST(
            (held.token() ==
             fencing_token{static_cast<std::uint64_t>(admin.exists(held.node())->czxid), 0}));
        BOOST_TEST(admin.exists(held.node())->ephemeral_owner == c.session_id());
        BOOST_TEST(unlock(held) == error_code{});
    }

    // Who knows a directory by his own locks alone need not know whose it is now.
    void check_data_are_kept_in_a_long_queue(int locks_before);

    tcp_proxy proxy = link_proxy(server);
    client& c = connect_through(proxy);
};

void alone::check_data_are_kept_in_a_long_queue(int locks_before)
{
    const auto path = directory + "-long"; // which this client makes, and never reads
    const auto lock = [&](client& who) {
        outcome<unique_lock> o;
        mutex{who, path, {.max_local_grants = 0}}.async_lock(o.handler());
        return o;
    };
    const auto waits = [&](std::size_t number) {
        return until([&] { return queue_of(path).size() == number; });
    };
    for (int i = 0; i != locks_before; ++i) {
        auto first = lock(c);
        auto held = value_of(io, first);
        BOOST_TEST(unlock(held) == error_code{});
    }
    admin.set(path, "of the operator");

    auto& other = connect();
    auto theirs = lock(other);
    auto held = value_of(io, theirs);
    auto waiting = lock(c);
    BOOST_TEST(waits(2));
    std::vector<outcome<unique_lock>> more;
    for (std::size_t i = 0; i != 16; ++i) {
        more.push_back(lock(other));
        BOOST_TEST(waits(3 + i));
    }
    BOOST_TEST(wait_for_watches(c, 2));
    const auto before = c.stats().connections;
    proxy.cut(); // then it sees how long the queue is
    BOOST_TEST(until([&] { return c.stats().connections > before; }));
    BOOST_TEST(wait_for_watches(c, 2));
    BOOST_TEST(unlock(held) == error_code{});
    held = value_of(io, waiting);
    BOOST_TEST(unlock(held) == error_code{});
    for (auto& each : more) {
        held = value_of(io, each);
        BOOST_TEST(unlock(held) == error_code{});
    }
    BOOST_TEST(admin.get(path) == "of the operator");
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(lock_alone, alone)

BOOST_AUTO_TEST_CASE(it_is_counted)
{
    BOOST_TEST(counted() == 0U);
    check_lock();
    BOOST_TEST(counted() == 1U);
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G1_G4_somebody_was_faster)
{
    auto& other = connect();
    auto theirs = hold(other);
    auto waiting = start_waiter(c);
    BOOST_TEST(counted() == 1U);
    BOOST_TEST(wait_for_watches(c, 2));
    BOOST_TEST(!waiting.done());
    BOOST_TEST(unlock(theirs) == error_code{});
    auto held = value_of(io, waiting);
    BOOST_TEST(unlock(held) == error_code{});

    check_lock();
    BOOST_TEST(counted() == 1U); // it does not expect to be alone any more
    check_nothing_left();
}

// What is done in one breath with the release of the node before.
BOOST_AUTO_TEST_CASE(who_comes_right_behind_his_own_release_is_alone)
{
    share_nodes = true;
    const auto lists = listed();
    auto held = hold(c);
    for (int i = 0; i != 8; ++i) {
        held = {};
        held = value_of(io, start_lock(c));
    }
    BOOST_TEST(counted() == 9U);
    BOOST_TEST(listed() == lists);

    held = {};
    go_on(io, 10ms);
    const auto work = asio::make_work_guard(io);
    std::thread runs{[&] { io.run(); }};
    mutex m{c, directory};
    for (int i = 0; i != 50; ++i) {
        const auto theirs = m.async_lock(asio::use_future).get(); // released on this thread
    }
    io.stop();
    runs.join();
    io.restart();
    BOOST_TEST(listed() == lists);
    check_nothing_left();
}

// Each with a node of its own.
BOOST_AUTO_TEST_CASE(two_of_one_client_do_not_expect_to_be_alone)
{
    for (int i = 0; i != 8; ++i) {
        auto held = hold(c);
        auto waiting = start_lock(c);
        held = {};
        held = value_of(io, waiting);
        BOOST_TEST(unlock(held) == error_code{});
    }
    BOOST_TEST(counted() <= 2U);
    check_nothing_left();
}

// None that is in the queue, but the directory is never its own.
BOOST_AUTO_TEST_CASE(a_directory_with_another_child_is_not_counted)
{
    admin.create(directory + "/inner", "");
    take_turns(c, 9);
    BOOST_TEST(counted() <= 1U); // before it was seen
    admin.remove(directory + "/inner");
    const auto before = counted();
    take_turns(c, 4);
    BOOST_TEST(counted() >= before + 1);
    check_nothing_left();
}

// The second one does not know yet what the first makes of the directory.
BOOST_AUTO_TEST_CASE(G2_one_at_a_time_of_a_client_is_counted)
{
    auto first = start_lock(c);
    auto second = start_lock(c);
    auto third = start_lock(c);
    BOOST_TEST(until([&] { return queue().size() == 3U; }));
    BOOST_TEST(counted() == 1U);
    for (auto* each : {&first, &second, &third}) {
        auto held = value_of(io, *each);
        BOOST_TEST(unlock(held) == error_code{});
    }
    check_nothing_left();
}

// A hand-over to somebody who has come meanwhile: the next node first, not in vain behind the last one.
BOOST_AUTO_TEST_CASE(G2_who_has_been_told_of_others_does_not_expect_to_be_alone)
{
    share_nodes = true;
    mutex m{c, directory, {.max_local_grants = 1}};
    const auto lock = [&] {
        outcome<unique_lock> o;
        m.async_lock(o.handler());
        return o;
    };
    auto first = lock();
    auto held = value_of(io, first);
    BOOST_TEST(counted() == 1U);
    auto second = lock();
    auto third = lock();
    const auto events = c.stats().watch_events;
    BOOST_TEST(until([&] { return child_watches() == 1; }));
    auto& other = connect();
    auto theirs = start_lock(other);
    BOOST_TEST(until([&] { return c.stats().watch_events > events; }));
    held = {};
    held = value_of(io, second);
    held = {};
    held = value_of(io, theirs);
    BOOST_TEST(until([&] { return queue().size() == 2U; }));
    BOOST_TEST(counted() == 1U);
    BOOST_TEST(unlock(held) == error_code{});
    held = value_of(io, third);
    BOOST_TEST(unlock(held) == error_code{});
    check_nothing_left();
}

// They never count: they need not know whose the directory is.
BOOST_AUTO_TEST_CASE(who_tries_or_lingers_does_not_look_whose_the_directory_is)
{
    const auto path = directory + "-tried";
    const auto gets = proxy.requests(opcode::get_data);
    const auto check = [&](auto start) {
        for (int i = 0; i != 4; ++i) {
            outcome<unique_lock> o;
            start(o.handler());
            auto held = value_of(io, o);
            BOOST_TEST(unlock(held) == error_code{});
            BOOST_TEST(until([&] { return queue_of(path).empty(); }));
        }
        BOOST_TEST(counted() == 0U);
        BOOST_TEST(proxy.requests(opcode::get_data) == gets);
    };
    check([&](auto h) { mutex{c, path}.async_try_lock(std::move(h)); });
    check([&](auto h) { mutex{c, path, {.linger = 1ms}}.async_lock(std::move(h)); });
}

BOOST_AUTO_TEST_CASE(G1_somebody_comes_later)
{
    auto held = hold(c);
    BOOST_TEST(counted() == 1U);
    auto& other = connect();
    auto waiting = start_waiter(other);
    BOOST_TEST(!waiting.done());
    BOOST_TEST(unlock(held) == error_code{});
    auto theirs = value_of(io, waiting);
    BOOST_TEST(unlock(theirs) == error_code{});
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(data_that_somebody_has_put_there_since_are_kept)
{
    admin.set(directory, "of the operator");
    check_lock();
    BOOST_TEST(counted() == 1U);
    take_turns(c, 5);
    BOOST_TEST(counted() == 1U);
    BOOST_TEST(admin.get(directory) == "of the operator");
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(data_that_somebody_has_put_there_since_are_kept_in_a_long_queue)
{
    check_data_are_kept_in_a_long_queue(1);
}

// Which has put the mark there before.
BOOST_AUTO_TEST_CASE(
    data_that_somebody_has_put_there_since_are_kept_in_a_long_queue_of_a_client_that_was_alone)
{
    check_data_are_kept_in_a_long_queue(3);
}

BOOST_AUTO_TEST_CASE(G1_G4_another_directory_of_somebody_else)
{
    admin.remove(directory);
    admin.create(directory, "theirs");
    auto& other = connect();
    take_turns(other, 2);
    auto theirs = hold(other);
    auto waiting = start_waiter(c);
    BOOST_TEST(!waiting.done());
    BOOST_TEST(unlock(theirs) == error_code{});
    auto held = value_of(io, waiting);
    BOOST_TEST(unlock(held) == error_code{});
    take_turns(c, 5);
    BOOST_TEST(counted() == 1U);
    BOOST_TEST(admin.get(directory) == "theirs");
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G4_the_directory_is_gone)
{
    admin.remove(directory);
    check_lock();
    check_lock();
    check_lock();
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_directory_that_may_not_be_written_to_is_tried_once)
{
    const std::string path = directory + "-guarded";
    // read, create, delete
    admin.create(path, admin.get(directory), admin_session::mode::container,
                 {{1 | 4 | 8, "world", "anyone"}});
    mutex m{c, path};
    for (int i = 0; i != 6; ++i) {
        outcome<unique_lock> o;
        m.async_lock(o.handler());
        auto held = value_of(io, o);
        BOOST_TEST(unlock(held) == error_code{});
    }
    BOOST_TEST(counted() == 1U);
    check_lock(); // that is the other one's business
    BOOST_TEST(counted() == 2U);
    BOOST_TEST(queue_of(path).empty());
}

BOOST_AUTO_TEST_CASE(G3_a_count_whose_reply_is_lost_is_found_and_not_made_twice)
{
    auto lost = proxy.on_reply(opcode::multi, reaction::drop_and_cut);
    const auto before = admin.exists(directory)->cversion;
    auto held = hold(c);
    BOOST_TEST(lost.fired() == 1U);
    BOOST_TEST(admin.exists(directory)->cversion == before + 1);
    BOOST_TEST(queue().size() == 1U);
    BOOST_TEST((held.token() ==
                fencing_token{static_cast<std::uint64_t>(admin.exists(held.node())->czxid), 0}));
    BOOST_TEST(unlock(held) == error_code{});
    check_lock();
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G3_a_count_that_never_reached_the_server_is_sent_again)
{
    auto lost = proxy.on_request(opcode::multi, reaction::drop_and_cut);
    check_lock();
    BOOST_TEST(lost.fired() == 1U);
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G3_cancelled_while_it_is_counted)
{
    auto held_up = proxy.on_reply(opcode::multi, reaction::hold);
    asio::cancellation_signal signal;
    outcome<unique_lock> o;
    mutex{c, directory}.async_lock(
        asio::bind_cancellation_slot(signal.slot(), asio::bind_executor(io, o.handler())));
    BOOST_TEST(until([&] { return held_up.fired() == 1U; }));
    signal.emit(asio::cancellation_type::terminal);
    BOOST_TEST(code_of(io, o) == asio::error::operation_aborted);
    held_up.release();
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G4_with_a_new_session_it_looks_anew)
{
    BOOST_TEST(!kill_session(server.connect_string(), c.session_id(), password_of(c)));
    BOOST_TEST(until(
        [&] { return c.stats().expirations == 1 && c.state() == connection_state::connected; }));
    sessions.insert(c.session_id());
    const auto lists = listed();
    take_turns(c, 2); // reads the data, behind the second
    BOOST_TEST(listed() == lists + 2);
    check_lock();
    BOOST_TEST(listed() == lists + 2);
    check_nothing_left();
}

BOOST_AUTO_TEST_SUITE_END()
