// What client_stats says of locks: each that was granted is released, lost or held, at every moment.
#include <support/lock_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace colock::test::lock_counters_test {

namespace {

// A guard of any kind.
using any_guard = std::shared_ptr<void>;

struct kind {
    const char* name;
    std::uint64_t locks; // for which the guards below count
    std::function<std::vector<any_guard>(lock_scene&, client&)> hold;
};

template <class Guard, class Start>
any_guard take(lock_scene& s, Start start)
{
    outcome<Guard> o;
    start(o);
    return std::make_shared<Guard>(value_of(s.io, o));
}

any_guard lock(lock_scene& s, const mutex& m)
{
    return take<unique_lock>(s, [&](auto& o) { mutex{m}.async_lock(o.handler()); });
}

const std::vector<kind> kinds{
    {"mutex", 1,
     [](lock_scene& s, client& c) {
         return std::vector{lock(s, {c, s.directory})};
     }},
    {"mutex with a node for each", 1,
     [](lock_scene& s, client& c) {
         return std::vector{lock(s, {c, s.directory, {.max_local_grants = 0}})};
     }},
    {"mutex that lingers", 1,
     [](lock_scene& s, client& c) {
         return std::vector{lock(s, {c, s.directory, {.linger = 10s, .max_linger = 20s}})};
     }},
    {"shared_mutex", 2,
     [](lock_scene& s, client& c) {
         shared_mutex m{c, s.directory};
         const auto share = [&] {
             return take<shared_lock>(s, [&](auto& o) { m.async_lock_shared(o.handler()); });
         };
         return std::vector{share(), share()};
     }},
    {"single_node_mutex", 1,
     [](lock_scene& s, client& c) {
         return std::vector{take<unique_lock>(s, [&](auto& o) {
             single_node_mutex{c, s.directory}.async_lock(o.handler());
         })};
     }},
    {"semaphore", 1,
     [](lock_scene& s, client& c) {
         return std::vector{take<permit>(s, [&](auto& o) {
             semaphore{c, s.directory, 3}.async_acquire(2, o.handler());
         })};
     }},
    {"multi_lock", 3,
     [](lock_scene& s, client& c) {
         return std::vector{take<multi_guard>(s, [&](auto& o) {
             multi_lock all{mutex{c, s.directory + "/a"},
                            mutex{c, s.directory + "/b"},
                            {semaphore{c, s.directory + "/c", 3}, 2}};
             all.async_lock(o.handler());
         })};
     }},
};

struct counters_scene {
    static bool none_held(const client_stats& s)
    {
        return s.locks_granted == s.locks_released + s.locks_lost;
    }

    // As many as the user holds.
    static void check(const client_stats& s, std::uint64_t held)
    {
        BOOST_TEST(s.locks_granted != 0U);
        BOOST_TEST(s.locks_granted == s.locks_released + s.locks_lost + held);
    }

