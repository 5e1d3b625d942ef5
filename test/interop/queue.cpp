// Processes of colock's and of another library in one queue, on a real server.
#include <support/admin_session.hpp>
#include <support/wait_until.hpp>

#include "peer_process.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <list>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace colock::test;

namespace {

// The scene of one other library.
struct scene {
    explicit scene(std::string n) : name{std::move(n)} { admin().create_path(path); }

    // For a moment: it sends no heartbeats.
    admin_session admin() const { return admin_session{server.connect_string()}; }

    peer& ours()
    {
        return processes.emplace_back(std::vector<std::string>{COLOCK_PEER, name},
                                      server.connect_string());
    }
    peer& theirs()
    {
        return processes.emplace_back(
            std::vector<std::string>{std::string{COLOCK_PEERS} + '/' + name},
            server.connect_string());
    }
    bool queue_has(std::size_t number)
    {
        auto operator_ = admin();
        return wait_until(
            [&] {
                try {
                    return operator_.children(path).size() == number;
                } catch (const admin_error& e) {
                    return e.code() == -101 && number == 0; // no node: Curator cleans up
                }
            },
            patience);
    }

    // Two who hold it together let go, and those who wait for them are let in, one after the other.
    void writers_follow(peer& a, peer& b, peer& writer, peer& other)
    {
        a.ask("read-unlock " + path, "unlocked");
        BOOST_TEST(writer.waits());
        b.ask("read-unlock " + path, "unlocked");
        writer.expect("locked");
        BOOST_TEST(other.waits());
        writer.ask("write-unlock " + path, "unlocked");
        other.expect("locked");
    }

    // Two thousand turns on a counter that nothing else protects.
    void take_turns_together(const std::string& command = "turns")
    {
        admin().create("/counter", "0");
        std::vector<peer*> all;
        for (int i = 0; i != 5; ++i) {
            all.push_back(&ours());
            all.push_back(&theirs());
        }
        const auto since = std::chrono::steady_clock::now();
        for (auto* each : all) {
            each->tell(command + ' ' + path + " 200 /counter");
        }
        for (auto* each : all) {
            BOOST_TEST(each->expect("done", 300s) == "200");
        }
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - since;
        BOOST_TEST(admin().get("/counter") == "2000");
        std::cout << "figure: " << name << ": 5 processes of theirs and 5 of ours, 2000 " << command
                  << ", " << admin().get("/counter") << " counted, " << took.count() << " s\n";
        BOOST_TEST(queue_has(0));
    }

    void wait_for_each_other()
    {
        auto &a = ours(), &b = theirs(), &c = ours(), &d = theirs();
        std::vector<peer*> order{&a, &b, &c, &d};
        for (std::size_t i = 0; i != order.size(); ++i) {
            order[i]->tell("lock " + path);
            BOOST_TEST(queue_has(i + 1));
        }
        for (std::size_t i = 0; i != order.size(); ++i) {
            order[i]->expect("locked");
            for (auto later = i + 1; later != order.size(); ++later) {
                BOOST_TEST(order[later]->waits());
            }
            order[i]->ask("unlock " + path, "unlocked");
        }
        BOOST_TEST(queue_has(0));
    }

    void find_each_other_busy(bool they_can_try)
    {
        auto &a = ours(), &b = theirs();
        a.ask("lock " + path, "locked");
        if (they_can_try) {
            b.ask("try " + path + " 50", "busy");
        }
        a.ask("unlock " + path, "unlocked");
        b.ask("lock " + path, "locked");
        a.ask("try " + path + " 0", "busy");
        a.ask("try " + path + " 50", "busy");
        BOOST_TEST(queue_has(1));
        b.ask("unlock " + path, "unlocked");
        a.ask("try " + path + " 0", "locked");
    }

    void a_killed_holder_is_followed(bool ours_dies)
    {
        auto& holder = ours_dies ? ours() : theirs();
        holder.ask("lock " + path, "locked");
        auto& next = ours_dies ? theirs() : ours();
        next.tell("lock " + path);
        BOOST_TEST(queue_has(2));
        BOOST_TEST(next.waits());
        holder.kill();
        next.expect("locked");
        BOOST_TEST(queue_has(1));
    }

