// The lock that is one ephemeral node, without a queue, against a real server.
#include <support/lock_scene.hpp>
#include <support/requests_of.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <string>
#include <utility>
#include <vector>

namespace colock::test::single_node_mutex_test {

namespace {

// Never pings within a test.
const client_options quiet{.session_timeout = 40s};

struct single_scene : lock_scene {
    single_node_mutex lock_of(client& c, lock_options o = {})
    {
        return {c, directory, std::move(o)};
    }
    outcome<unique_lock> start(client& c, lock_options o = {})
    {
        outcome<unique_lock> result;
        lock_of(c, std::move(o)).async_lock(result.handler());
        return result;
    }
    unique_lock take(client& c, lock_options o = {})
    {
        return value_of(io, start(c, std::move(o)));
    }
    outcome<unique_lock> start_try(client& c)
    {
        outcome<unique_lock> result;
        lock_of(c).async_try_lock(result.handler());
        return result;
    }
    // One that has to wait: returns once it watches the node.
    outcome<unique_lock> waiting(client& c, lock_options o = {})
    {
        auto result = start(c, std::move(o));
        BOOST_TEST(wait_for_watches(c, 1));
        BOOST_TEST(!result.done());
        return result;
    }
    // Whose the node is; 0 when there is none.
    std::int64_t owner()
    {
        const auto found = admin.exists(directory);
        return found ? found->ephemeral_owner : 0;
    }
    void end_session(client& c)
    {
        const auto refused = kill_session(server.connect_string(), c.session_id(), password_of(c));
        BOOST_TEST(!refused);
    }
    void check_free()
    {
        BOOST_TEST(until([&] { return !admin.exists(directory); }), "the node is left");
        check_nothing_left();
    }
};

// Locks by the plain recipe, as kazoo's or Curator's users write it: create, else watch, and try again.
class foreign_service {
public:
    foreign_service(client& c, std::string path) : client_{c}, path_{std::move(path)} {}

    asio::awaitable<void> lock()
    {
        for (;;) {
            const create_options ephemeral{.mode = create_mode::ephemeral};
            auto [ec, made] = co_await client_.async_create(path_, "foreign", ephemeral, as_tuple);
            if (!ec) {
                co_return;
            }
            if (ec != zookeeper_errc::node_exists) {
                throw boost::system::system_error{ec};
            }
            auto [missing, node] = co_await client_.async_watch(path_, as_tuple);
            if (!missing) {
                co_await node.changes.async_wait(asio::use_awaitable);
            }
        }
    }
    asio::awaitable<void> unlock()
    {
        co_await client_.async_remove(path_, any_version, asio::use_awaitable);
    }

private:
    static constexpr auto as_tuple = asio::as_tuple(asio::use_awaitable);

