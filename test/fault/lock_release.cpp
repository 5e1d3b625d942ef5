// A release that no server confirms: it ends at the bound at the latest, and goes on in the background.
#include <support/lock_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <sys/resource.h>

#include <list>
#include <string>
#include <vector>

namespace colock::test::lock_release_test {

namespace {

using clock_type = std::chrono::steady_clock;
using kind = asio::cancellation_type;

constexpr auto timeout = 3s; // of the session
constexpr auto margin = 2s;  // for a busy machine

// A lock, which is released by a contender, and a permit, which is released by its leases.
struct pair_of_releases {
    unique_lock lock;
    permit leases;
    std::vector<std::string> nodes;
    asio::cancellation_signal stop_unlock, stop_release;
    outcome<> unlocked, released;

    void start()
    {
        lock.async_unlock(asio::bind_cancellation_slot(stop_unlock.slot(), unlocked.handler()));
        leases.async_release(asio::bind_cancellation_slot(stop_release.slot(), released.handler()));
    }
    void cancel(kind type)
    {
        stop_unlock.emit(type);
        stop_release.emit(type);
    }
    bool done() const { return unlocked.done() && released.done(); }
    // Both have completed so, once.
    void check(const error_code& expected) const
    {
        BOOST_TEST(unlocked.calls() == 1U);
        BOOST_TEST(unlocked.error() == expected);
        BOOST_TEST(released.calls() == 1U);
        BOOST_TEST(released.error() == expected);
    }
};

// Sessions are short.
zookeeper_server& quick_server()
{
    static zookeeper_server server{link_servers([] {
        zookeeper_options o;
        o.tick_time = 100ms;
        o.min_session_timeout = 1s;
        o.max_session_timeout = timeout;
        return o;
    }())};
    return server;
}

struct release_scene : lock_scene {
    release_scene() : lock_scene{quick_server()} {}

    pair_of_releases& take()
    {
        auto& p = pairs.emplace_back();
        const auto path = directory + "/" + std::to_string(pairs.size());
        outcome<unique_lock> locked;
        mutex{zk, path}.async_lock(locked.handler());
        p.lock = value_of(io, locked);
        outcome<permit> acquired;
        semaphore{zk, path + "s", 1}.async_acquire(1, acquired.handler());
        p.leases = value_of(io, acquired);
        p.nodes = {p.lock.node(), p.leases.nodes().front()};
        // The lock within the semaphore is released in the background.
        BOOST_REQUIRE(until([&] { return zk.stats().contenders == pairs.size(); }));
        before = zk.stats();
        return p;
    }
    bool gone()
    {
        return std::ranges::all_of(pairs, [&](const auto& p) {
            return std::ranges::none_of(p.nodes,
                                        [&](const auto& n) { return admin.exists(n).has_value(); });
        });
    }
    std::uint64_t lost() const { return zk.stats().locks_lost - before.locks_lost; }
    std::uint64_t released() const { return zk.stats().locks_released - before.locks_released; }

