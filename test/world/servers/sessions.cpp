// How long sessions live at the simulated servers, and what moves with them.
#include "hand_client.hpp"

#include <boost/test/unit_test.hpp>

#include <map>

using namespace world;
using namespace world::test;
using colock::create_mode;
using colock::zookeeper_errc;

namespace {

struct ends : observer {
    explicit ends(const timeline& t) : time{t} {}

    void committed(const transaction& t) override
    {
        if (t.what == transaction::kind::close_session) {
            ended[t.session] = time.now();
            expired[t.session] = t.expired;
        }
    }

    const timeline& time;
    std::map<std::int64_t, instant> ended;
    std::map<std::int64_t, bool> expired;
};

operation a_create(std::string path)
{
    return {.op = opcode::create, .path = std::move(path), .acl = colock::open_acl()};
}

} // namespace

BOOST_AUTO_TEST_SUITE(sessions)

BOOST_AUTO_TEST_CASE(the_time_out_is_kept_within_bounds)
{
    scene s;
    BOOST_REQUIRE(s.wait_for_service());
    hand_client c{s};
    BOOST_REQUIRE(c.open(0, {}, 1s));
    BOOST_TEST((c.timeout == 4s));
    BOOST_REQUIRE(c.open(0, {}, 100s));
    BOOST_TEST((c.timeout == 40s));
    BOOST_REQUIRE(c.open(0, {}, 7s));
    BOOST_TEST((c.timeout == 7s));
}

// At the leader itself: not before the time-out behind the last touch, and at most a tick later.
BOOST_AUTO_TEST_CASE(a_silent_session_expires_in_time)
{
    for (std::uint64_t seed = 1; seed != 50; ++seed) {
        scene s{{}, seed};
        BOOST_REQUIRE(s.wait_for_service());
        ends told{s.time};
        s.servers.observe(&told);
        hand_client c{s};
        BOOST_REQUIRE(c.open(*s.servers.leader(), {}, 5s));
        world::random chance{seed};
        s.time.run_until(s.time.now() + chance.between(0ns, 4s));
        const auto sent = s.time.now();
        BOOST_TEST(!c.create("/e", create_mode::ephemeral).error);
        const auto answered = s.time.now();
        BOOST_TEST(s.wait(60s, [&] { return told.ended.contains(c.session.id); }));
        BOOST_TEST((told.ended[c.session.id] - sent > 5s));
        BOOST_TEST((told.ended[c.session.id] - answered <= 7s + 10ms));
        BOOST_TEST(told.expired[c.session.id]);
        BOOST_TEST((s.servers.decided().find("/e") == nullptr));
        BOOST_TEST(!s.servers.session_lives(c.session.id));
        BOOST_TEST(s.wait(1s, [&] { return c.ended; }));
        s.servers.observe(nullptr);
    }
}

// The leader learns of the clients of a follower twice a tick.
BOOST_AUTO_TEST_CASE(a_follower_tells_the_leader_of_its_sessions_late)
{
    std::chrono::nanoseconds earliest = 1h, latest{0};
    for (std::uint64_t seed = 1; seed != 200; ++seed) {
        scene s{{}, seed};
        BOOST_REQUIRE(s.wait_for_service());
        ends told{s.time};
        s.servers.observe(&told);
        hand_client c{s};
        BOOST_REQUIRE(c.open(s.follower(), {}, 6s));
        world::random chance{seed};
        s.time.run_until(s.time.now() + chance.between(2s, 4s));
        BOOST_TEST(!c.exists("/").error);
        const auto answered = s.time.now();
        BOOST_TEST(s.wait(60s, [&] { return told.ended.contains(c.session.id); }));
        const auto lived = told.ended[c.session.id] - answered;
        earliest = std::min(earliest, lived);
        latest = std::max(latest, lived);
        s.servers.observe(nullptr);
    }
    BOOST_TEST((earliest >= 6s));
    BOOST_TEST((latest > 8s)); // more than a time-out and a tick
    BOOST_TEST((latest <= 9s + 10ms));
}

// So it does not know of them when the follower is cut off: the leader ends the session while the follower answers.
BOOST_AUTO_TEST_CASE(a_session_may_expire_while_its_server_answers)
{
    scene s;
    BOOST_REQUIRE(s.wait_for_service());
    ends told{s.time};
    s.servers.observe(&told);
    hand_client c{s};
    const auto at = s.follower();
    BOOST_REQUIRE(c.open(at, {}, 4s));
    s.net.cut(s.servers.machine_of(at), s.servers.machine_of(*s.servers.leader()));
    s.net.cut(s.servers.machine_of(*s.servers.leader()), s.servers.machine_of(at));
    const auto cut = s.time.now();
    while (!told.ended.contains(c.session.id)) {
        BOOST_REQUIRE(!c.exists("/").error);
        s.time.run_until(s.time.now() + 100ms);
    }
    BOOST_TEST((s.time.now() - cut < 7s));
    BOOST_TEST(!c.exists("/").error); // still
    BOOST_TEST(s.wait(60s, [&] { return c.ended; }));
    s.servers.observe(nullptr);
}