    static void close(lock_scene& s, client& c)
    {
        outcome<> closed;
        c.async_close(closed.handler());
        s.until([&] { return closed.done(); });
        BOOST_TEST(closed.done());
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(lock_counters, counters_scene)

BOOST_AUTO_TEST_CASE(a_lock_that_is_let_go_is_released_at_once)
{
    for (const auto& each : kinds) {
        BOOST_TEST_CONTEXT(each.name)
        {
            lock_scene s;
            auto& c = s.connect();
            auto guards = each.hold(s, c);
            check(c.stats(), each.locks);
            guards.clear();
            BOOST_TEST(s.until([&] { return none_held(c.stats()); }));
            check(c.stats(), 0);
            BOOST_TEST(c.stats().locks_lost == 0U);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_lock_that_is_let_go_just_before_the_client_is_closed_is_released)
{
    for (const auto& each : kinds) {
        BOOST_TEST_CONTEXT(each.name)
        {
            lock_scene s;
            auto& c = s.connect();
            auto guards = each.hold(s, c);
            guards.clear();
            close(s, c);
            check(c.stats(), 0);
            BOOST_TEST(c.stats().locks_lost == 0U);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_lock_that_is_held_when_the_client_is_closed_is_lost)
{
    for (const auto& each : kinds) {
        BOOST_TEST_CONTEXT(each.name)
        {
            lock_scene s;
            auto& c = s.connect();
            auto guards = each.hold(s, c);
            close(s, c);
            check(c.stats(), 0);
            BOOST_TEST(c.stats().locks_lost == each.locks);
            guards.clear();
            check(c.stats(), 0);
            BOOST_TEST(c.stats().locks_lost == each.locks);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_lock_that_is_let_go_while_the_servers_are_away_is_released)
{
    for (const auto& each : kinds) {
        BOOST_TEST_CONTEXT(each.name)
        {
            lock_scene s;
            tcp_proxy proxy{s.server.connect_string()};
            auto& c = s.connect_through(proxy);
            auto guards = each.hold(s, c);
            proxy.refuse(true);
            proxy.cut();
            BOOST_TEST(s.until([&] { return c.state() == connection_state::suspended; }));
            check(c.stats(), each.locks);
            guards.clear();
            BOOST_TEST(s.until([&] { return none_held(c.stats()); }));
            BOOST_TEST(c.state() == connection_state::suspended);
            close(s, c);
            check(c.stats(), 0);
            BOOST_TEST(c.stats().locks_lost == 0U);
        }
    }
}

BOOST_AUTO_TEST_CASE(locks_that_end_with_their_session_are_lost_each_of_them)
{
    for (const auto& each : kinds) {
        BOOST_TEST_CONTEXT(each.name)
        {
            lock_scene s;
            auto& c = s.connect();
            auto guards = each.hold(s, c);
            BOOST_TEST(!kill_session(s.server.connect_string(), c.session_id(), password_of(c)));
            BOOST_TEST(s.until([&] { return c.stats().locks_lost == each.locks; }));
            check(c.stats(), 0);
            BOOST_TEST(c.stats().locks_lost == each.locks);
            guards.clear();
            close(s, c);
            check(c.stats(), 0);
            BOOST_TEST(c.stats().locks_lost == each.locks);
        }
    }
}

BOOST_AUTO_TEST_CASE(
    waiters_that_are_handed_the_lock_are_granted_and_those_that_share_one_node_are_lost)
{
    lock_scene s;
    auto& c = s.connect();
    mutex m{c, s.directory};
    std::vector<outcome<unique_lock>> all(5);
    for (auto& o : all) {
        m.async_lock(o.handler());
    }
    for (std::uint64_t i = 0; i != all.size(); ++i) {
        auto held = value_of(s.io, all[i]);
        check(c.stats(), 1);
        BOOST_TEST(c.stats().locks_released == i);
        if (i == 3) {
            close(s, c); // and the last one waits in vain
            check(c.stats(), 0);
            break;
        }
        if (i % 2 == 0) {
            BOOST_TEST(s.unlock(held) == error_code{});
        }
    }
    all.clear();
    check(c.stats(), 0);
    BOOST_TEST(c.stats().locks_released == 3U);
    BOOST_TEST(c.stats().locks_lost == 1U);
}

BOOST_AUTO_TEST_CASE(a_lock_that_steps_down_is_released_and_granted_again)
{
    lock_scene s;
    auto& c = s.connect();
    shared_mutex m{c, s.directory};
    outcome<unique_lock> locked;
    m.async_lock(locked.handler());
    outcome<shared_lock> shared;
    m.async_downgrade(value_of(s.io, locked), shared.handler());
    {
        const auto held = value_of(s.io, shared);
        check(c.stats(), 1);
    }
    check(c.stats(), 0);
    close(s, c);
    check(c.stats(), 0);
    BOOST_TEST(c.stats().locks_granted == 2U);
    BOOST_TEST(c.stats().locks_lost == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::lock_counters_test