    // A waiter in the middle goes; the one behind it must not be let in.
    void a_killed_waiter_makes_no_difference(bool ours_dies)
    {
        auto& holder = ours_dies ? theirs() : ours();
        holder.ask("lock " + path, "locked");
        auto& middle = ours_dies ? ours() : theirs();
        middle.tell("lock " + path);
        BOOST_TEST(queue_has(2));
        auto& last = ours_dies ? theirs() : ours();
        last.tell("lock " + path);
        BOOST_TEST(queue_has(3));
        middle.kill();
        BOOST_TEST(queue_has(2));
        BOOST_TEST(last.waits());
        holder.ask("unlock " + path, "unlocked");
        last.expect("locked");
    }

    const std::string name;
    const std::string path = "/queue/lock";
    zookeeper_server server;
    std::list<peer> processes;
};

struct with_curator : scene {
    with_curator() : scene{"curator"} {}
};
struct with_kazoo : scene {
    with_kazoo() : scene{"kazoo"} {}
};
struct with_go_zookeeper : scene {
    with_go_zookeeper() : scene{"go-zookeeper"} {}
};
struct with_zookeeper_recipe : scene {
    with_zookeeper_recipe() : scene{"zookeeper-recipe"} {}
};

} // namespace

// What has to be true beside each of them.
#define IN_ONE_QUEUE(they_can_try)                                                                 \
    BOOST_AUTO_TEST_CASE(G1_two_thousand_turns_together)                                           \
    {                                                                                              \
        take_turns_together();                                                                     \
    }                                                                                              \
    BOOST_AUTO_TEST_CASE(G2_each_waits_for_the_other)                                              \
    {                                                                                              \
        wait_for_each_other();                                                                     \
    }                                                                                              \
    BOOST_AUTO_TEST_CASE(each_finds_the_other_busy)                                                \
    {                                                                                              \
        find_each_other_busy(they_can_try);                                                        \
    }                                                                                              \
    BOOST_AUTO_TEST_CASE(G3_our_holder_is_killed)                                                  \
    {                                                                                              \
        a_killed_holder_is_followed(true);                                                         \
    }                                                                                              \
    BOOST_AUTO_TEST_CASE(G4_their_holder_is_killed)                                                \
    {                                                                                              \
        a_killed_holder_is_followed(false);                                                        \
    }                                                                                              \
    BOOST_AUTO_TEST_CASE(G1_our_waiter_is_killed)                                                  \
    {                                                                                              \
        a_killed_waiter_makes_no_difference(true);                                                 \
    }                                                                                              \
    BOOST_AUTO_TEST_CASE(G1_their_waiter_is_killed)                                                \
    {                                                                                              \
        a_killed_waiter_makes_no_difference(false);                                                \
    }

BOOST_FIXTURE_TEST_SUITE(curator, with_curator)

IN_ONE_QUEUE(true)

BOOST_AUTO_TEST_CASE(G1_two_thousand_turns_under_the_write_lock)
{
    take_turns_together("rw-turns");
}

#ifdef COLOCK_PROGRAM
BOOST_AUTO_TEST_CASE(G1_shells_under_colock_run_and_their_threads_count_right)
{
    constexpr int shells = 4, runs = 50, threads = 3, turns = 200;
    admin().create("/counter", "0");
    std::vector<peer*> their_threads;
    for (int i = 0; i != threads; ++i) {
        their_threads.push_back(&theirs());
    }
    std::list<subprocess> our_shells;
    const auto hosts = server.connect_string();
    for (int i = 0; i != shells; ++i) {
        const std::string line =
            "for i in $(seq " + std::to_string(runs) + "); do " COLOCK_PROGRAM " run " + path +
            " -- " COLOCK_COUNTER_TURN " " + hosts + " /counter || exit 1; done";
        our_shells.emplace_back(std::vector<std::string>{"sh", "-c", line},
                                subprocess_options{.environment = {"COLOCK_SERVERS=" + hosts}});
    }
    for (auto* each : their_threads) {
        each->tell("turns " + path + ' ' + std::to_string(turns) + " /counter");
    }
    for (auto* each : their_threads) {
        BOOST_TEST(each->expect("done", 300s) == std::to_string(turns));
    }
    for (auto& shell : our_shells) {
        BOOST_TEST(shell.wait().success());
    }
    const auto counted = admin().get("/counter");
    BOOST_TEST(counted == std::to_string(shells * runs + threads * turns));
    std::cout << "figure: " << shells * runs << " runs of colock run in " << shells
              << " shells beside " << threads * turns << " turns of Curator: " << counted
              << " counted\n";
    BOOST_TEST(queue_has(0));
}
#endif

