// Under which locks a process runs, as the environment says: which may say anything.
#include "run/outer_locks.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

using namespace colock;
using namespace colock::cli;

using nodes = std::vector<std::string>;

BOOST_TEST_SPECIALIZED_COLLECTION_COMPARE(nodes)

BOOST_AUTO_TEST_SUITE(outer_locks_)

BOOST_AUTO_TEST_CASE(a_chain_is_passed_on)
{
    BOOST_TEST(nodes_for_command({}, {"/a/1"}) == "/a/1");
    BOOST_TEST(outer_nodes("", "") == nodes{});
    BOOST_TEST(outer_nodes("/a/1\t/b/2", "/b/2") == (nodes{"/a/1", "/b/2"}));
    BOOST_TEST(outer_nodes("/a/1", "/b/2") == (nodes{"/a/1", "/b/2"})); // an older colock between
    BOOST_TEST(outer_nodes("", "/b/2") == nodes{"/b/2"});
    BOOST_TEST(nodes_for_command({"/a/1", "/b/2"}, {"/a b:c/3"}) == "/a/1\t/b/2\t/a b:c/3");
    BOOST_TEST(outer_nodes("/a/1\t/b/2\t/a b:c/3", "") == (nodes{"/a/1", "/b/2", "/a b:c/3"}));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_a_node_is_left_out)
{
    BOOST_TEST(outer_nodes("\t\t", "x") == nodes{});
    BOOST_TEST(outer_nodes("a/1\t/b\x01/2\t/c\n/3\t/d/4\t", "/e\x7f") == nodes{"/d/4"});
    BOOST_TEST(outer_nodes('/' + std::string(5'000, 'x'), "") == nodes{});
}

BOOST_AUTO_TEST_CASE(of_very_many_the_innermost_are_kept)
{
    std::string all;
    for (int i = 0; i != 100'000; ++i) {
        all += "\t/a/" + std::to_string(i);
    }
    const auto kept = outer_nodes(all, "/b/1");
    BOOST_TEST(kept.size() == 64);
    BOOST_TEST(kept.back() == "/b/1");
    BOOST_TEST(kept.front() == "/a/99937");
    nodes long_ones;
    for (int i = 0; i != 20; ++i) {
        long_ones.push_back("/a/" + std::to_string(i) + std::string(4'000, 'x'));
    }
    const auto text = nodes_for_command(long_ones, {"/b/1"});
    BOOST_TEST(text.size() <= 16'384);
    BOOST_TEST(text.ends_with("\t/b/1"));
    BOOST_TEST(outer_nodes(text, "/b/1").size() == 5);
}

BOOST_AUTO_TEST_CASE(who_may_wait_for_itself)
{
    const auto may = [](const lock_kind& kind, const std::string& node) {
        return may_wait_for_itself({.path = "/a", .kind = kind}, {"/other/lock-1", node});
    };
    BOOST_TEST(may(as_mutex{}, "/a/lock-1"));
    BOOST_TEST(may(as_reader{}, "/a/__READ__1"));
    BOOST_TEST(may(as_candidate{}, "/a/latch-1"));
    for (const auto* node : {"/a/b/lock-1", "/ab", "/b/lock-1", "", "/a/leases/lease-1"}) {
        BOOST_TEST(!may(as_mutex{}, node), node);
    }
    for (const auto* node : {"/chroot/a/lock-1", "/b/a/lock-1"}) {
        BOOST_TEST(may(as_mutex{}, node), node);
    }
    BOOST_TEST(may_wait_for_itself({.path = "/chroot/a", .kind = as_mutex{}}, {"/a/lock-1"}));
    BOOST_TEST(may(as_permits{}, "/a/leases/lease-1"));
    BOOST_TEST(!may(as_permits{}, "/a/locks/lock-1"));
}

// Each contender is its own session: 1, 2, 3, in the order of the queue.
queue_view queue_of(const std::string& letters)
{
    queue_view queue;
    for (const char letter : letters) {
        queue_entry e;
        e.name = std::string{letter} + std::to_string(queue.entries.size() + 1);
        e.path = "/a/" + e.name;
        e.shared = letter == 'r';
        e.session = static_cast<std::int64_t>(queue.entries.size()) + 1;
        queue.entries.push_back(e);
    }
    return queue;
}

BOOST_AUTO_TEST_CASE(who_waits_for_itself)
{
    const auto waits = [](const lock_kind& kind, const std::string& letters, const char* outer,
                          std::optional<std::int64_t> own = {}) {
        return waits_for_itself({.path = "/a", .kind = kind}, queue_of(letters), {outer}, own);
    };
    BOOST_TEST(waits(as_mutex{}, "w", "/a/w1"));
    BOOST_TEST(waits(as_mutex{}, "ww", "/a/w1"));
    BOOST_TEST(waits(as_candidate{}, "w", "/a/w1"));
    BOOST_TEST(!waits(as_mutex{}, "w", "/a/w2")); // it is no more
    BOOST_TEST(!waits(as_mutex{}, "", "/a/w1"));
    BOOST_TEST(waits(as_writer{}, "r", "/a/r1"));
    BOOST_TEST(waits(as_reader{}, "w", "/a/w1"));
    BOOST_TEST(!waits(as_reader{}, "r", "/a/r1"));
    BOOST_TEST(!waits(as_reader{}, "rr", "/a/r1"));
    // A writer waits for the one reader, and the other reader for the writer.
    BOOST_TEST(waits(as_reader{}, "rw", "/a/r1"));
    BOOST_TEST(waits(as_reader{}, "rwr", "/a/r1", 3));
    BOOST_TEST(waits(as_reader{}, "rrwrr", "/a/r2", 4));
    BOOST_TEST(!waits(as_reader{}, "rrw", "/a/r1", 2)); // that writer stands behind it
    BOOST_TEST(!waits(as_reader{}, "rw", "/a/r1", 7));  // not there yet
}

// The outer command and the inner one may have different chroots.
BOOST_AUTO_TEST_CASE(a_node_is_known_by_its_uuid_elsewhere)
{
    auto queue = queue_of("w");
    const auto waits = [&](const char* outer) {
        return waits_for_itself({.path = "/a", .kind = as_mutex{}}, queue, {outer});
    };
    BOOST_TEST(!waits("/chroot/a/w1"));
    queue.entries[0].name = "_c_01234567-89ab-cdef-0123-456789abcdef-lock-0000000001";
    queue.entries[0].path = "/a/" + queue.entries[0].name;
    BOOST_TEST(waits("/chroot/a/_c_01234567-89ab-cdef-0123-456789abcdef-lock-0000000001"));
    BOOST_TEST(!waits("/chroot/a/_c_11234567-89ab-cdef-0123-456789abcdef-lock-0000000001"));
}

BOOST_AUTO_TEST_CASE(who_waits_for_its_own_permits)
{
    // The first two are of one command, the third of another one, the last one waits.
    auto queue = queue_of("pppw");
    for (auto& e : queue.entries) {
        e.holds = e.name.front() == 'p';
    }
    queue.entries[1].session = queue.entries[0].session;
    const auto waits = [&](std::int64_t wanted, const nodes& outer) {
        return waits_for_itself({.path = "/a", .kind = as_permits{wanted, 4}}, queue, outer);
    };
    BOOST_TEST(!waits(2, {"/a/p1"}));
    BOOST_TEST(waits(3, {"/a/p1"}));
    BOOST_TEST(!waits(3, {"/a/p3"}));
    BOOST_TEST(waits(4, {"/a/p3"}));
    BOOST_TEST(waits(2, {"/a/p1", "/a/p3"}));
    BOOST_TEST(!waits(1, {"/a/p1", "/a/p3"}));
    BOOST_TEST(!waits(4, {"/a/p9"}));
}

BOOST_AUTO_TEST_SUITE_END()
