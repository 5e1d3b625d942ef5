// The lock that readers share, against a real server.
#include <support/lock_scene.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/test/unit_test.hpp>

#include <set>
#include <string>
#include <vector>

namespace colock::test::shared_mutex_test {

namespace {

lock_options options(lock_options o = {})
{
    o.layout = curator_shared_layout();
    return o;
}

struct shared_scene : lock_scene {
    shared_mutex lock_of(client& c, lock_options o = {})
    {
        return shared_mutex{c, directory, options(std::move(o))};
    }
    outcome<shared_lock> start_read(client& c, lock_options o = {})
    {
        outcome<shared_lock> result;
        lock_of(c, std::move(o)).async_lock_shared(result.handler());
        return result;
    }
    outcome<unique_lock> start_write(client& c, lock_options o = {})
    {
        outcome<unique_lock> result;
        lock_of(c, std::move(o)).async_lock(result.handler());
        return result;
    }
    shared_lock read(client& c, lock_options o = {})
    {
        return value_of(io, start_read(c, std::move(o)));
    }
    unique_lock write(client& c, lock_options o = {})
    {
        return value_of(io, start_write(c, std::move(o)));
    }
    shared_lock try_read(client& c)
    {
        outcome<shared_lock> result;
        lock_of(c).async_try_lock_shared(result.handler());
        return value_of(io, result);
    }
    unique_lock try_write(client& c)
    {
        outcome<unique_lock> result;
        lock_of(c).async_try_lock(result.handler());
        return value_of(io, result);
    }
    // One that has to wait: returns once its node is in the queue.
    template <class Start>
    auto waiting(Start&& start)
    {
        // Numbers grow; nodes of those before may still be leaving.
        const auto last = [&] {
            const auto nodes = queue();
            return nodes.empty() ? std::string{} : nodes.back().substr(nodes.back().size() - 10);
        };
        const auto before = last();
        auto result = start();
        BOOST_TEST(until([&] { return last() > before; }));
        BOOST_TEST(!result.done());
        return result;
    }
    error_code unlock(held_lock& held)
    {
        outcome<> o;
        held.async_unlock(asio::bind_executor(io, o.handler()));
        return code_of(io, o);
    }
    outcome<shared_lock> start_downgrade(client& c, unique_lock& held)
    {
        outcome<shared_lock> result;
        lock_of(c).async_downgrade(std::move(held), result.handler());
        return result;
    }
    static bool is_reader(const std::string& node)
    {
        return node.find("-__READ__") != std::string::npos;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(shared_mutex_cases, shared_scene)

BOOST_AUTO_TEST_CASE(readers_hold_it_together_and_a_writer_alone)
{
    auto& a = connect();
    auto& b = connect();
    auto first = read(a);
    auto second = read(b); // K14
    BOOST_TEST((bool(first) && bool(second)));
    BOOST_TEST(is_reader(first.node()));
    BOOST_TEST(queue().size() == 2U);
    BOOST_TEST(!try_write(a));
    BOOST_TEST(bool(try_read(b)));
    const auto writer = waiting([&] { return start_write(b); });
    BOOST_TEST(!try_read(connect())); // it would overtake one who waits
    BOOST_TEST(unlock(first) == error_code{});
    go_on(io, 5ms);
    BOOST_TEST(!writer.done());
    second = {};
    auto held = value_of(io, writer);
    BOOST_TEST(held.node().find("-__WRIT__") != std::string::npos);
    BOOST_TEST(!try_read(a)); // K15
    BOOST_TEST(!try_write(a));
    BOOST_TEST(unlock(held) == error_code{});
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G2_those_who_wait_are_let_in_in_their_order_and_readers_together)
{
    auto& c = connect();
    auto held = write(c);
    const auto r1 = waiting([&] { return start_read(connect()); });
    const auto r2 = waiting([&] { return start_read(connect()); });
    const auto w = waiting([&] { return start_write(connect()); });
    const auto r3 = waiting([&] { return start_read(connect()); }); // K16
    const auto before = held.token();
    BOOST_TEST(unlock(held) == error_code{});
    auto first = value_of(io, r1);
    auto second = value_of(io, r2);
    BOOST_TEST((first.token() > before && second.token() > before));
    go_on(io, 5ms);
    BOOST_TEST(!w.done());
    BOOST_TEST(!r3.done());
    second = {}; // R7: the later reader goes first
    go_on(io, 5ms);
    BOOST_TEST(!w.done());
    const auto of_readers = std::max(first.token(), second.token());
    first = {};
    auto writer = value_of(io, w);
    BOOST_TEST((writer.token() > of_readers));
    BOOST_TEST(!r3.done());
    writer = {};
    static_cast<void>(value_of(io, r3));
}

BOOST_AUTO_TEST_CASE(readers_of_one_client_share_a_node)
{
    auto& c = connect();
    std::vector<outcome<shared_lock>> all;
    for (int i = 0; i != 100; ++i) {
        all.push_back(start_read(c));
    }
    std::vector<shared_lock> held;
    for (const auto& each : all) {
        held.push_back(value_of(io, each));
    }
    BOOST_TEST(queue().size() == 1U);
    BOOST_TEST(c.stats().locks_granted == 100U);
    while (held.size() > 1) {
        BOOST_TEST(unlock(held.back()) == error_code{});
        held.pop_back();
        BOOST_TEST(bool(held.front()));
    }
    BOOST_TEST(queue().size() == 1U);
    BOOST_TEST(unlock(held.front()) == error_code{});
    BOOST_TEST(queue().empty());
    BOOST_TEST(c.stats().locks_released == 100U);
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G2_a_writer_elsewhere_does_not_starve)
{
    auto& c = connect();
    const lock_options two{.max_local_grants = 2, .max_local_time = 1h};
    std::vector<shared_lock> held;
    held.push_back(read(c, two));
    held.push_back(read(c, two));
    const auto writer = waiting([&] { return start_write(connect(), two); });
    // However many follow: when the first ones have gone it is the writer's turn.
    outcome<shared_lock> late;
    BOOST_TEST(until([&] {
        late = start_read(c, two);
        go_on(io, 1ms);
        if (late.done()) {
            held.push_back(value_of(io, late));
        }
        return queue().size() == 3U;
    }));
    BOOST_TEST(!late.done());
    held.clear();
    auto w = value_of(io, writer);
    BOOST_TEST(!late.done());
    w = {};
    static_cast<void>(value_of(io, late));
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(readers_behind_the_bounds_get_a_second_node_and_both_are_held)
{
    auto& c = connect();
    const lock_options one{.max_local_grants = 1, .max_local_time = 1h};
    const auto stranger = read(connect(), one);
    std::vector<shared_lock> held;
    std::set<std::string> nodes;
    for (int i = 0; i != 8; ++i) {
        held.push_back(read(c, one));
        nodes.insert(held.back().node());
        BOOST_TEST(bool(held.back()));
    }
    BOOST_TEST(nodes.size() > 1U);
    BOOST_TEST(queue().size() == nodes.size() + 1);
    for (auto& each : held) {
        BOOST_TEST(each.loss_reason() == error_code{});
        BOOST_TEST(unlock(each) == error_code{});
    }
    BOOST_TEST(queue().size() == 1U);
    BOOST_TEST(c.stats().locks_released == 8U);
    BOOST_TEST(c.stats().locks_lost == 0U);
}

BOOST_AUTO_TEST_CASE(G5_those_who_share_a_node_lose_it_together)
{
    auto& c = connect();
    auto first = read(c);
    auto second = read(c);
    outcome<error_code> lost, others;
    first.async_wait_lost(lost.handler());
    second.async_wait_lost(others.handler());
    const auto writer = waiting([&] { return start_write(c); });
    admin.remove(first.node());
    BOOST_TEST(value_of(io, lost) == errc::node_deleted);
    BOOST_TEST(value_of(io, others) == errc::node_deleted);
    BOOST_TEST(second.loss_reason() == errc::node_deleted);
    static_cast<void>(value_of(io, writer));
    first = read(c); // not on the old node
    BOOST_TEST(second.loss_reason() == errc::node_deleted);
    BOOST_TEST(bool(first));
    first = {};
    second = {};
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_wait_for_the_loss_ends_with_its_own_turn)
{
    auto& c = connect();
    auto first = read(c);
    auto second = read(c);
    outcome<error_code> lost, others;
    first.async_wait_lost(lost.handler());
    auto deferred = second.async_wait_lost(asio::deferred);
    BOOST_TEST(unlock(first) == error_code{});
    BOOST_TEST(code_of(io, lost) == errc::not_held);
    BOOST_TEST(unlock(second) == error_code{});
    std::move(deferred)(others.handler());
    BOOST_TEST(code_of(io, others) == errc::not_held);
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G3_readers_who_cancel_leave_nothing_behind)
{
    auto& c = connect();
    auto held = write(connect());
    std::vector<asio::cancellation_signal> signals(3);
    std::vector<outcome<shared_lock>> all;
    for (auto& s : signals) {
        auto& result = all.emplace_back();
        lock_of(c).async_lock_shared(asio::bind_cancellation_slot(s.slot(), result.handler()));
    }
    BOOST_TEST(until([&] { return queue().size() == 2U; }));
    signals[0].emit(asio::cancellation_type::terminal);
    BOOST_TEST(code_of(io, all[0]) == asio::error::operation_aborted);
    BOOST_TEST(queue().size() == 2U);
    signals[1].emit(asio::cancellation_type::partial);
    signals[2].emit(asio::cancellation_type::total); // completes when no trace is left
    BOOST_TEST(code_of(io, all[2]) == asio::error::operation_aborted);
    BOOST_TEST(queue().size() == 1U);
    held = {};
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(for_a_limited_time)
{
    auto& c = connect();
    auto held = write(connect());
    outcome<shared_lock> in_time, until_then;
    lock_of(c).async_try_lock_shared_for(5ms, in_time.handler());
    BOOST_TEST(!value_of(io, in_time));
    lock_of(c).async_try_lock_shared_until(std::chrono::steady_clock::now() + 5ms,
                                           until_then.handler());
    BOOST_TEST(!value_of(io, until_then));
    outcome<unique_lock> w;
    lock_of(c).async_try_lock_for(5ms, w.handler());
    BOOST_TEST(!value_of(io, w));
    held = {};
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(everybody_may_have_a_node_of_his_own)
{
    auto& c = connect();
    const auto strict = with_nodes();
    const auto first = read(c, strict);
    const auto second = read(c, strict);
    BOOST_TEST(queue().size() == 2U);
    const auto writer = waiting([&] { return start_write(c, strict); });
    const auto third = waiting([&] { return start_read(c, strict); });
    BOOST_TEST(queue().size() == 4U);
}

// ---- downgrading

BOOST_AUTO_TEST_CASE(a_writer_becomes_a_reader_without_a_gap)
{
    auto& c = connect();
    auto held = write(c);
    const auto token = held.token();
    const auto writer = waiting([&] { return start_write(connect()); });
    const auto reader = waiting([&] { return start_read(connect()); });
    const auto node = held.node();
    auto shared = value_of(io, start_downgrade(c, held));
    BOOST_TEST(!held);
    BOOST_TEST(bool(shared));
    BOOST_TEST(is_reader(shared.node()));
    BOOST_TEST(shared.node().substr(shared.node().size() - 10) == node.substr(node.size() - 10));
    BOOST_TEST((shared.token().high() == token.high()));
    BOOST_TEST(queue().size() == 3U);
    const auto local = read(c); // shares the node, while it is not known that others wait
    BOOST_TEST(local.node() == shared.node());
    go_on(io, 5ms);
    BOOST_TEST(!writer.done());
    BOOST_TEST(!reader.done()); // the writer came before it
    shared = {};
    go_on(io, 5ms);
    BOOST_TEST(!writer.done());
}

BOOST_AUTO_TEST_CASE(a_writer_with_a_node_of_its_own_becomes_a_reader)
{
    auto& c = connect();
    const auto strict = with_nodes();
    auto held = write(c, strict);
    auto shared = value_of(io, start_downgrade(c, held));
    BOOST_TEST(bool(shared));
    BOOST_TEST(is_reader(shared.node()));
    BOOST_TEST(wait_for_watches(c, 1)); // on its node
    BOOST_TEST(!shared.loss_reason());
    shared = {};
    check_nothing_left();
}

// Those who had the node before have smaller tokens, whatever it is now.
BOOST_AUTO_TEST_CASE(the_token_does_not_get_smaller)
{
    auto& c = connect();
    const lock_options in_memory{.max_local_time = 1h}; // on a busy machine, too
    auto first = write(c, in_memory);
    const auto second = start_write(c, in_memory);
    const auto third = start_write(c, in_memory);
    const auto node = first.node();
    first = {};
    auto before = value_of(io, second);
    const auto token = before.token();
    before = {};
    auto held = value_of(io, third);
    BOOST_REQUIRE(held.node() == node);
    BOOST_TEST((held.token() > token));
    const auto last = held.token();
    auto shared = value_of(io, start_downgrade(c, held));
    BOOST_TEST((shared.token() >= last));
    const auto reader = read(c, in_memory); // of the same node
    BOOST_TEST(reader.node() == shared.node());
    BOOST_TEST((reader.token() > token));
}

BOOST_AUTO_TEST_CASE(readers_behind_a_writer_come_in_when_it_becomes_one)
{
    auto& c = connect();
    auto held = write(c);
    const auto reader = waiting([&] { return start_read(connect()); });
    const auto writer = waiting([&] { return start_write(connect()); });
    auto shared = value_of(io, start_downgrade(c, held));
    auto other = value_of(io, reader);
    BOOST_TEST((bool(shared) && bool(other)));
    shared = {};
    other = {};
    auto last = value_of(io, writer);
    last = {};
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(local_writers_queue_up_behind_it)
{
    auto& c = connect();
    auto held = write(c);
    const auto next = start_write(c);
    auto shared = value_of(io, start_downgrade(c, held));
    BOOST_TEST(until([&] { return queue().size() == 2U; }));
    BOOST_TEST(!next.done());
    shared = {};
    static_cast<void>(value_of(io, next));
}

BOOST_AUTO_TEST_CASE(G5_a_downgraded_lock_is_lost_like_others)
{
    auto& c = connect();
    auto held = write(c);
    auto shared = value_of(io, start_downgrade(c, held));
    outcome<error_code> lost;
    shared.async_wait_lost(lost.handler());
    BOOST_TEST(wait_for_watches(c, 1));
    admin.remove(shared.node());
    BOOST_TEST(value_of(io, lost) == errc::node_deleted);
    held = write(c);
    admin.remove(held.node());
    BOOST_TEST(code_of(io, start_downgrade(c, held)) == errc::node_deleted);
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G3_the_answer_to_a_downgrade_is_lost)
{
    tcp_proxy proxy{server.connect_string()};
    for (const bool carried_out : {true, false}) {
        auto& c = connect_through(proxy);
        auto held = write(c);
        const auto lost = carried_out ? proxy.on_reply(opcode::multi, reaction::drop_and_cut)
                                      : proxy.on_request(opcode::multi, reaction::drop_and_cut);
        auto shared = value_of(io, start_downgrade(c, held));
        BOOST_TEST(lost.fired() == 1U);
        BOOST_TEST(bool(shared));
        BOOST_TEST(queue().size() == 1U);
        BOOST_TEST(is_reader(queue().front()));
        BOOST_TEST(unlock(shared) == error_code{});
        close_all();
    }
}

BOOST_AUTO_TEST_CASE(G3_a_downgrade_is_cancelled)
{
    tcp_proxy proxy{server.connect_string()};
    auto& c = connect_through(proxy);
    auto held = write(c);
    proxy.refuse(true);
    proxy.cut();
    BOOST_TEST(until([&] { return c.state() == connection_state::suspended; }));
    asio::cancellation_signal signal;
    outcome<shared_lock> result;
    lock_of(c).async_downgrade(std::move(held),
                               asio::bind_cancellation_slot(signal.slot(), result.handler()));
    go_on(io, 2ms);
    BOOST_TEST(!result.done());
    signal.emit(asio::cancellation_type::terminal);
    BOOST_TEST(code_of(io, result) == asio::error::operation_aborted);
    proxy.refuse(false);
    check_nothing_left();
}

// ---- bad input

// A reader has its grant on trial, or by a downgrade, while a second reader of its client waits with a node of its own.
// The first one is done behind the bound, but before it is known who else waits: its node is kept for that news. Then
// the second node is granted, and the first one has to go.
BOOST_AUTO_TEST_CASE(G3_G4_a_second_node_is_granted_while_the_first_one_is_kept_for_news)
{
    const lock_options brief{.max_local_time = 1ms};
    for (const bool downgrades : {false, true}) {
        tcp_proxy proxy{server.connect_string()};
        auto& c = connect_through(proxy);
        auto lock = lock_of(c, brief);
        const opcode_set creates{opcode::create, opcode::create2};
        outcome<shared_lock> first;
        unique_lock written;
        auto granted = proxy.on_reply(downgrades ? opcode_set{opcode::multi} : creates,
                                      reaction::hold, {.path_prefix = directory});
        if (downgrades) {
            written = write(c, brief);
            BOOST_TEST(until([&] { return queue().size() == 1; }));
            first = start_downgrade(c, written);
        } else {
            lock.async_try_lock_shared(first.handler());
        }
        BOOST_TEST(until([&] { return granted.fired() == 1; }));
        auto joined = proxy.on_reply(creates, reaction::hold, {.path_prefix = directory});
        auto second = start_read(c, brief);
        BOOST_TEST(until([&] { return queue().size() == 2; }));
        granted.release();
        auto held = value_of(io, first);
        BOOST_TEST(until([&] { return joined.fired() == 1; }));
        go_on(io, 5ms); // longer than max_local_time
        BOOST_TEST(!second.done());
        BOOST_TEST(unlock(held) == error_code{});
        BOOST_TEST(queue().size() == 2U);
        joined.release();
        auto other = value_of(io, second);
        BOOST_TEST(until([&] { return queue().size() == 1; }));
        BOOST_TEST(bool(other));
        BOOST_TEST(directory + '/' + queue().front() == other.node());
        BOOST_TEST(unlock(other) == error_code{});
        auto writer = write(connect());
        BOOST_TEST(unlock(writer) == error_code{});
        check_nothing_left();
        BOOST_TEST(c.stats().locks_lost == 0U);
        // A downgrade releases the lock, and grants it again.
        BOOST_TEST(c.stats().locks_released == (downgrades ? 3U : 2U));
    }
}

BOOST_AUTO_TEST_CASE(options_without_a_layout_have_that_of_the_kind)
{
    auto& c = connect();
    shared_mutex patient{c, directory, {.linger = 1s}};
    BOOST_TEST((patient.options().layout == curator_shared_layout()));
    outcome<shared_lock> result;
    patient.async_lock_shared(result.handler());
    auto held = value_of(io, result);
    BOOST_TEST(held.node().find("__READ__") != std::string::npos);
    // The object knows where its queue is, and how it is named.
    outcome<queue_view> view;
    async_view_queue(patient, view.handler());
    BOOST_TEST(value_of(io, view).holders().size() == 1U);
    outcome<std::size_t> position, asked;
    async_wait_position(patient, held.node(), position.handler());
    BOOST_TEST(value_of(io, position) == 0U);
    outcome<> revoked;
    held.async_wait_revoked(revoked.handler());
    async_revoke_holders(patient, asked.handler());
    BOOST_TEST(value_of(io, asked) == 1U);
    BOOST_TEST(code_of(io, revoked) == error_code{});
    held = {};
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(bad_input)
{
    auto& c = connect();
    outcome<shared_lock> result;
    shared_mutex{c, directory, {.layout = curator_layout()}}.async_lock_shared(result.handler());
    BOOST_TEST(code_of(io, result) == errc::invalid_option);
    BOOST_TEST(c.last_error_detail().find("curator_shared_layout") != std::string::npos);

    auto held = read(c);
    outcome<unique_lock> exclusive;
    mutex{c, directory}.async_lock(exclusive.handler());
    BOOST_TEST(code_of(io, exclusive) == errc::conflicting_use);

    outcome<shared_lock> of_nothing, of_another;
    lock_of(c).async_downgrade(unique_lock{}, of_nothing.handler());
    BOOST_TEST(code_of(io, of_nothing) == errc::not_held);
    mutex other{c, directory + "-other"};
    outcome<unique_lock> o;
    other.async_lock(o.handler());
    lock_of(c).async_downgrade(value_of(io, o), of_another.handler());
    BOOST_TEST(code_of(io, of_another) == errc::conflicting_use);
    held = {};
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G1_the_guard_of_another_kind_is_no_writer)
{
    auto& c = connect();
    const auto is_refused = [&](auto lock) {
        outcome<unique_lock> o;
        lock.async_lock(o.handler());
        outcome<shared_lock> result;
        shared_mutex{c, lock.path()}.async_downgrade(value_of(io, o), result.handler());
        return code_of(io, result) == errc::conflicting_use;
    };
    BOOST_TEST(is_refused(mutex{c, directory}));
    BOOST_TEST(is_refused(single_node_mutex{c, directory + "-single"}));
}

BOOST_AUTO_TEST_CASE(with_a_body)
{
    auto& c = connect();
    auto lock = lock_of(c);
    int sum = 0;
    bool done = false;
    asio::co_spawn(
        io,
        [&]() -> asio::awaitable<void> {
            sum += co_await lock.async_with_lock_shared(
                [](const shared_lock& held) -> asio::awaitable<int> { co_return held ? 1 : 0; });
            sum += co_await lock.async_with_lock(
                [](const unique_lock& held) -> asio::awaitable<int> { co_return held ? 2 : 0; });
            const auto held = co_await lock.async_lock_shared();
            sum += held ? 4 : 0;
        },
        [&](std::exception_ptr e) {
            BOOST_TEST(!e);
            done = true;
        });
    BOOST_TEST(until([&] { return done; }));
    BOOST_TEST(sum == 7);
    check_nothing_left();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::shared_mutex_test
