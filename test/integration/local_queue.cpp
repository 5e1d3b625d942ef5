// Within one client: waiters share a node, a release passes the lock on, an idle node lingers.
#include <support/lock_scene.hpp>
#include <support/requests_of.hpp>

#include <boost/test/unit_test.hpp>

#include <memory>
#include <vector>

namespace colock::test::local_queue_test {

namespace {

struct local_scene : lock_scene {
    local_scene() { share_nodes = true; }

    std::vector<outcome<unique_lock>> start_locks(client& c, std::size_t n, lock_options o = {})
    {
        std::vector<outcome<unique_lock>> all;
        for (std::size_t i = 0; i != n; ++i) {
            all.push_back(start_lock(c, o));
        }
        return all;
    }
    // What the servers were told meanwhile, but for what the client says of itself.
    template <class Action>
    std::uint64_t requests_during(const client& c, Action&& action)
    {
        const auto before = requests_of(c);
        action();
        return requests_of(c) - before;
    }
    // Until the client knows whether somebody else is in the queue.
    void wait_until_known(client& c)
    {
        BOOST_TEST(until([&] { return child_watches() == 1; }));
        outcome<> behind; // answered behind the list
        c.async_sync("/", behind.handler());
        static_cast<void>(code_of(io, behind));
    }
};

const lock_options strict_after_two{.max_local_grants = 2, .max_local_time = 1h};

} // namespace

BOOST_FIXTURE_TEST_SUITE(local_queue, local_scene)

BOOST_AUTO_TEST_CASE(waiters_of_a_client_share_one_node_and_are_granted_in_order)
{
    auto& c = connect();
    auto held = hold(c);
    const auto waiting = start_locks(c, 100);
    wait_until_known(c);
    BOOST_TEST(wait_for_watches(c, 1)); // of the own node
    BOOST_TEST(queue().size() == 1U);
    BOOST_TEST(c.stats().contenders == 1U);
    const auto node = held.node();
    const auto requests = requests_during(c, [&] {
        for (std::size_t i = 0; i != waiting.size(); ++i) {
            const auto before = held.token();
            BOOST_TEST(unlock(held) == error_code{});
            held = value_of(io, waiting[i]);
            BOOST_TEST(bool(held));
            BOOST_TEST((held.token() > before));
            BOOST_TEST(held.token().high() == before.high());
            BOOST_TEST(held.node() == node);
            for (auto later = i + 1; later != waiting.size(); ++later) {
                BOOST_TEST(!waiting[later].done());
            }
        }
    });
    BOOST_TEST(requests == 0U);
    BOOST_TEST(c.stats().locks_granted == 101U);
    BOOST_TEST(unlock(held) == error_code{});
    BOOST_TEST(c.stats().locks_released == 101U);
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_destroyed_guard_passes_the_lock_on_as_well)
{
    auto& c = connect();
    auto held = std::make_unique<unique_lock>(hold(c));
    const auto waiting = start_locks(c, 2);
    wait_until_known(c);
    BOOST_TEST(wait_for_watches(c, 1)); // of the own node
    BOOST_TEST(requests_during(c, [&] {
                   held.reset();
                   BOOST_TEST(bool(value_of(io, waiting[0])));
                   BOOST_TEST(bool(value_of(io, waiting[1])));
               }) <= 1U);
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G1_two_objects_and_a_node_of_its_own_exclude_each_other)
{
    auto& c = connect();
    auto& other = connect();
    // However long this takes, there is time for one more.
    mutex first{c, directory, strict_after_two}, second{c, directory, strict_after_two};
    outcome<unique_lock> a, b;
    first.async_lock(a.handler());
    auto held = value_of(io, a);
    second.async_lock(b.handler());
    const auto stranger = start_waiter(other);
    BOOST_TEST(!b.done());
    BOOST_TEST(unlock(held) == error_code{});
    held = value_of(io, b);
    BOOST_TEST(!stranger.done());
    BOOST_TEST(unlock(held) == error_code{});
    static_cast<void>(value_of(io, stranger));
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G2_a_stranger_waits_for_so_many_local_grants_at_most)
{
    auto& c = connect();
    auto held = hold(c, strict_after_two);
    const auto waiting = start_locks(c, 5, strict_after_two);
    wait_until_known(c);
    const auto stranger = start_waiter(connect());
    BOOST_TEST(until([&] { return c.stats().watch_events != 0; })); // it is known to wait
    for (std::size_t i = 0; i != 2; ++i) {
        BOOST_TEST(unlock(held) == error_code{});
        held = value_of(io, waiting[i]);
        BOOST_TEST(!stranger.done());
    }
    BOOST_TEST(unlock(held) == error_code{});
    auto theirs = value_of(io, stranger);
    BOOST_TEST(until([&] { return queue().size() == 2; })); // and it stands in the queue again
    BOOST_TEST(!waiting[2].done());
    const auto before = theirs.token();
    BOOST_TEST(unlock(theirs) == error_code{});
    held = value_of(io, waiting[2]);
    BOOST_TEST((held.token() > before));
    // Its predecessor has gone, but may have come back: that is looked for.
    for (std::size_t i = 3; i != 5; ++i) {
        BOOST_TEST(unlock(held) == error_code{});
        held = value_of(io, waiting[i]);
    }
    BOOST_TEST(unlock(held) == error_code{});
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G2_a_stranger_waits_for_so_much_time_at_most)
{
    const lock_options brief{.max_local_grants = 1000, .max_local_time = 20ms};
    auto& c = connect();
    auto held = hold(c, brief);
    const auto waiting = start_locks(c, 2, brief);
    wait_until_known(c);
    const auto stranger = start_waiter(connect());
    BOOST_TEST(until([&] { return c.stats().watch_events != 0; }));
    go_on(io, 25ms); // what is being done under the lock takes so long
    BOOST_TEST(unlock(held) == error_code{});
    static_cast<void>(value_of(io, stranger));
    BOOST_TEST(!waiting[0].done());
    static_cast<void>(value_of(io, waiting[0]));
    static_cast<void>(value_of(io, waiting[1]));
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G2_without_local_grants_everybody_queues_for_himself)
{
    const lock_options strict{.max_local_grants = 0};
    auto& c = connect();
    auto held = hold(c, strict);
    auto first = start_waiter(c, strict);
    auto stranger = start_waiter(connect());
    auto second = start_waiter(c, strict);
    BOOST_TEST(queue().size() == 4U);
    for (auto* next : {&first, &stranger, &second}) {
        BOOST_TEST(unlock(held) == error_code{});
        held = value_of(io, *next);
    }
    BOOST_TEST(unlock(held) == error_code{});
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G3_cancelled_waiters_leave_one_by_one_and_the_last_takes_the_node_with_it)
{
    for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                            asio::cancellation_type::total}) {
        auto& c = connect();
        auto held = hold(connect());
        std::vector<asio::cancellation_signal> stop(3);
        std::vector<outcome<unique_lock>> waiting(3);
        mutex m{c, directory};
        for (std::size_t i = 0; i != 3; ++i) {
            m.async_lock(asio::bind_cancellation_slot(stop[i].slot(), waiting[i].handler()));
        }
        BOOST_TEST(wait_for_watches(c, 2));
        BOOST_TEST(queue().size() == 2U);
        for (const std::size_t i : {1U, 0U}) {
            stop[i].emit(type);
            BOOST_TEST(code_of(io, waiting[i]) == asio::error::operation_aborted);
            BOOST_TEST(queue().size() == 2U);
            BOOST_TEST(!waiting[2].done());
        }
        stop[2].emit(type);
        stop[2].emit(type); // too late
        BOOST_TEST(code_of(io, waiting[2]) == asio::error::operation_aborted);
        if (type == asio::cancellation_type::total) {
            BOOST_TEST(queue().size() == 1U); // no trace is left when it completes
        }
        BOOST_TEST(until([&] { return queue().size() == 1; }));
        BOOST_TEST(wait_for_watches(c, 0));
        BOOST_TEST(unlock(held) == error_code{});
        check_nothing_left();
    }
}