    tcp_proxy proxy = link_proxy(server);
    client& zk = connect_through(proxy, {.session_timeout = timeout, .tick = 100ms});
    std::list<pair_of_releases> pairs;
    client_stats before;
};

// Of this thread, which alone runs the client.
std::chrono::microseconds processor_time()
{
    rusage used{};
    ::getrusage(RUSAGE_THREAD, &used);
    return std::chrono::seconds{used.ru_utime.tv_sec + used.ru_stime.tv_sec} +
           std::chrono::microseconds{used.ru_utime.tv_usec + used.ru_stime.tv_usec};
}

} // namespace

BOOST_AUTO_TEST_SUITE(lock_release)

// The servers hear of the client, which does not hear of them: the session lives on, and so do its nodes.
BOOST_AUTO_TEST_CASE(a_release_that_has_ended_at_the_bound_goes_on)
{
    release_scene s;
    auto& held = s.take();
    const auto session = s.zk.session_id();
    auto held_up = s.proxy.on_request({opcode::remove, opcode::multi}, reaction::hold,
                                      {.times = 0, .path_prefix = s.directory});
    const auto safe_until = std::min(held.lock.safe_until(), held.leases.safe_until());
    s.proxy.stall(true, direction::to_client);
    held.start();
    BOOST_REQUIRE(s.until([&] { return held.done(); }, timeout + margin));
    BOOST_TEST((clock_type::now() >= safe_until));
    held.check(errc::safe_until_passed);
    BOOST_TEST(!s.gone());
    BOOST_TEST(s.released() == 2U); // the guards had let go before
    BOOST_TEST(s.lost() == 0U);

    held_up.release();
    s.proxy.stall(false);
    BOOST_TEST(s.until([&] { return s.gone(); }));
    BOOST_TEST(s.until([&] { return s.zk.state() == connection_state::connected; }));
    BOOST_TEST(s.zk.session_id() == session);
    BOOST_TEST(s.until([&] { return s.zk.stats().contenders == 0; }));
    held.check(errc::safe_until_passed); // and not once more
    BOOST_TEST(s.released() == 2U);      // the guards had let go before
    BOOST_TEST(s.lost() == 0U);
}

// Whether its caller waits for the end, has cancelled that, or never waited.
BOOST_AUTO_TEST_CASE(a_release_costs_nothing_while_the_servers_are_away)
{
    release_scene s;
    auto& awaited = s.take();
    auto& terminal = s.take();
    auto& partial = s.take();
    auto& background = s.take();
    s.proxy.refuse(true);
    s.proxy.cut();
    BOOST_REQUIRE(s.until([&] { return s.zk.state() == connection_state::suspended; }));
    awaited.start();
    terminal.start();
    partial.start();
    background.lock = {};
    background.leases = {};
    awaited.cancel(kind::total); // is ignored
    terminal.cancel(kind::terminal);
    partial.cancel(kind::partial);
    BOOST_TEST(s.until([&] { return terminal.done() && partial.done(); }, margin));
    terminal.check(asio::error::operation_aborted);
    partial.check(asio::error::operation_aborted);
    BOOST_TEST(!awaited.done());
    BOOST_TEST(s.until([&] { return awaited.done(); }, timeout + margin));
    awaited.check(errc::safe_until_passed);

    const auto begin = processor_time();
    go_on(s.io, 1s);
    BOOST_TEST((processor_time() - begin < 500ms));

    s.proxy.refuse(false);
    BOOST_TEST(s.until([&] { return s.gone() && s.zk.stats().contenders == 0; }));
    awaited.check(errc::safe_until_passed);
    terminal.check(asio::error::operation_aborted);
    partial.check(asio::error::operation_aborted);
    BOOST_TEST(s.released() == 8U); // all guards had let go before the bound
    BOOST_TEST(s.lost() == 0U);
}

BOOST_AUTO_TEST_CASE(a_lost_permit_is_released_at_once)
{
    release_scene s;
    auto& held = s.take();
    outcome<error_code> lost;
    held.leases.async_wait_lost(lost.handler());
    s.proxy.refuse(true);
    s.proxy.cut();
    BOOST_TEST(value_of(s.io, lost) == errc::safe_until_passed);
    held.start();
    BOOST_TEST(s.until([&] { return held.done(); }, margin));
    held.check(errc::safe_until_passed);
    BOOST_TEST(s.lost() == 2U);
    s.proxy.refuse(false);
    BOOST_TEST(s.until([&] { return s.gone(); }));
    BOOST_TEST(s.lost() == 2U);
    BOOST_TEST(s.released() == 0U);
}

// A leader that was deposed and does not know it says so, too, of a session that lives: nobody knows that the nodes are gone.
BOOST_AUTO_TEST_CASE(a_release_whose_session_ends_first_is_not_confirmed)
{
    release_scene s;
    auto& held = s.take();
    const auto never = s.proxy.on_request({opcode::remove, opcode::multi}, reaction::hold,
                                          {.times = 0, .path_prefix = s.directory});
    held.start();
    BOOST_REQUIRE(!kill_session(s.server.connect_string(), s.zk.session_id(), password_of(s.zk)));
    BOOST_TEST(s.until([&] { return held.done(); }, margin));
    held.check(errc::session_expired);
    BOOST_TEST(s.until([&] { return s.zk.stats().contenders == 0; }));
    BOOST_TEST(s.released() == 2U);
    BOOST_TEST(s.lost() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::lock_release_test
