// Processes of 0.1 are replaced by those of this colock one at a time, and the other way round, while each kind of lock is
// held and waited for: on a real server.
#include <support/wait_until.hpp>

#include "both_versions.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

using namespace colock::test;

namespace {

const std::string path = "/locks/one";

struct kind {
    std::string name;
    std::string take, taken; // the command, and the first word of the answer
    std::string give, given;
    // Each contender has one node there.
    std::vector<std::string> directories = {path};

    friend std::ostream& operator<<(std::ostream& out, const kind& k) { return out << k.name; }
};

const std::vector<kind> kinds{
    {"mutex", "lock " + path, "locked", "unlock " + path, "unlocked"},
    {"recursive_mutex", "recursive-lock " + path, "locked", "unlock " + path, "unlocked"},
    {"shared_mutex", "write-lock " + path, "locked", "write-unlock " + path, "unlocked"},
    {"semaphore",
     "acquire " + path + " 1 1",
     "acquired",
     "release " + path,
     "released",
     {path + "/locks", path + "/leases"}},
    {"counted semaphore",
     "acquire-counted /locks/counted /counter 1",
     "acquired",
     "release /locks/counted",
     "released",
     {"/locks/counted/locks", "/locks/counted/leases"}},
};

struct scene : both_versions {
    scene() { admin().create("/counter", std::string{"\0\0\0\1", 4}); }

    peer& process(bool is_earlier) { return is_earlier ? earlier() : ours(); }

    std::size_t nodes(const std::vector<std::string>& directories) const
    {
        std::size_t all = 0;
        for (auto operator_ = admin(); const auto& each : directories) {
            const auto found = operator_.exists(each);
            all += found ? static_cast<std::size_t>(found->num_children) : 0;
        }
        return all;
    }
    void are_there(const kind& k, std::size_t contenders) const
    {
        BOOST_TEST_REQUIRE(wait_until([&] { return nodes(k.directories) == contenders; }, patience),
                           k << ": " << contenders << " contenders, and " << nodes(k.directories)
                             << " nodes");
    }

    // A contender that comes last, and waits.
    peer& comes(const kind& k, bool is_earlier, std::size_t contenders)
    {
        auto& last = process(is_earlier);
        last.tell(k.take);
        are_there(k, contenders);
        BOOST_TEST(last.waits(), k);
        return last;
    }

    void replace_one_at_a_time(const kind& k, bool from_earlier)
    {
        const bool before = from_earlier, after = !from_earlier;
        auto& first = process(before);
        first.ask(k.take, k.taken);
        auto& second = comes(k, after, 2);
        auto& third = comes(k, before, 3);

        // A holder is stopped, and comes again.
        first.ask(k.give, k.given);
        first.quit();
        second.expect(k.taken);
        BOOST_TEST(third.waits(), k);
        auto& fourth = comes(k, after, 3);

        // A holder of the new version dies.
        second.kill();
        third.expect(k.taken);
        BOOST_TEST(fourth.waits(), k);
        auto& fifth = comes(k, after, 3);

        // One of the version before dies, and a waiter behind that.
        auto& sixth = comes(k, before, 4);
        auto& last = comes(k, after, 5);
        sixth.kill();
        third.kill();
        fourth.expect(k.taken);
        BOOST_TEST(fifth.waits(), k);
        are_there(k, 3);
        fourth.ask(k.give, k.given);
        fifth.expect(k.taken);
        BOOST_TEST(last.waits(), k);
        fifth.ask(k.give, k.given);
        last.expect(k.taken);
        last.ask(k.give, k.given);
        are_there(k, 0);
    }