BOOST_AUTO_TEST_CASE(pings_keep_a_session_alive)
{
    scene s;
    BOOST_REQUIRE(s.wait_for_service());
    hand_client c{s};
    BOOST_REQUIRE(c.open(s.follower(), {}, 4s));
    for (int i = 0; i != 60; ++i) {
        c.ping();
        s.time.run_until(s.time.now() + 1s);
    }
    BOOST_TEST(!c.ended);
    BOOST_TEST(s.servers.session_lives(c.session.id));
}

BOOST_AUTO_TEST_CASE(a_session_ends_with_its_nodes_in_one_transaction)
{
    scene s;
    BOOST_REQUIRE(s.wait_for_service());
    hand_client c{s};
    BOOST_REQUIRE(c.open(s.follower()));
    for (int i = 0; i != 3; ++i) {
        BOOST_TEST(!c.create("/e", create_mode::ephemeral_sequential).error);
    }
    // One that is being decided when the session is closed.
    c.send({.op = opcode::create,
            .path = "/last",
            .mode = create_mode::ephemeral,
            .acl = colock::open_acl()});
    const auto before = s.servers.decided().last_zxid();
    c.link->send(close_request{});
    BOOST_TEST(s.wait(10s, [&] { return c.ended; }));
    BOOST_TEST(std::holds_alternative<close_reply>(c.heard.back()));
    BOOST_TEST(s.servers.decided().last_zxid() == before + 2);
    BOOST_TEST(s.servers.decided().size() == 4u); // "/", and what is in /zookeeper
    BOOST_TEST(!s.servers.session_lives(c.session.id));
    // It is gone for good.
    BOOST_TEST(!c.open(s.follower(), c.session));
    BOOST_REQUIRE(!c.heard.empty());
    BOOST_TEST(std::get<connect_reply>(c.heard[0]).session.id == 0);
}

BOOST_AUTO_TEST_CASE(a_wrong_password_is_refused)
{
    scene s;
    BOOST_REQUIRE(s.wait_for_service());
    hand_client c{s};
    BOOST_REQUIRE(c.open(0));
    auto wrong = c.session;
    wrong.password[3] ^= 1;
    hand_client thief{s};
    BOOST_TEST(!thief.open(1, wrong));
    BOOST_TEST(std::get<connect_reply>(thief.heard.at(0)).session.id == 0);
    BOOST_TEST(!c.exists("/").error);
}

BOOST_AUTO_TEST_CASE(a_session_that_has_moved_writes_at_its_new_server_only)
{
    scene s;
    BOOST_REQUIRE(s.wait_for_service());
    hand_client old{s}, now{s};
    BOOST_REQUIRE(old.open(s.follower(0)));
    BOOST_REQUIRE(now.open(s.follower(1), old.session));
    BOOST_TEST(!now.create("/new").error);
    BOOST_TEST(!old.ended);
    BOOST_TEST((old.create("/old").error ==
                zookeeper_errc::closing)); // the connection ends without an answer
    BOOST_TEST(old.ended);
    BOOST_TEST((now.exists("/old").error == zookeeper_errc::no_node));
    // At the same server the second connection ends the first one.
    hand_client third{s};
    BOOST_REQUIRE(third.open(s.follower(1), now.session));
    BOOST_TEST(s.wait(1s, [&] { return now.ended; }));
    BOOST_TEST(!third.create("/third").error);
}

// docs/internals/session.md, "Old writes", steps 1 to 3: with the threads of the servers so busy that the overtaking is
// certain.
BOOST_AUTO_TEST_CASE(an_old_write_is_carried_out_behind_the_barrier)
{
    std::size_t late = 0, refused = 0;
    for (std::uint64_t seed = 1; seed != 20; ++seed) {
        for (const bool try_again : {true, false}) {
            scene s{{.threads = {1000, 20ms}}, seed};
            BOOST_REQUIRE(s.wait_for_service());
            const auto a = s.follower(0), b = s.follower(1);
            hand_client c{s};
            BOOST_REQUIRE(c.open(a, {}, 20s));
            BOOST_TEST(!c.create("/before").error);
            s.servers.machine_of(a).stop();
            c.send(a_create("/late"));
            s.time.run_until(s.time.now() + 1s);
            if (try_again) {
                c.connect(a, c.session, 20s);
                s.time.run_until(s.time.now() + 1s);
            }
            hand_client moved{s};
            BOOST_REQUIRE(moved.open(b, c.session, 20s));
            c.hang_up();
            // The barrier.
            BOOST_TEST(!moved.call({.op = opcode::multi, .ops = {colock::check_op("/")}}).error);
            BOOST_TEST((moved.exists("/late").error == zookeeper_errc::no_node));
            s.servers.machine_of(a).go_on();
            s.time.run_until(s.time.now() + 1s);
            const bool happened = s.servers.decided().find("/late") != nullptr;
            BOOST_TEST((try_again || !happened));
            ++(happened ? late : refused);
        }
    }
    BOOST_TEST(late > 5u);
    BOOST_TEST(refused > 5u);
}

