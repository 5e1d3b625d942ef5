// Leaders that die, stop, or are cut off, and what becomes of what they had begun.
#include "hand_client.hpp"

#include <boost/test/unit_test.hpp>

using namespace world;
using namespace world::test;
using colock::create_mode;
using colock::zookeeper_errc;

BOOST_AUTO_TEST_SUITE(elections)

BOOST_AUTO_TEST_CASE(three_servers_find_a_leader)
{
    scene s;
    BOOST_TEST(s.wait_for_service());
    BOOST_TEST((s.time.now() < 2s));
}

BOOST_AUTO_TEST_CASE(what_one_server_has_done_the_others_show)
{
    scene s;
    BOOST_REQUIRE(s.wait_for_service());
    hand_client a{s}, b{s};
    BOOST_REQUIRE(a.open(s.follower(0)));
    BOOST_REQUIRE(b.open(*s.servers.leader()));
    BOOST_TEST(!a.create("/a").error);
    BOOST_TEST(!b.exists("/a").error);
    BOOST_TEST(!b.create("/b").error);
    BOOST_TEST(!a.call({.op = opcode::sync, .path = "/"}).error);
    BOOST_TEST(!a.exists("/b").error);
    BOOST_TEST(s.servers.decided().find("/b") != nullptr);
}

BOOST_AUTO_TEST_CASE(a_leader_that_is_killed_is_replaced_and_comes_back)
{
    for (std::uint64_t seed = 1; seed != 30; ++seed) {
        scene s{{}, seed};
        BOOST_REQUIRE(s.wait_for_service());
        const auto old = *s.servers.leader();
        hand_client c{s};
        const auto at = s.follower();
        BOOST_REQUIRE(c.open(at));
        BOOST_TEST(!c.create("/before").error);
        // One that may, or may not, be decided.
        c.send({.op = opcode::create, .path = "/while", .acl = colock::open_acl()});
        s.time.run_until(s.time.now() + std::chrono::microseconds{200 * static_cast<int>(seed)});
        s.servers.machine_of(old).kill();
        BOOST_TEST(s.wait(60s, [&] { return c.ended; }));
        BOOST_REQUIRE(s.wait_for_service());
        BOOST_TEST((*s.servers.leader() != old));
        BOOST_REQUIRE(c.open(at, c.session));
        BOOST_TEST(!c.exists("/before").error);
        BOOST_TEST(!c.create("/after").error);
        const bool happened = !c.exists("/while").error;
        s.servers.start(old);
        BOOST_REQUIRE(s.wait_for_service());
        BOOST_REQUIRE(c.open(old, c.session));
        BOOST_TEST(!c.exists("/after").error);
        BOOST_TEST(!c.exists("/while").error == happened);
        BOOST_TEST((s.servers.decided().find("/while") != nullptr) == happened);
    }
}

BOOST_AUTO_TEST_CASE(what_only_a_cut_off_leader_has_is_undone)
{
    scene s;
    BOOST_REQUIRE(s.wait_for_service());
    const auto old = *s.servers.leader();
    hand_client c{s}, reader{s}, other{s};
    BOOST_REQUIRE(c.open(old, {}, 40s));
    BOOST_REQUIRE(reader.open(old));
    for (const auto i : {s.follower(0), s.follower(1)}) {
        s.net.cut(s.servers.machine_of(old), s.servers.machine_of(i));
        s.net.cut(s.servers.machine_of(i), s.servers.machine_of(old));
    }
    c.send({.op = opcode::create, .path = "/lost", .acl = colock::open_acl()});
    BOOST_TEST(!reader.exists("/").error); // it answers still
    BOOST_TEST(s.wait(60s, [&] { return s.servers.leader() != old; }));
    BOOST_TEST(s.wait(60s, [&] { return c.ended; }));
    BOOST_REQUIRE(other.open(*s.servers.leader()));
    BOOST_TEST(!other.create("/kept").error);
    s.net.mend_all();
    BOOST_REQUIRE(s.wait_for_service());
    BOOST_REQUIRE(c.open(old, c.session));
    BOOST_TEST((c.exists("/lost").error == zookeeper_errc::no_node));
    BOOST_TEST(!c.exists("/kept").error);
}

BOOST_AUTO_TEST_CASE(a_leader_that_stops_is_deserted)
{
    scene s;
    BOOST_REQUIRE(s.wait_for_service());
    const auto old = *s.servers.leader();
    hand_client c{s};
    BOOST_REQUIRE(c.open(s.follower(), {}, 40s));
    s.servers.machine_of(old).stop();
    BOOST_TEST(s.wait(60s, [&] { return c.ended; }));
    BOOST_REQUIRE(s.wait_for_service());
    BOOST_TEST((*s.servers.leader() != old));
    BOOST_REQUIRE(c.open(*s.servers.leader(), c.session));
    BOOST_TEST(!c.create("/a").error);
    s.servers.machine_of(old).go_on();
    BOOST_TEST(s.wait(60s, [&] { return s.servers.seen_by(old).find("/a") != nullptr; }));
    BOOST_REQUIRE(s.wait_for_service());
}