BOOST_AUTO_TEST_CASE(G3_cancelled_behind_a_local_holder_costs_no_request)
{
    auto& c = connect();
    auto held = hold(c);
    asio::cancellation_signal stop;
    outcome<unique_lock> waiting;
    mutex{c, directory}.async_lock(asio::bind_cancellation_slot(stop.slot(), waiting.handler()));
    wait_until_known(c);
    BOOST_TEST(wait_for_watches(c, 1)); // of the own node
    BOOST_TEST(requests_during(c, [&] {
                   stop.emit(asio::cancellation_type::total);
                   BOOST_TEST(code_of(io, waiting) == asio::error::operation_aborted);
               }) == 0U);
    BOOST_TEST(unlock(held) == error_code{});
    check_nothing_left();
}

// The only waiter goes, and another comes before the node has gone.
BOOST_AUTO_TEST_CASE(G4_one_that_comes_while_the_last_one_leaves_is_granted)
{
    auto& c = connect();
    auto held = hold(connect());
    for (int i = 0; i != 50; ++i) {
        asio::cancellation_signal stop;
        outcome<unique_lock> gone;
        mutex m{c, directory};
        m.async_lock(asio::bind_cancellation_slot(stop.slot(), gone.handler()));
        for (int n = 0; n != i % 10; ++n) {
            io.poll_one();
        }
        stop.emit(i % 2 == 0 ? asio::cancellation_type::total : asio::cancellation_type::terminal);
        auto next = start_lock(c);
        BOOST_TEST(code_of(io, gone) == asio::error::operation_aborted);
        BOOST_TEST(until([&] { return queue().size() == 2; }));
        BOOST_TEST(unlock(held) == error_code{});
        held = value_of(io, next);
        BOOST_TEST(unlock(held) == error_code{});
        held = hold(*std::next(clients.begin()));
    }
    BOOST_TEST(unlock(held) == error_code{});
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_deadline_is_that_of_each_waiter)
{
    auto& c = connect();
    auto held = hold(c);
    mutex m{c, directory};
    outcome<unique_lock> brief, patient, tried;
    m.async_try_lock_for(1h, patient.handler());
    wait_until_known(c);
    BOOST_TEST(wait_for_watches(c, 1)); // of the own node
    BOOST_TEST(requests_during(c, [&] {
                   m.async_try_lock(tried.handler()); // it is known here that it is busy
                   BOOST_TEST(!value_of(io, tried));
               }) == 0U);
    m.async_try_lock_for(30ms, brief.handler());
    BOOST_TEST(!value_of(io, brief));
    BOOST_TEST(!patient.done());
    BOOST_TEST(unlock(held) == error_code{});
    held = value_of(io, patient);
    BOOST_TEST(bool(held));
    BOOST_TEST(unlock(held) == error_code{});
    check_nothing_left();
}

