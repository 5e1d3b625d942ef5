// The queue over an ensemble of three whose members are killed.
#include <support/lock_scene.hpp>
#include <support/metronome.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <iostream>
#include <list>
#include <string>
#include <utility>
#include <vector>

namespace colock::test::lock_ensemble_test {

namespace {

constexpr auto server_tick = 500ms;

zookeeper_options quick_options()
{
    zookeeper_options options;
    options.tick_time = server_tick;
    options.max_session_timeout = 30s;
    return options;
}

struct ensemble_scene {
    client& connect()
    {
        // With a longer tick than the servers', a client whose writes were lost at all of them stays at the last one
        // for so long, ten ticks, that it may lose its locks.
        return scene.connect(
            {.hosts = link_hosts(ensemble), .session_timeout = 20s, .tick = server_tick});
    }

    void kill_leader() { ensemble[ensemble.wait_for_leader()].kill(); }

    zookeeper_ensemble ensemble{link_servers(quick_options())};
    lock_scene scene{ensemble[0]};
    metronome beat{ensemble.connect_string()};
};

} // namespace

BOOST_AUTO_TEST_SUITE(lock_ensemble)

BOOST_AUTO_TEST_CASE(G4_the_leader_is_killed_while_one_holds_and_others_wait)
{
    ensemble_scene e;
    auto& s = e.scene;
    auto held = s.hold(e.connect());
    std::vector<outcome<unique_lock>> waiting;
    for (int i = 0; i != 4; ++i) {
        waiting.push_back(s.start_waiter(e.connect()));
    }
    e.kill_leader();
    fencing_token before;
    for (const auto& next : waiting) {
        BOOST_TEST((held.token() > before));
        before = held.token();
        BOOST_TEST(static_cast<bool>(held));
        BOOST_TEST(s.unlock(held) == error_code{});
        for (const auto& w : waiting) {
            BOOST_TEST((!w.done() || &w <= &next));
        }
        held = value_of(s.io, next);
    }
    // Once more, and this time the release is under way.
    e.ensemble.start_missing();
    auto last = s.start_lock(s.clients.front());
    outcome<> unlocked;
    held.async_unlock(unlocked.handler());
    e.kill_leader();
    BOOST_TEST(code_of(s.io, unlocked) == error_code{});
    held = value_of(s.io, last);
    BOOST_TEST(s.unlock(held) == error_code{});
    e.ensemble.start_missing();
    admin_session fresh{e.ensemble.connect_string()};
    fresh.sync();
    BOOST_TEST(fresh.children(s.directory).empty());
    for (const auto& c : s.clients) {
        BOOST_TEST(c.stats().sessions == 1U);
        BOOST_TEST(c.stats().contenders == 0U);
    }
}

// A register that refuses tokens smaller than the greatest it has seen, and counts the holders.
BOOST_AUTO_TEST_CASE(G1_turns_go_on_while_members_come_and_go)
{
    ensemble_scene e;
    auto& s = e.scene;
    struct taker {
        client* zk;
        unique_lock held;
        int turns = 0;
        bool stopped = false;
    };
    std::list<taker> takers;
    int holders = 0;
    int most = 0;
    int turns = 0;
    int refused = 0;
    fencing_token greatest;
    bool stop = false;
    std::function<void(taker&)> take_turn = [&](taker& t) {
        if (stop) {
            t.stopped = true;
            return;
        }
        mutex{*t.zk, s.directory}.async_lock([&](error_code ec, unique_lock held) {
            BOOST_REQUIRE_MESSAGE(!ec, ec.message());
            most = std::max(most, ++holders);
            refused += static_cast<int>(held.token() <= greatest);
            greatest = std::max(greatest, held.token());
            t.held = std::move(held);
            asio::post(s.io, [&] {
                BOOST_REQUIRE(t.held);
                --holders;
                ++t.turns;
                ++turns;
                t.held.async_unlock([&](error_code failed) {
                    BOOST_REQUIRE_MESSAGE(!failed, failed.message());
                    take_turn(t);
                });
            });
        });
    };
    for (int i = 0; i != 6; ++i) {
        take_turn(takers.emplace_back(taker{&e.connect(), {}}));
    }
    for (int round = 0; round != repetitions(8); ++round) {
        const auto at_least = turns + 50;
        BOOST_REQUIRE(s.until([&] { return turns >= at_least; }, 60s));
        if (round % 2 == 0) {
            e.kill_leader();
        } else {
            e.ensemble[e.ensemble.followers().front()].kill();
        }
        const auto without_it = turns + 50;
        BOOST_REQUIRE(s.until([&] { return turns >= without_it; }, 60s));
        e.ensemble.start_missing(); // its time is short against the sessions'
    }
    stop = true;
    BOOST_REQUIRE(s.until([&] { return std::ranges::all_of(takers, &taker::stopped); }, 60s));
    BOOST_TEST(most == 1);
    BOOST_TEST(refused == 0);
    for (const auto& c : s.clients) {
        BOOST_TEST(c.stats().sessions == 1U);
        BOOST_TEST(c.stats().contenders == 0U);
    }
    std::cout << turns << " turns while members came and went\n";
    admin_session fresh{e.ensemble.connect_string()};
    fresh.sync();
    BOOST_TEST(fresh.children(s.directory).empty());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::lock_ensemble_test