    client& client_;
    std::string path_;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(single_node_mutex_cases, single_scene)

BOOST_AUTO_TEST_CASE(G1_G4_one_holds_it_and_the_next_is_woken)
{
    auto& a = connect();
    auto& b = connect();
    auto held = take(a);
    BOOST_TEST(bool(held));
    BOOST_TEST(held.node() == directory);
    BOOST_TEST(held.path() == directory);
    BOOST_TEST(owner() == a.session_id());
    const auto next = waiting(b);
    const auto token = held.token();
    BOOST_TEST(token ==
               fencing_token(static_cast<std::uint64_t>(admin.exists(directory)->czxid), 0));
    BOOST_TEST(unlock(held) == error_code{});
    held = value_of(io, next);
    BOOST_TEST(owner() == b.session_id());
    BOOST_TEST((held.token() > token));
    BOOST_TEST(unlock(held) == error_code{});
    check_free();
}

BOOST_AUTO_TEST_CASE(one_write_takes_it_and_one_gives_it_back)
{
    tcp_proxy proxy{server.connect_string()};
    auto& c = connect_through(proxy, quiet);
    constexpr int cycles = 100;
    const auto received = server.packets_received();
    const auto requests = requests_of(c);
    for (int i = 0; i != cycles; ++i) {
        auto held = take(c);
        BOOST_REQUIRE(unlock(held) == error_code{});
    }
    BOOST_TEST(requests_of(c) - requests == 2U * cycles);
    BOOST_TEST(server.packets_received() - received == 2 * cycles);
    BOOST_TEST(proxy.requests(any_create()) == std::size_t{cycles});
    BOOST_TEST(proxy.requests(opcode::remove) == std::size_t{cycles});
    check_free();
}

BOOST_AUTO_TEST_CASE(a_try_costs_a_read_and_writes_only_when_it_is_free)
{
    auto& c = connect(quiet);
    auto held = take(connect(quiet));
    const auto before = requests_of(c);
    const auto czxid = admin.exists(directory)->czxid;
    BOOST_TEST(!value_of(io, start_try(c)));
    BOOST_TEST(requests_of(c) - before == 1U);
    BOOST_TEST(admin.exists(directory)->czxid == czxid);
    BOOST_TEST(unlock(held) == error_code{});
    held = value_of(io, start_try(c));
    BOOST_TEST(bool(held));
    BOOST_TEST(requests_of(c) - before == 3U);
    BOOST_TEST(!value_of(io, start_try(c))); // known here
    BOOST_TEST(requests_of(c) - before == 3U);
    BOOST_TEST(unlock(held) == error_code{});
    check_free();
}

BOOST_AUTO_TEST_CASE(a_waiter_writes_nothing_while_it_waits)
{
    auto held = take(connect());
    auto& c = connect(quiet);
    const auto before = requests_of(c);
    const auto next = waiting(c);
    BOOST_TEST(requests_of(c) - before == 2U); // a create in vain, the read that watches
    held = {};
    held = value_of(io, next);
    BOOST_TEST(requests_of(c) - before == 3U);
    BOOST_TEST(unlock(held) == error_code{});
    check_free();
}

BOOST_AUTO_TEST_CASE(missing_parents_are_created_as_containers)
{
    tcp_proxy proxy{server.connect_string()};
    auto& c = connect_through(proxy);
    const auto path = directory + "/a/b";
    outcome<unique_lock> o;
    single_node_mutex{c, path}.async_lock(o.handler());
    auto held = value_of(io, o);
    BOOST_TEST(admin.exists(path)->ephemeral_owner == c.session_id());
    BOOST_TEST(proxy.requests(opcode::create_container) == 2U);
    BOOST_TEST(unlock(held) == error_code{});
    BOOST_TEST(!admin.exists(path));
    admin.remove_if_there(directory + "/a");
    admin.remove_if_there(directory);
}

BOOST_AUTO_TEST_CASE(G3_one_who_cancels_leaves_nothing_behind)
{
    auto& c = connect();
    auto held = take(connect());
    for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::total}) {
        for (const bool at_once : {true, false}) {
            asio::cancellation_signal signal;
            outcome<unique_lock> o;
            lock_of(c).async_lock(asio::bind_cancellation_slot(signal.slot(), o.handler()));
            if (!at_once) {
                BOOST_TEST(wait_for_watches(c, 1));
            }
            signal.emit(type);
            BOOST_TEST(code_of(io, o) == asio::error::operation_aborted);
            BOOST_TEST(until([&] { return c.stats().contenders == 0; }));
            BOOST_TEST(wait_for_watches(c, 0));
        }
    }
    BOOST_TEST(bool(held));
    held = {};
    // While the create is under way.
    asio::cancellation_signal signal;
    outcome<unique_lock> o;
    lock_of(c).async_lock(asio::bind_cancellation_slot(signal.slot(), o.handler()));
    signal.emit(asio::cancellation_type::terminal);
    BOOST_TEST(code_of(io, o) == asio::error::operation_aborted);
    check_free();
}

BOOST_AUTO_TEST_CASE(G4_G5_the_holders_session_ends)
{
    auto& a = connect();
    auto& b = connect();
    auto held = take(a);
    const auto next = waiting(b);
    end_session(a);
    auto another = value_of(io, next);
    BOOST_TEST(bool(another));
    BOOST_TEST(until([&] { return held.loss_reason() == errc::session_expired; }));
    held = {}; // harmless
    go_on(io, 5ms);
    BOOST_TEST(owner() == b.session_id());
    BOOST_TEST(unlock(another) == error_code{});
    check_free();
}

BOOST_AUTO_TEST_CASE(G5_the_node_is_deleted_by_hand_and_that_of_the_next_one_is_left_alone)
{
    auto& a = connect();
    auto& b = connect();
    auto held = take(a);
    BOOST_TEST(wait_for_watches(a, 1)); // held for long enough
    const auto next = waiting(b);
    outcome<error_code> lost;
    held.async_wait_lost(lost.handler());
    admin.remove(directory);
    BOOST_TEST(value_of(io, lost) == errc::node_deleted);
    auto another = value_of(io, next);
    BOOST_TEST(unlock(held) == errc::node_deleted);
    BOOST_TEST(owner() == b.session_id());
    BOOST_TEST(another.loss_reason() == error_code{});
    BOOST_TEST(unlock(another) == error_code{});
    check_free();
}

BOOST_AUTO_TEST_CASE(G5_it_was_deleted_by_hand_and_that_shows_at_the_release)
{
    auto& c = connect();
    auto held = take(c);
    admin.remove(directory);
    BOOST_TEST(unlock(held) == errc::node_deleted);
    check_free();
}

BOOST_AUTO_TEST_CASE(a_node_that_is_not_ephemeral_is_an_error)
{
    auto& c = connect();
    admin.create(directory);
    BOOST_TEST(code_of(io, start(c)) == errc::not_ephemeral);
    BOOST_TEST(code_of(io, start_try(c)) == errc::not_ephemeral);
    outcome<unique_lock> timed;
    lock_of(c).async_try_lock_for(60s, timed.handler());
    BOOST_TEST(code_of(io, timed) == errc::not_ephemeral);
    BOOST_TEST(c.last_error_detail().find(directory) != std::string::npos);
    BOOST_TEST(admin.exists(directory).has_value());
    BOOST_TEST(until([&] { return watches_of(c).empty(); }));
    admin.remove(directory);
    // The directory of a queue, which is a container.
    static_cast<void>(hold(connect()));
    BOOST_TEST(code_of(io, start(c)) == errc::not_ephemeral);
    BOOST_TEST(until([&] { return queue().empty(); }));
    admin.remove(directory);
    // It comes while somebody waits.
    auto held = take(connect());
    const auto next = waiting(c);
    admin.remove(directory);
    try {
        admin.create(directory);
        BOOST_TEST(code_of(io, next) == errc::not_ephemeral);
        admin.remove(directory);
    } catch (const admin_error&) { // the waiter was quicker
        static_cast<void>(value_of(io, next));
    }
    held = {};
    check_free();
}

BOOST_AUTO_TEST_CASE(bad_input)
{
    auto& c = connect();
    outcome<unique_lock> root;
    single_node_mutex{c, "/"}.async_lock(root.handler());
    BOOST_TEST(code_of(io, root) == errc::invalid_path);
    const auto refuses = [&](lock_options o, const char* names) {
        BOOST_TEST(code_of(io, start(c, std::move(o))) == errc::invalid_option);
        BOOST_TEST(c.last_error_detail().find(names) != std::string::npos, c.last_error_detail());
    };
    refuses({.linger = 1ms}, "the option linger");
    refuses({.max_linger = 1ms}, "the option max_linger");
    refuses({.layout = curator_layout()}, "the option layout");
    auto held = take(c);
    BOOST_TEST(code_of(io, start_lock(c)) == errc::conflicting_use);
    BOOST_TEST(code_of(io, start(c, {.max_local_grants = 1})) == errc::conflicting_use);
    BOOST_CHECK_EXCEPTION(static_cast<void>(held.guarded({})), boost::system::system_error,
                          [](const auto& e) { return e.code() == errc::cannot_guard; });
    BOOST_TEST(unlock(held) == error_code{});
    BOOST_TEST(until([&] { return c.stats().contenders == 0; }));
    // The path is free again for another kind.
    auto other = hold(c);
    BOOST_TEST(code_of(io, start(c)) == errc::conflicting_use);
    BOOST_TEST(unlock(other) == error_code{});
}

BOOST_AUTO_TEST_CASE(those_of_one_client_are_let_in_in_their_order_on_one_node)
{
    auto& c = connect();
    const lock_options many{.max_local_grants = 1000, .max_local_time = 1h};
    std::vector<outcome<unique_lock>> all;
    for (int i = 0; i != 50; ++i) {
        all.push_back(start(c, many));
    }
    fencing_token last;
    std::uint64_t node = 0;
    for (std::size_t i = 0; i != all.size(); ++i) {
        auto held = value_of(io, all[i]);
        BOOST_TEST((i + 1 == all.size() || !all[i + 1].done()));
        BOOST_TEST((held.token() > last));
        last = held.token();
        const auto here = static_cast<std::uint64_t>(admin.exists(directory)->czxid);
        BOOST_TEST((node == 0 || node == here));
        node = here;
    }
    check_free();
}

BOOST_AUTO_TEST_CASE(with_no_local_grants_each_has_a_node_of_its_own)
{
    auto& c = connect();
    const lock_options none{.max_local_grants = 0};
    std::vector<outcome<unique_lock>> all;
    for (int i = 0; i != 10; ++i) {
        all.push_back(start(c, none));
    }
    std::set<std::int64_t> nodes;
    for (const auto& each : all) {
        auto held = value_of(io, each);
        nodes.insert(admin.exists(directory)->czxid);
        BOOST_TEST(unlock(held) == error_code{});
    }
    BOOST_TEST(nodes.size() == all.size());
    check_free();
}

// No promise, but each change of hands is a race with equal chances.
BOOST_AUTO_TEST_CASE(others_get_a_chance_though_one_client_has_many_waiters)
{
    auto& c = connect();
    const lock_options none{.max_local_grants = 0};
    std::vector<outcome<unique_lock>> all;
    all.push_back(start(c, none));
    auto held = value_of(io, all.front());
    const auto stranger = waiting(connect(), none);
    for (int i = 0; i != 300; ++i) {
        all.push_back(start(c, none));
    }
    std::size_t next = 1;
    held = {};
    BOOST_TEST(until([&] {
        if (next != all.size() && all[next].done()) {
            held = value_of(io, all[next++]);
            held = {};
        }
        return stranger.done() || next == all.size();
    }));
    BOOST_TEST(stranger.done());
    held = value_of(io, stranger);
    held = {};
    for (; next != all.size(); ++next) {
        held = value_of(io, all[next]);
        held = {};
    }
    check_free();
}

BOOST_AUTO_TEST_CASE(G1_beside_a_foreign_service)
{
    constexpr int turns = 40;
    int inside = 0, ours = 0, theirs = 0;
    std::vector<client*> all;
    for (int i = 0; i != 4; ++i) {
        all.push_back(&connect());
    }
    const auto stay = [&]() -> asio::awaitable<void> {
        BOOST_TEST(++inside == 1);
        co_await all[0]->async_exists("/", asio::use_awaitable); // others may run
        --inside;
    };
    const auto foreign = [&](client& c) -> asio::awaitable<void> {
        foreign_service lock{c, directory};
        for (int i = 0; i != turns; ++i) {
            co_await lock.lock();
            co_await stay();
            co_await lock.unlock();
            ++theirs;
        }
    };
    const auto own = [&](client& c) -> asio::awaitable<void> {
        single_node_mutex lock{c, directory};
        for (int i = 0; i != turns; ++i) {
            auto held = co_await lock.async_lock(asio::use_awaitable);
            co_await stay();
            co_await held.async_unlock(asio::use_awaitable);
            ++ours;
        }
    };
    const auto rethrow = [](const std::exception_ptr& e) {
        if (e) {
            std::rethrow_exception(e);
        }
    };
    asio::co_spawn(io, foreign(*all[0]), rethrow);
    asio::co_spawn(io, foreign(*all[1]), rethrow);
    asio::co_spawn(io, own(*all[2]), rethrow);
    asio::co_spawn(io, own(*all[3]), rethrow);
    BOOST_TEST(until([&] { return ours == 2 * turns && theirs == 2 * turns; }, 60s));
    check_free();
}

BOOST_AUTO_TEST_CASE(G3_a_create_whose_reply_is_lost_is_found_and_not_made_twice)
{
    tcp_proxy proxy{server.connect_string()};
    auto& c = connect_through(proxy);
    auto lost = proxy.on_reply(any_create(), reaction::drop_and_cut);
    auto held = take(c);
    BOOST_TEST(lost.fired() == 1U);
    BOOST_TEST(proxy.requests(any_create()) == 1U);
    BOOST_TEST((held.token() ==
                fencing_token{static_cast<std::uint64_t>(admin.exists(directory)->czxid), 0}));
    BOOST_TEST(unlock(held) == error_code{});
    check_free();
}

BOOST_AUTO_TEST_CASE(G3_it_is_cancelled_and_its_creates_reply_is_lost)
{
    tcp_proxy proxy{server.connect_string()};
    auto& c = connect_through(proxy);
    proxy.refuse(true); // it comes back behind the cancellation only
    auto lost = proxy.on_reply(any_create(), reaction::drop_and_cut);
    asio::cancellation_signal signal;
    outcome<unique_lock> o;
    lock_of(c).async_lock(asio::bind_cancellation_slot(signal.slot(), o.handler()));
    BOOST_TEST(until([&] { return proxy.requests(any_create()) == 1U; }));
    signal.emit(asio::cancellation_type::total);
    proxy.refuse(false);
    BOOST_TEST(code_of(io, o) == asio::error::operation_aborted);
    BOOST_TEST(lost.fired() == 1U);
    check_free();
}

// The remove was carried out, and the path is somebody else's when that is asked.
BOOST_AUTO_TEST_CASE(G1_a_remove_whose_reply_is_lost_does_not_hit_the_next_ones_node)
{
    tcp_proxy proxy{server.connect_string()};
    auto& a = connect_through(proxy);
    auto& b = connect();
    auto held = take(a);
    const auto next = waiting(b);
    auto lost = proxy.on_reply(opcode::remove, reaction::drop_and_cut);
    BOOST_TEST(unlock(held) == error_code{});
    BOOST_TEST(lost.fired() == 1U);
    BOOST_TEST(proxy.requests(opcode::remove) == 1U);
    auto another = value_of(io, next);
    BOOST_TEST(owner() == b.session_id());
    BOOST_TEST(unlock(another) == error_code{});
    check_free();
}

BOOST_AUTO_TEST_CASE(G3_a_remove_that_never_reached_the_server_is_sent_again)
{
    tcp_proxy proxy{server.connect_string()};
    auto& c = connect_through(proxy);
    auto held = take(c);
    auto lost = proxy.on_request(opcode::remove, reaction::drop_and_cut);
    BOOST_TEST(unlock(held) == error_code{});
    BOOST_TEST(lost.fired() == 1U);
    check_free();
}

// Those of one client share a session: whose a node is cannot be seen, but is known.
BOOST_AUTO_TEST_CASE(G1_several_of_one_client_and_lost_replies)
{
    tcp_proxy proxy{server.connect_string()};
    auto& c = connect_through(proxy);
    const lock_options none{.max_local_grants = 0};
    for (const auto& which : {any_create(), opcode_set{opcode::remove}}) {
        auto lost = proxy.on_reply(which, reaction::drop_and_cut, {.nth = 2, .times = 2});
        std::vector<outcome<unique_lock>> all;
        for (int i = 0; i != 6; ++i) {
            all.push_back(start(c, none));
        }
        for (std::size_t i = 0; i != all.size(); ++i) {
            auto held = value_of(io, all[i]);
            BOOST_TEST(static_cast<std::uint64_t>(admin.exists(directory)->czxid) ==
                       held.token().high());
            BOOST_TEST((i + 1 == all.size() || !all[i + 1].done()));
        }
        BOOST_TEST(lost.fired() == 2U);
        proxy.clear_rules();
    }
    check_free();
}

BOOST_AUTO_TEST_CASE(G4_it_is_released_while_a_waiter_has_no_connection)
{
    tcp_proxy proxy{server.connect_string()};
    auto& c = connect_through(proxy);
    auto held = take(connect());
    const auto next = waiting(c);
    proxy.refuse(true);
    proxy.cut();
    BOOST_TEST(until([&] { return c.state() == connection_state::suspended; }));
    BOOST_TEST(unlock(held) == error_code{});
    BOOST_TEST(!next.done());
    proxy.refuse(false);
    held = value_of(io, next);
    BOOST_TEST(unlock(held) == error_code{});
    check_free();
}

BOOST_AUTO_TEST_CASE(G4_a_waiters_session_ends)
{
    auto& patient = connect();
    auto& other = connect();
    auto held = take(connect());
    const auto next = waiting(patient);
    const auto refused = waiting(other, {.rejoin_on_expiry = false});
    end_session(patient);
    end_session(other);
    BOOST_TEST(code_of(io, refused) == errc::session_expired);
    BOOST_TEST(until([&] { return patient.stats().sessions == 2U; }));
    held = {};
    held = value_of(io, next);
    BOOST_TEST(owner() == patient.session_id());
    held = {};
    check_free();
}

BOOST_AUTO_TEST_CASE(a_holder_is_asked_to_let_go)
{
    auto& c = connect();
    auto held = take(c);
    outcome<> asked;
    held.async_wait_revoked(asked.handler());
    BOOST_TEST(wait_for_watches(c, 1));
    admin.set(directory, "__REVOKE__");
    BOOST_TEST(code_of(io, asked) == error_code{});
    BOOST_TEST(unlock(held) == error_code{});
    check_free();
}

BOOST_AUTO_TEST_CASE(together_with_others)
{
    auto& c = connect();
    const auto queued = fresh_directory();
    multi_lock both{lock_of(c), mutex{c, queued}};
    outcome<multi_guard> o;
    both.async_lock(o.handler());
    auto held = value_of(io, o);
    BOOST_TEST(owner() == c.session_id());
    BOOST_TEST(!value_of(io, start_try(connect())));
    auto& other = connect();
    outcome<multi_guard> in_vain;
    multi_lock{lock_of(other), mutex{other, queued}}.async_try_lock(in_vain.handler());
    BOOST_TEST(!value_of(io, in_vain));
    held = {};
    BOOST_TEST(until([&] { return queue_of(queued).empty(); }));
    check_free();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::single_node_mutex_test