// One tries while others of the client stand in the queue: he does not overtake them, and they get what he got.
BOOST_AUTO_TEST_CASE(G2_a_try_does_not_overtake_those_who_wait)
{
    auto& c = connect();
    auto held = hold(connect());
    const auto waiting = start_waiter(c);
    BOOST_TEST(!value_of(io, start_try_lock(c)));
    BOOST_TEST(unlock(held) == error_code{});
    held = value_of(io, waiting);
    BOOST_TEST(!value_of(io, start_try_lock(c)));
    BOOST_TEST(unlock(held) == error_code{});
    held = value_of(io, start_try_lock(c));
    BOOST_TEST(bool(held));
    const auto next = start_lock(c);
    wait_until_known(c);
    BOOST_TEST(queue().size() == 1U);
    BOOST_TEST(unlock(held) == error_code{});
    BOOST_TEST(bool(value_of(io, next)));
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_wait_for_the_loss_ends_with_its_own_turn)
{
    auto& c = connect();
    auto held = hold(c);
    outcome<error_code> first, second;
    held.async_wait_lost(first.handler());
    const auto waiting = start_lock(c);
    wait_until_known(c);
    BOOST_TEST(unlock(held) == error_code{});
    BOOST_TEST(code_of(io, first) == errc::not_held);
    held = value_of(io, waiting);
    held.async_wait_lost(second.handler());
    go_on(io, 5ms);
    BOOST_TEST(!second.done());
    admin.remove(held.node());
    BOOST_TEST(value_of(io, second) == errc::node_deleted);
}