BOOST_AUTO_TEST_CASE(without_a_majority_nobody_serves)
{
    scene s;
    BOOST_REQUIRE(s.wait_for_service());
    const auto left = *s.servers.leader();
    hand_client c{s};
    BOOST_REQUIRE(c.open(left));
    const auto a = s.follower(0), b = s.follower(1);
    s.servers.machine_of(a).kill();
    s.servers.machine_of(b).kill();
    BOOST_TEST(s.wait(60s, [&] { return c.ended; }));
    c.connect(left, c.session);
    BOOST_TEST(s.wait(60s, [&] { return c.ended; })); // it has served, and forgets nobody
    BOOST_TEST(!c.established);
    s.servers.start(a);
    s.servers.start(b);
    BOOST_REQUIRE(s.wait_for_service());
    BOOST_TEST(c.open(left, c.session));
}

BOOST_AUTO_TEST_CASE(a_server_that_is_just_starting_may_forget_a_connection)
{
    std::size_t forgotten = 0, closed = 0;
    for (std::uint64_t seed = 1; seed != 20; ++seed) {
        scene s{{}, seed};
        hand_client c{s};
        c.connect(0);
        s.time.run_until(30s);
        BOOST_TEST(!c.established);
        ++(c.ended ? closed : forgotten);
        BOOST_TEST(c.open(0));
    }
    BOOST_TEST(forgotten > 3u);
    BOOST_TEST(closed > 3u);
}

BOOST_AUTO_TEST_CASE(one_server_is_enough_when_it_is_alone)
{
    scene s{{.servers = 1}};
    BOOST_REQUIRE(s.wait_for_service());
    hand_client c{s};
    BOOST_REQUIRE(c.open(0));
    BOOST_TEST(!c.create("/a").error);
    s.servers.machine_of(0).kill();
    BOOST_TEST(s.wait(60s, [&] { return c.ended; }));
    s.servers.start(0);
    BOOST_REQUIRE(s.wait_for_service());
    BOOST_REQUIRE(c.open(0, c.session));
    BOOST_TEST(!c.exists("/a").error);
}

BOOST_AUTO_TEST_CASE(a_server_that_was_away_for_long_gets_the_whole_tree)
{
    scene s;
    BOOST_REQUIRE(s.wait_for_service());
    const auto away = s.follower(0);
    s.servers.machine_of(away).kill();
    hand_client c{s};
    BOOST_REQUIRE(c.open(*s.servers.leader()));
    for (int i = 0; i != 700; ++i) {
        BOOST_TEST(!c.create("/a", create_mode::persistent_sequential).error);
    }
    s.servers.start(away);
    BOOST_REQUIRE(s.wait_for_service());
    BOOST_REQUIRE(c.open(away, c.session));
    BOOST_TEST(c.call({.op = opcode::children, .path = "/"}).names.size() == 701u);
}

// Servers die, stop and are cut off at any time: what was decided stays, and all become the same in the end.
BOOST_AUTO_TEST_CASE(servers_agree_after_any_trouble)
{
    for (std::uint64_t seed = 1; seed != 300; ++seed) {
        scene s{{.tick = 500ms}, seed};
        world::random chance{seed * 77};
        BOOST_REQUIRE(s.wait_for_service());
        hand_client c{s};
        std::vector<std::string> acknowledged;
        for (int step = 0; step != 60; ++step) {
            const auto which = chance.below(3);
            auto& m = s.servers.machine_of(which);
            switch (chance.below(5)) {
            case 0: m.kill(); break;
            case 1: m.stop(); break;
            case 2: s.net.cut(m, s.servers.machine_of(chance.below(3))); break;
            case 3: s.net.mend_all(); break;
            default: break;
            }
            if (chance.per_mille(400)) {
                for (std::size_t i = 0; i != 3; ++i) {
                    if (!s.servers.machine_of(i).is_alive()) {
                        s.servers.start(i);
                    }
                    s.servers.machine_of(i).go_on();
                }
            }
            s.time.run_until(s.time.now() + chance.between(0ns, 3s));
            const auto at = s.servers.leader();
            if (at && s.servers.machine_of(*at).is_running()) {
                c.connect(*at);
                s.wait(500ms, [&] { return c.established || c.ended; });
                if (c.established) {
                    const auto path = "/n" + std::to_string(step);
                    const auto number =
                        c.send({.op = opcode::create, .path = path, .acl = colock::open_acl()});
                    s.wait(chance.between(0ns, 10ms),
                           [&] { return c.heard.size() > 1 || c.ended; });
                    if (c.heard.size() > 1 && std::get_if<reply>(&c.heard[1]) != nullptr &&
                        std::get<reply>(c.heard[1]).number == number) {
                        acknowledged.push_back(path);
                    }
                }
            }
        }
        s.net.mend_all();
        for (std::size_t i = 0; i != 3; ++i) {
            if (!s.servers.machine_of(i).is_alive()) {
                s.servers.start(i);
            }
            s.servers.machine_of(i).go_on();
        }
        s.time.run_until(s.time.now() + 30s);
        BOOST_REQUIRE(s.wait_for_service());
        s.time.run_until(s.time.now() + 1s);
        BOOST_TEST(!acknowledged.empty());
        for (const auto& path : acknowledged) {
            BOOST_TEST((s.servers.decided().find(path) != nullptr), seed << ": " << path);
        }
        for (std::size_t i = 0; i != 3; ++i) {
            BOOST_TEST(s.servers.seen_by(i).last_zxid() == s.servers.decided().last_zxid());
            BOOST_TEST(s.servers.seen_by(i).size() == s.servers.decided().size());
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