BOOST_AUTO_TEST_CASE(readers_of_both_hold_it_together_and_writers_of_both_wait)
{
    auto &a = ours(), &b = theirs();
    a.ask("read-lock " + path, "locked");
    b.ask("read-lock " + path, "locked");
    a.ask("try-write " + path + " 50", "busy");
    b.ask("try-write " + path + " 50", "busy");
    auto &writer = ours(), &other = theirs();
    writer.tell("write-lock " + path);
    BOOST_TEST(queue_has(3));
    other.tell("write-lock " + path);
    BOOST_TEST(queue_has(4));
    auto& late = theirs();
    late.tell("read-lock " + path);
    BOOST_TEST(queue_has(5));
    writers_follow(a, b, writer, other);
    BOOST_TEST(late.waits());
    a.ask("try-read " + path + " 50", "busy");
    other.ask("write-unlock " + path, "unlocked");
    late.expect("locked");
}

BOOST_AUTO_TEST_CASE(permits_of_both_come_from_one_store)
{
    auto &a = ours(), &b = theirs(), &c = ours(), &d = theirs();
    a.ask("acquire " + path + " 3 1", "acquired");
    b.ask("acquire " + path + " 3 2", "acquired");
    c.ask("try-acquire " + path + " 3 1 50", "busy");
    d.ask("try-acquire " + path + " 3 1 50", "busy");
    c.tell("acquire " + path + " 3 2");
    BOOST_TEST(c.waits());
    d.tell("acquire " + path + " 3 1");
    BOOST_TEST(d.waits());
    a.ask("release " + path + " 1", "released");
    BOOST_TEST(c.waits()); // it wants two, and came first
    BOOST_TEST(d.waits());
    b.ask("release " + path + " 1", "released");
    c.expect("acquired");
    BOOST_TEST(d.waits());
    b.kill(); // which has another one
    d.expect("acquired");
}

BOOST_AUTO_TEST_CASE(permits_of_both_from_a_number_that_changes)
{
    auto &a = ours(), &b = theirs();
    b.ask("set-count /count 1", "set");
    a.ask("acquire-counted " + path + " /count 1", "acquired");
    auto& c = ours();
    c.tell("acquire-counted " + path + " /count 1");
    BOOST_TEST(c.waits());
    b.ask("set-count /count 2", "set");
    c.expect("acquired");
    auto& d = theirs();
    d.tell("acquire-counted " + path + " /count 1");
    BOOST_TEST(d.waits());
    a.ask("release " + path + " 1", "released");
    d.expect("acquired");
}

BOOST_AUTO_TEST_CASE(our_downgrade_keeps_their_writers_out_and_lets_their_readers_in)
{
    auto &a = ours(), &writer = theirs(), &reader = theirs();
    a.ask("write-lock " + path, "locked");
    reader.tell("read-lock " + path);
    BOOST_TEST(queue_has(2));
    writer.tell("write-lock " + path);
    BOOST_TEST(queue_has(3));
    a.ask("downgrade " + path, "locked");
    reader.expect("locked");
    BOOST_TEST(writer.waits());
    reader.ask("read-unlock " + path, "unlocked");
    BOOST_TEST(writer.waits());
    a.ask("read-unlock " + path, "unlocked");
    writer.expect("locked");
}