// A follower finds the connection that the leader's answer is for by the session alone (pendingRevalidations in
// Learner.java). So the answer to an attempt that was given up serves the next one. The question of that one makes the
// follower the owner later, and is followed by all that was sent meanwhile.
BOOST_AUTO_TEST_CASE(the_answer_to_an_earlier_attempt_is_no_proof)
{
    scene s;
    BOOST_REQUIRE(s.wait_for_service());
    const auto a = s.follower(0), b = s.follower(1);
    auto &follower = s.servers.machine_of(a), &leader = s.servers.machine_of(*s.servers.leader());
    hand_client first{s}, second{s}, moved{s};
    BOOST_REQUIRE(first.open(b, {}, 20s));
    s.net.delay_one_way(leader, follower, 200ms, 200ms);
    first.connect(a, first.session, 20s);
    s.time.run_until(s.time.now() + 100ms); // the leader has answered
    first.hang_up();
    s.net.cut(follower, leader);
    BOOST_REQUIRE(second.open(a, first.session, 20s));
    second.send({.op = opcode::multi, .ops = {colock::check_op("/")}});
    second.send(a_create("/late"));
    s.time.run_until(s.time.now() + 500ms);
    BOOST_TEST(second.heard.size() == 1u); // no answer to the barrier
    second.hang_up();
    BOOST_REQUIRE(moved.open(b, first.session, 20s));
    BOOST_TEST(!moved.call({.op = opcode::multi, .ops = {colock::check_op("/")}}).error);
    BOOST_TEST((moved.exists("/late").error == zookeeper_errc::no_node));
    s.net.mend(follower, leader);
    BOOST_TEST(s.wait(5s, [&] { return s.servers.decided().find("/late") != nullptr; }));
}

// What lies in the socket of a server that has closed the connection cannot come any more.
BOOST_AUTO_TEST_CASE(the_end_of_a_connection_comes_behind_its_writes)
{
    scene s;
    BOOST_REQUIRE(s.wait_for_service());
    const auto a = s.follower(0);
    hand_client c{s};
    BOOST_REQUIRE(c.open(a));
    s.servers.machine_of(a).stop();
    c.send(a_create("/a"));
    c.link->shut_down();
    s.time.run_until(s.time.now() + 2s);
    BOOST_TEST(!c.ended);
    s.servers.machine_of(a).go_on();
    BOOST_TEST(s.wait(1s, [&] { return c.ended; }));
    hand_client again{s};
    BOOST_REQUIRE(again.open(a, c.session));
    BOOST_TEST(!again.call({.op = opcode::multi, .ops = {colock::check_op("/")}}).error);
    BOOST_TEST(!again.exists("/a").error);
}

// A new leader has heard of nobody.
BOOST_AUTO_TEST_CASE(a_new_leader_gives_each_session_its_whole_time)
{
    scene s;
    BOOST_REQUIRE(s.wait_for_service());
    ends told{s.time};
    s.servers.observe(&told);
    hand_client c{s};
    BOOST_REQUIRE(c.open(s.follower(), {}, 10s));
    s.time.run_until(s.time.now() + 9s);
    s.servers.machine_of(*s.servers.leader()).kill();
    BOOST_REQUIRE(s.wait_for_service());
    const auto elected = s.time.now();
    BOOST_TEST(s.wait(60s, [&] { return told.ended.contains(c.session.id); }));
    BOOST_TEST((s.time.now() - elected >= 10s));
    BOOST_TEST((s.time.now() - elected <= 12s + 100ms));
    s.servers.observe(nullptr);
}

BOOST_AUTO_TEST_CASE(a_silent_connection_is_closed)
{
    scene s;
    BOOST_REQUIRE(s.wait_for_service());
    hand_client c{s};
    c.link = s.net.connect(c.host, s.servers.address(0), {.ended = [&] { c.ended = true; }});
    BOOST_TEST(s.wait(21s, [&] { return c.ended; }));
    BOOST_TEST(s.servers.connections() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