BOOST_AUTO_TEST_CASE(G5_a_loss_ends_the_node_and_those_who_wait_get_another)
{
    auto& c = connect();
    auto held = hold(c);
    const auto waiting = start_locks(c, 2);
    wait_until_known(c);
    outcome<error_code> lost;
    held.async_wait_lost(lost.handler());
    const auto before = held.token();

    admin.remove(held.node());
    BOOST_TEST(value_of(io, lost) == errc::node_deleted);
    auto next = value_of(io, waiting[0]);
    BOOST_TEST((next.token() > before));
    BOOST_TEST(next.token().high() > before.high());
    BOOST_TEST(held.loss_reason() == errc::node_deleted);
    held = {}; // nothing of it goes to anybody
    go_on(io, 5ms);
    BOOST_TEST(!waiting[1].done());

    BOOST_TEST(!kill_session(server.connect_string(), c.session_id(), password_of(c)));
    BOOST_TEST(until([&] { return next.loss_reason() == errc::session_expired; }));
    const auto last = value_of(io, waiting[1]);
    BOOST_TEST((last.token() > next.token()));
    BOOST_TEST(c.stats().locks_lost == 2U);
}

BOOST_AUTO_TEST_CASE(G6_everything_is_destroyed_while_some_wait)
{
    for (const bool client_first : {true, false}) {
        auto context = std::make_unique<asio::io_context>();
        auto c =
            std::make_unique<client>(*context, client_options{.hosts = server.connect_string()});
        outcome<> connected;
        c->async_connect(connected.handler());
        value_of(*context, connected);
        const mutex m{*c, directory};
        std::vector<outcome<unique_lock>> all(4);
        for (auto& o : all) {
            mutex{m}.async_lock(o.handler());
        }
        run_until(*context, [&] { return all[0].done(); });
        mutex{m}.async_try_lock_for(1h, all[3].handler());
        if (client_first) {
            c.reset();
            context->restart();
            context->run();
            for (const auto i : {1, 2}) {
                BOOST_TEST(all[static_cast<std::size_t>(i)].error() ==
                           asio::error::operation_aborted);
            }
            BOOST_TEST((all[0].value().loss_reason() == errc::client_closed));
            context.reset();
        } else {
            context.reset();
            BOOST_TEST(all[1].calls() == 0U);
            BOOST_TEST((all[0].value().loss_reason() == errc::client_closed));
            c.reset();
        }
    }
}

// ---- linger

namespace {

const lock_options lingering{.linger = 1h, .max_linger = 2h};

} // namespace

