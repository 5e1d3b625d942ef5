// Who gets which shard: even, the same for the same input, and no more moves than that asks for.
#include "recipes/shards/assignment.hpp"
#include "recipes/shards/leader.hpp"
#include "recipes/shards/member.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace colock::test::shard_assignment_test {

using namespace colock::protocol;
using namespace std::chrono_literals;

namespace {

using members = std::vector<shard_taker>;

members crowd(std::size_t count, std::mt19937& random, std::uint32_t heaviest = 1)
{
    members all;
    for (std::size_t i = 0; i != count; ++i) {
        auto name = std::to_string(i);
        name.insert(0, 4 - name.size(), '0');
        all.push_back(
            {.name = "m" + name, .weight = static_cast<std::uint32_t>(1 + random() % heaviest)});
    }
    return all;
}

std::vector<std::size_t> counts(const members& all, const shard_owners& owners)
{
    std::vector<std::size_t> result;
    for (const auto& m : all) {
        result.push_back(static_cast<std::size_t>(std::ranges::count(owners, m.name)));
    }
    return result;
}

std::size_t moves(const shard_owners& from, const shard_owners& to)
{
    std::size_t n = 0;
    for (std::size_t s = 0; s != from.size(); ++s) {
        n += from[s] != to[s] ? 1u : 0u;
    }
    return n;
}

// Less than one from the exact part.
void is_even(const members& all, const shard_owners& owners)
{
    const auto sum = std::accumulate(all.begin(), all.end(), std::uint64_t{0},
                                     [](auto n, const auto& m) { return n + m.weight; });
    const auto has = counts(all, owners);
    for (std::size_t i = 0; i != all.size(); ++i) {
        const auto exact =
            static_cast<double>(owners.size()) * all[i].weight / static_cast<double>(sum);
        BOOST_REQUIRE_LT(std::abs(static_cast<double>(has[i]) - exact), 1.0);
    }
    BOOST_REQUIRE_EQUAL(std::accumulate(has.begin(), has.end(), std::size_t{0}), owners.size());
}

// The fewest moves that any even assignment asks for: by trying each way to round up.
std::size_t fewest_moves(const members& all, const shard_owners& now)
{
    const auto has = counts(all, now);
    std::uint64_t sum = 0;
    for (const auto& m : all) {
        sum += m.weight;
    }
    std::vector<std::size_t> least;
    std::vector<bool> has_rest;
    std::size_t left = now.size();
    for (const auto& m : all) {
        const auto exact = now.size() * m.weight;
        least.push_back(exact / sum);
        has_rest.push_back(exact % sum != 0);
        left -= least.back();
    }
    auto best = now.size();
    for (unsigned up = 0; up != 1u << all.size(); ++up) {
        std::size_t ups = 0, stay = 0;
        bool valid = true;
        for (std::size_t i = 0; i != all.size(); ++i) {
            const bool is_up = (up >> i & 1u) != 0;
            ups += is_up ? 1u : 0u;
            valid = valid && (!is_up || has_rest[i]);
            stay += std::min(has[i], least[i] + (is_up ? 1 : 0));
        }
        if (valid && ups == left) {
            best = std::min(best, now.size() - stay);
        }
    }
    return best;
}

shard_owners scattered(const members& all, std::size_t shards, std::mt19937& random)
{
    shard_owners owners(shards);
    for (auto& o : owners) {
        const auto m = random() % (all.size() + 1);
        o = m == all.size() ? "gone" : all[m].name;
    }
    return owners;
}

} // namespace

BOOST_AUTO_TEST_SUITE(shard_assignment)