BOOST_AUTO_TEST_CASE(each_asks_the_other_to_let_go)
{
    for (const bool ours_holds : {true, false}) {
        auto& holder = ours_holds ? ours() : theirs();
        auto& other = ours_holds ? theirs() : ours();
        const auto node = holder.ask("lock-revocable " + path, "locked");
        holder.ask("await-revocation " + path + " 50", "not");
        other.ask("revoke " + node, "revoked");
        holder.ask("await-revocation " + path + " 30000", "asked");
        holder.ask("unlock " + path, "unlocked");
        other.ask("revoke " + node, "revoked"); // that has gone
    }
    BOOST_TEST(queue_has(0));
}

BOOST_AUTO_TEST_CASE(both_see_the_same_queue)
{
    auto &a = ours(), &b = theirs(), &c = ours();
    auto expected = a.ask("lock " + path, "locked");
    b.tell("lock " + path);
    BOOST_TEST(queue_has(2));
    const auto two = c.ask("queue " + path, "queue");
    BOOST_TEST(two.starts_with(expected + ' '));
    BOOST_TEST(theirs().ask("queue " + path, "queue") == two);
    a.ask("unlock " + path, "unlocked");
    b.expect("locked");
    BOOST_TEST(expected + ' ' + c.ask("queue " + path, "queue") == two);
}

BOOST_AUTO_TEST_CASE(they_elect_a_leader_together)
{
    auto &a = ours(), &b = theirs(), &c = ours(), &d = theirs();
    std::vector<peer*> order{&a, &b, &c, &d};
    const std::vector<std::string> names{"ours-1", "theirs-1", "ours-2", "theirs-2"};
    std::string all;
    for (std::size_t i = 0; i != order.size(); ++i) {
        order[i]->ask("latch " + path + ' ' + names[i], "latched");
        all += (i == 0 ? "" : " ") + names[i];
    }
    BOOST_TEST(a.ask("participants " + path, "participants") == all);
    BOOST_TEST(b.ask("participants " + path, "participants") == all);
    for (std::size_t i = 0; i != order.size(); ++i) {
        order[i]->ask("await-leader " + path + " 30000", "leading");
        for (auto* each : order) {
            BOOST_TEST(each->ask("leader " + path, "leader") == names[i]);
        }
        for (auto later = i + 1; later != order.size(); ++later) {
            order[later]->ask("await-leader " + path + " 20", "not");
        }
        order[i]->ask("unlatch " + path, "unlatched");
    }
    BOOST_TEST(a.ask("leader " + path, "leader").empty());
    BOOST_TEST(b.ask("leader " + path, "leader").empty());
}

BOOST_AUTO_TEST_CASE(G4_a_leader_that_is_killed_is_followed)
{
    for (const bool ours_dies : {true, false}) {
        auto& leader = ours_dies ? ours() : theirs();
        auto& next = ours_dies ? theirs() : ours();
        auto& looking_on = ours();
        leader.ask("latch " + path + " first", "latched");
        leader.ask("await-leader " + path + " 30000", "leading");
        next.ask("latch " + path + " second", "latched");
        BOOST_TEST(looking_on.ask("await-change " + path, "leader") == "first");
        looking_on.tell("await-change " + path + " first");
        BOOST_TEST(looking_on.waits());
        leader.kill();
        next.ask("await-leader " + path + " 30000", "leading");
        BOOST_TEST(looking_on.expect("leader") == "second");
        next.ask("unlatch " + path, "unlatched");
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(kazoo, with_kazoo)

IN_ONE_QUEUE(true)

BOOST_AUTO_TEST_CASE(readers_of_both_hold_it_together_and_writers_of_both_wait)
{
    auto &a = ours(), &b = theirs(), &writer = ours(), &other = theirs();
    a.ask("read-lock " + path, "locked");
    b.ask("read-lock " + path, "locked");
    writer.tell("write-lock " + path);
    BOOST_TEST(queue_has(3));
    other.tell("write-lock " + path);
    BOOST_TEST(queue_has(4));
    writers_follow(a, b, writer, other);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(go_zookeeper, with_go_zookeeper)

IN_ONE_QUEUE(false)

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(zookeeper_recipe, with_zookeeper_recipe)

IN_ONE_QUEUE(true)

BOOST_AUTO_TEST_SUITE_END()