BOOST_AUTO_TEST_CASE(a_lingering_node_is_granted_again_without_a_request)
{
    auto& c = connect();
    auto held = hold(c, lingering);
    const auto node = held.node();
    auto before = held.token();
    BOOST_TEST(requests_during(c, [&] {
                   for (int i = 0; i != 100; ++i) {
                       BOOST_TEST(unlock(held) == error_code{});
                       held = i % 2 == 0 ? hold(c, lingering)
                                         : value_of(io, start_try_lock(c, lingering));
                       BOOST_TEST((held.token() > before));
                       before = held.token();
                   }
               }) <= 1U);
    BOOST_TEST(held.node() == node);
    BOOST_TEST(queue().size() == 1U);
    BOOST_TEST(unlock(held) == error_code{});
    BOOST_TEST(c.stats().locks_granted == 101U);
    BOOST_TEST(c.stats().locks_released == 101U);
    BOOST_TEST(queue().size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_lingering_node_is_not_in_the_way_of_a_reader_of_its_client)
{
    auto& c = connect();
    shared_mutex lock{c, directory, lingering};
    outcome<unique_lock> wrote;
    lock.async_lock(wrote.handler());
    auto writer = value_of(io, wrote);
    BOOST_TEST(unlock(writer) == error_code{});
    BOOST_TEST(queue().size() == 1U);
    outcome<shared_lock> read;
    lock.async_try_lock_shared(read.handler());
    BOOST_TEST(bool(value_of(io, read)));
    BOOST_TEST(queue().size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_lingering_node_goes_when_its_time_is_over)
{
    auto& c = connect();
    const lock_options brief{.linger = 30ms};
    auto held = hold(c, brief);
    BOOST_TEST(unlock(held) == error_code{});
    BOOST_TEST(queue().size() == 1U);
    check_nothing_left();
    // However often it is used.
    const lock_options bounded{.linger = 200ms, .max_linger = 200ms};
    held = hold(c, bounded);
    const auto node = held.node();
    BOOST_TEST(until([&] {
        BOOST_TEST(unlock(held) == error_code{});
        held = hold(c, bounded);
        return held.node() != node;
    }));
    BOOST_TEST(unlock(held) == error_code{});
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_newcomer_makes_a_lingering_node_go)
{
    auto& c = connect();
    auto held = hold(c, lingering);
    BOOST_TEST(unlock(held) == error_code{});
    BOOST_TEST(queue().size() == 1U);
    auto& other = connect();
    BOOST_TEST(!value_of(io, start_try_lock(other, lingering))); // it does not stand in the queue
    held = value_of(io, start_lock(other, lingering));
    BOOST_TEST(queue().size() == 1U);
    BOOST_TEST(watches_of(c).empty());
    // One that comes while it is in use gets it right behind.
    const auto next = start_waiter(c, lingering);
    BOOST_TEST(until([&] { return other.stats().watch_events != 0; }));
    BOOST_TEST(unlock(held) == error_code{});
    held = value_of(io, next);
    BOOST_TEST(queue().size() == 1U);
    BOOST_TEST(unlock(held) == error_code{}); // somebody was met: it does not linger
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_lingering_node_goes_with_its_client_and_with_its_session)
{
    auto& c = connect();
    auto held = hold(c, lingering);
    BOOST_TEST(unlock(held) == error_code{});
    BOOST_TEST(!kill_session(server.connect_string(), c.session_id(), password_of(c)));
    BOOST_TEST(until([&] { return c.stats().expirations == 1; }));
    held = hold(c, lingering); // and is not granted any more
    BOOST_TEST(queue().size() == 1U);
    BOOST_TEST(unlock(held) == error_code{});
    BOOST_TEST(queue().size() == 1U);
    BOOST_TEST(c.stats().locks_lost == 0U); // nobody held it

    admin.remove(directory + '/' + queue().front());
    BOOST_TEST(until([&] { return c.stats().contenders == 0; }));
    held = hold(c, lingering);
    BOOST_TEST(unlock(held) == error_code{});
    close_all();
    BOOST_TEST(queue().empty());
}

BOOST_AUTO_TEST_CASE(a_lingering_node_that_a_paused_process_finds_too_old_is_nobodys_loss)
{
    auto& c = connect({.session_timeout = 4s, .tick = 200ms});
    const lock_options early{.safety_margin = 500ms, .linger = 30s};
    auto held = hold(c, early);
    const auto node = held.node();
    const auto safe_until = held.safe_until();
    BOOST_TEST(unlock(held) == error_code{});
    std::this_thread::sleep_until(safe_until); // as if it was stopped: no timer of it runs
    const auto waiting = start_lock(c, early);
    held = value_of(io, waiting);
    BOOST_TEST(held.node() != node);
    BOOST_TEST(until([&] { return queue().size() == 1U; }));
    BOOST_TEST(c.stats().locks_lost == 0U);
}

BOOST_AUTO_TEST_CASE(one_who_came_while_the_connection_was_away_makes_it_go)
{
    tcp_proxy proxy{server.connect_string()};
    auto& c = connect_through(proxy);
    auto held = hold(c, lingering);
    BOOST_TEST(unlock(held) == error_code{});
    proxy.refuse(true);
    proxy.cut();
    BOOST_TEST(until([&] { return c.state() == connection_state::suspended; }));
    const auto waiting = start_waiter(connect(), lingering);
    held = hold(c, lingering); // its session lives, and nobody can have got it
    BOOST_TEST(bool(held));
    held = {};
    go_on(io, 5ms);
    BOOST_TEST(!waiting.done());
    proxy.refuse(false);
    static_cast<void>(value_of(io, waiting));
    BOOST_TEST(until([&] { return c.stats().contenders == 0; }));
}

BOOST_AUTO_TEST_CASE(options_that_contradict_each_other_are_refused)
{
    auto& c = connect();
    const std::pair<lock_options, const char*> refused[] = {
        {{.linger = 2h, .max_linger = 1h}, "linger is longer than max_linger"},
        {{.max_local_grants = 0, .linger = 1s}, "lingers"},
        {{.linger = -1ms}, "linger is -1 ms"},
        {{.max_local_time = -1ms}, "max_local_time is -1 ms"},
        {{.max_linger = -1ms}, "max_linger is -1 ms"}};
    for (const auto& [bad, says] : refused) {
        BOOST_TEST(code_of(io, start_lock(c, bad)) == errc::invalid_option);
        BOOST_TEST(c.last_error_detail().find(says) != std::string::npos, c.last_error_detail());
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::local_queue_test