BOOST_AUTO_TEST_CASE(even_for_all_sizes)
{
    std::mt19937 random{1};
    for (int i = 0; i != 60; ++i) {
        const auto all = crowd(1 + random() % 200, random, i % 2 == 0 ? 1 : 9);
        const auto now = scattered(all, random() % 10'001, random);
        const auto owners = balanced(all, now);
        is_even(all, owners);
        BOOST_TEST(moves(owners, balanced(all, owners)) == 0u);
    }
}

BOOST_AUTO_TEST_CASE(no_more_moves_than_balance_asks_for)
{
    std::mt19937 random{2};
    for (int i = 0; i != 3'000; ++i) {
        const auto all = crowd(1 + random() % 6, random, static_cast<std::uint32_t>(1 + i % 4));
        const auto now = scattered(all, random() % 30, random);
        const auto owners = balanced(all, now);
        is_even(all, owners);
        BOOST_REQUIRE_EQUAL(moves(now, owners), fewest_moves(all, now));
    }
}

BOOST_AUTO_TEST_CASE(a_member_that_joins_takes_its_part)
{
    std::mt19937 random{3};
    for (int i = 0; i != 60; ++i) {
        auto all = crowd(2 + random() % 199, random);
        const auto shards = random() % 10'001;
        const auto newcomer = random() % all.size();
        auto before = all;
        before.erase(before.begin() + static_cast<std::ptrdiff_t>(newcomer));
        const auto now = balanced(before, shard_owners(shards));
        const auto then = balanced(all, now);
        BOOST_TEST(moves(now, then) <= (shards + all.size() - 1) / all.size());
        std::size_t others = 0; // that move elsewhere
        for (std::size_t s = 0; s != shards; ++s) {
            others += now[s] != then[s] && then[s] != all[newcomer].name ? 1U : 0U;
        }
        BOOST_TEST(others == 0u);
    }
}

BOOST_AUTO_TEST_CASE(steps_come_to_the_same_number_of_moves)
{
    std::mt19937 random{4};
    for (int i = 0; i != 1'000; ++i) {
        const auto all = crowd(1 + random() % 6, random, static_cast<std::uint32_t>(1 + i % 4));
        const auto now = scattered(all, random() % 40, random);
        const auto whole = moves(now, balanced(all, now));
        auto owners = now;
        std::size_t done = 0;
        for (int n = 0; n != 100; ++n) {
            auto next = next_step(all, owners, true, 1 + random() % 3);
            const auto of_this = moves(owners, next);
            done += of_this;
            owners = std::move(next);
            if (of_this == 0) {
                break;
            }
            BOOST_REQUIRE(std::ranges::count(owners, "gone") == 0);
        }
        is_even(all, owners);
        BOOST_REQUIRE_EQUAL(done, whole);
    }
}

BOOST_AUTO_TEST_CASE(before_it_has_settled_only_what_has_no_owner_moves)
{
    const members all{{.name = "a"}, {.name = "b"}, {.name = "leaves", .weight = 0}};
    const shard_owners now{"a", "a", "a", "a", "gone", "leaves"};
    BOOST_TEST(next_step(all, now, false, 0) == (shard_owners{"a", "a", "a", "a", "b", "leaves"}),
               boost::test_tools::per_element());
    BOOST_TEST(next_step(all, now, false, 9) == (shard_owners{"a", "a", "a", "a", "b", "b"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(when_all_leave_nobody_shall_have_it)
{
    const members all{{.name = "a", .weight = 0}};
    BOOST_TEST(next_step(all, {"a", ""}, true, 9) == (shard_owners{"", ""}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_a_member_refuses_goes_to_others)
{
    const members all{{.name = "a", .weight = 1, .refused = {0, 1}}, {.name = "b"}};
    const auto first = balanced(all, {"a", "a", "b", "b"});
    BOOST_TEST(first == (shard_owners{"b", "b", "b", "b"}), boost::test_tools::per_element());
    BOOST_TEST(balanced(all, first) == (shard_owners{"b", "b", "a", "a"}),
               boost::test_tools::per_element());
    const members alone{{.name = "a", .weight = 1, .refused = {0}}};
    BOOST_TEST(balanced(alone, {"a", "a"}) == (shard_owners{"", "a"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(text_and_back)
{
    std::mt19937 random{5};
    for (int i = 0; i != 200; ++i) {
        const auto all = crowd(1 + random() % 9, random);
        shard_table table{.owners = balanced(all, shard_owners(random() % 300))};
        if (!table.owners.empty() && random() % 2 == 0) {
            table.owners[random() % table.owners.size()].clear();
            table.moving.push_back(static_cast<shard_index>(random() % table.owners.size()));
        }
        const auto back = shard_table_in(text_of(table));
        BOOST_REQUIRE(back);
        BOOST_TEST((back->owners == table.owners && back->moving == table.moving));
    }
    BOOST_TEST(text_of({.owners = {"x", "x", "y z", "x", ""}, .moving = {2, 3}}) ==
               "5 shards\nnobody 4\n0-1,3 x\n2 y z\nmoving 2-3\n");
}

BOOST_AUTO_TEST_CASE(other_texts_are_refused)
{
    for (const auto* const text : {"",
                                   "5",
                                   "5 shards of gold\n",
                                   "-1 shards\n",
                                   "05 shards\n",
                                   "100001 shards\n",
                                   "99999999999999999999 shards\n",
                                   "2 shards\n",
                                   "2 shards\n0 a\n",
                                   "2 shards\n0-1 a",
                                   "2 shards\nnobody 0\n",
                                   "2 shards\nnobody 0-1 a\n",
                                   "2 shards\nnobody 0\n0-1 a\n",
                                   "2 shards\n0-2 a\n",
                                   "1 shards\n0\n",
                                   "1 shards\n0 \n",
                                   "2 shards\n0-1 a\n0 b\n",
                                   "2 shards\n1,0 a\n",
                                   "2 shards\n1-0 a\n",
                                   "2 shards\n0-1\n",
                                   "1 shards\n0, a\n",
                                   "1 shards\n,0 a\n",
                                   "0 shards\n a\n",
                                   "0 shards\n\n",
                                   "1 shards\n0 a\nmoving 0 a\n",
                                   "1 shards\n0 a\nmoving \n",
                                   "2 shards\n0-1 a\nmoving 0\nmoving 1\n",
                                   "1 shards\n0 a/b\n",
                                   "1 shards\n0 a\x1b[2J\n",
                                   "2 shards\n0-4294967295 a\n"}) {
        BOOST_TEST(!shard_table_in(text), text);
    }
    BOOST_TEST(!shard_table_in("1 shards\n0 " + std::string(256, 'a') + "\n"));
}

// ---- the leader

namespace {

const shard_leader::rules usual{.settle = 10s, .prepare = 5s, .take = 20s, .moves_at_a_time = 2};

members named(std::initializer_list<const char*> names)
{
    members all;
    for (const auto* const n : names) {
        all.push_back({.name = n});
    }
    return all;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_leader_assigns_at_once_what_nobody_has)
{
    shard_leader leader{usual, {.owners = shard_owners(4)}, 0s};
    leader.members(named({"a", "b"}), 0s);
    const auto table = leader.decide(0s);
    BOOST_REQUIRE(table);
    is_even(named({"a", "b"}), table->owners);
    BOOST_TEST(table->moving.size() == 4u);
    BOOST_TEST(!leader.decide(0s));
}

BOOST_AUTO_TEST_CASE(a_leader_waits_until_the_group_has_settled_and_moves_a_few_at_a_time)
{
    shard_leader leader{usual, {.owners = shard_owners(12, "a")}, 0s};
    leader.members(named({"a", "b"}), 1s);
    BOOST_TEST(!leader.decide(1s));
    BOOST_TEST((leader.next(1s) == 11s));
    BOOST_TEST(!leader.decide(11s - 1ns));
    auto table = leader.decide(11s);
    BOOST_REQUIRE(table);
    BOOST_TEST(std::ranges::count(table->owners, "b") == 2);
    BOOST_TEST(!leader.decide(12s));
    leader.taken(table->moving.front());
    table = leader.decide(12s);
    BOOST_REQUIRE(table);
    BOOST_TEST(std::ranges::count(table->owners, "b") == 3);
    BOOST_TEST(table->moving.size() == 2u);
    // Those that prepare for too long hold nothing up.
    BOOST_TEST((leader.next(12s) == 16s));
    BOOST_TEST(!leader.decide(15s));
    table = leader.decide(16s);
    BOOST_REQUIRE(table);
    BOOST_TEST(std::ranges::count(table->owners, "b") == 4);
}

BOOST_AUTO_TEST_CASE(a_leader_gives_to_others_what_a_member_does_not_take)
{
    shard_leader leader{usual, {.owners = {"a", "b", "gone"}}, 0s};
    leader.members(named({"a", "b"}), 0s);
    auto table = leader.decide(0s);
    BOOST_REQUIRE(table);
    const auto first = table->owners[2];
    BOOST_TEST(first != "gone");
    BOOST_TEST(!leader.decide(20s - 1ns));
    table = leader.decide(20s);
    BOOST_REQUIRE(table);
    BOOST_TEST(table->owners[2] != first);
    BOOST_TEST(!table->owners[2].empty());
    // When all have had their time, the last one keeps it.
    BOOST_TEST(!leader.decide(40s));
    BOOST_TEST(!leader.decide(300s));
}

BOOST_AUTO_TEST_CASE(a_new_leader_goes_on_from_what_is_written)
{
    shard_leader leader{usual, {.owners = {"a", "a", "b", "b", "a", "a"}, .moving = {2, 3}}, 0s};
    leader.members(named({"a", "b"}), 0s);
    BOOST_TEST(!leader.decide(4s));
    BOOST_TEST(!leader.decide(6s));
    const auto table = leader.decide(10s);
    BOOST_REQUIRE(table);
    BOOST_TEST(std::ranges::count(table->owners, "b") == 3);
}

BOOST_AUTO_TEST_CASE(a_member_does_not_take_what_it_has_refused_meanwhile)
{
    shard_member m{"a", 2, false};
    shard_member::commands out;
    m.assigned({"a", "b"}, false, out);
    BOOST_TEST(out.size() == 1u); // it looks at the first one
    m.refuse(0);
    out.clear();
    m.looked(0, true, out);
    BOOST_TEST(out.empty());
    BOOST_TEST(m.is_idle());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::shard_assignment_test