    void replace_readers_and_writers(bool from_earlier)
    {
        const bool before = from_earlier, after = !from_earlier;
        const kind writer{"writer", "write-lock " + path, "locked", "write-unlock " + path,
                          "unlocked"};
        const kind reader{"reader", "read-lock " + path, "locked", "read-unlock " + path,
                          "unlocked"};
        auto &one = process(before), &other = process(after);
        one.ask(reader.take, reader.taken);
        other.ask(reader.take, reader.taken);
        auto& writes = comes(writer, after, 3);
        auto& reads = comes(reader, before, 4);
        auto& writes_again = comes(writer, before, 5);
        one.ask(reader.give, reader.given);
        one.quit();
        BOOST_TEST(writes.waits());
        other.kill();
        writes.expect(writer.taken);
        BOOST_TEST(reads.waits());
        BOOST_TEST(writes_again.waits());
        auto& reads_last = comes(reader, after, 4);
        writes.ask(writer.give, writer.given);
        reads.expect(reader.taken);
        BOOST_TEST(writes_again.waits());
        BOOST_TEST(reads_last.waits());
        reads.kill();
        writes_again.expect(writer.taken);
        BOOST_TEST(reads_last.waits());
        writes_again.ask(writer.give, writer.given);
        reads_last.expect(reader.taken);
    }

    // Waiters for a single node are granted it in any order.
    void replace_at_a_single_node(bool from_earlier)
    {
        const bool before = from_earlier, after = !from_earlier;
        const kind single{"single_node_mutex", "single-lock /single", "locked", "unlock /single",
                          "unlocked"};
        peer* holder = &process(before);
        holder->ask(single.take, single.taken);
        for (const bool version : {after, before, after, after}) {
            auto& next = process(version);
            next.tell(single.take);
            BOOST_TEST(next.waits());
            if (version == after) {
                holder->ask(single.give, single.given);
                holder->quit();
            } else {
                holder->kill();
            }
            next.expect(single.taken);
            holder = &next;
        }
    }

    void replace_candidates(bool from_earlier)
    {
        const bool before = from_earlier, after = !from_earlier;
        const auto stands = [&](bool version, const std::string& id) -> peer& {
            auto& candidate = process(version);
            candidate.ask("latch " + path + ' ' + id, "latched");
            return candidate;
        };
        const auto leads = [&](peer& one, const std::vector<peer*>& others, const std::string& id) {
            one.ask("await-leader " + path + " 60000", "leading");
            for (auto* other : others) {
                other->ask("is-leader " + path, "no");
                BOOST_TEST(other->ask("leader " + path, "leader") == id);
            }
        };
        auto& a = stands(before, "a");
        a.ask("await-leader " + path + " 60000", "leading");
        auto &b = stands(after, "b"), &c = stands(before, "c");
        leads(a, {&b, &c}, "a");
        a.ask("unlatch " + path, "unlatched");
        a.quit();
        leads(b, {&c}, "b");
        auto& d = stands(after, "d");
        b.kill();
        leads(c, {&d}, "c");
        auto& e = stands(after, "e");
        c.kill();
        leads(d, {&e}, "d");
        BOOST_TEST(e.ask("participants " + path, "participants") == "d e");
        d.ask("unlatch " + path, "unlatched");
        leads(e, {}, "e");
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(rolling_upgrade, scene)

BOOST_AUTO_TEST_CASE(G1_each_kind_with_a_queue_from_0_1)
{
    for (const auto& each : kinds) {
        replace_one_at_a_time(each, true);
    }
}

BOOST_AUTO_TEST_CASE(G1_each_kind_with_a_queue_back_to_0_1)
{
    for (const auto& each : kinds) {
        replace_one_at_a_time(each, false);
    }
}

BOOST_AUTO_TEST_CASE(G1_readers_and_writers_from_0_1)
{
    replace_readers_and_writers(true);
}

BOOST_AUTO_TEST_CASE(G1_readers_and_writers_back_to_0_1)
{
    replace_readers_and_writers(false);
}

BOOST_AUTO_TEST_CASE(G1_a_single_node_from_0_1)
{
    replace_at_a_single_node(true);
}

BOOST_AUTO_TEST_CASE(G1_a_single_node_back_to_0_1)
{
    replace_at_a_single_node(false);
}

BOOST_AUTO_TEST_CASE(G1_candidates_from_0_1)
{
    replace_candidates(true);
}

BOOST_AUTO_TEST_CASE(G1_candidates_back_to_0_1)
{
    replace_candidates(false);
}

BOOST_AUTO_TEST_SUITE_END()
