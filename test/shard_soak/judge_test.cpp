// The judge of the soak: a history that is sound, and those that it has to find faulty.
#include "judge.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>

using namespace soak;

namespace {

constexpr limits bounds{.lease = 100, .slack = 10};

// One shard: a owns it from 10 to 50, b from 60; a writes at 20, b at 70.
history sound()
{
    return {.shards = 1,
            .from = 1,
            .to = 200,
            .processes = {{.name = "a", .turns = {{0, "1", 10, 50}}, .told_to = 45},
                          {.name = "b", .turns = {{0, "2", 60}}}},
            .writes = {{0, "a", "1", 15, 40, 20}, {0, "b", "2", 65, 90, 70}}};
}

bool finds(const history& h, const std::string& text)
{
    const auto found = judge(h, bounds);
    return std::ranges::any_of(
        found.violations, [&](const auto& each) { return each.find(text) != std::string::npos; });
}

} // namespace

BOOST_AUTO_TEST_SUITE(shard_soak_judge)

BOOST_AUTO_TEST_CASE(nothing)
{
    const auto found = judge(sound(), bounds);
    BOOST_TEST(found.violations.empty());
    BOOST_TEST(found.refused.empty());
    BOOST_TEST(found.longest == 10);
    BOOST_TEST((found.gaps.at({cause::left, true}) == std::vector<nanoseconds>{10}));
}

BOOST_AUTO_TEST_CASE(a_write_after_the_bound)
{
    auto h = sound();
    h.writes[0].at = 41;
    BOOST_TEST(finds(h, "after its bound"));
    h.processes[0].stops = {{20, 38}}; // between its look and its write
    BOOST_TEST(judge(h, bounds).violations.empty());
    BOOST_TEST(judge(h, bounds).late == 1U);
    h.processes[0].stops = {{11, 14}}; // it has looked after that
    BOOST_TEST(finds(h, "after its bound"));
}

BOOST_AUTO_TEST_CASE(a_write_after_the_next_owner)
{
    auto h = sound();
    h.writes.push_back({0, "a", "1", 68, 190, 75, false});
    BOOST_TEST(finds(h, "wrote after the next owner"));
    BOOST_TEST(!finds(h, "the fence"));
    BOOST_TEST(judge(h, bounds).refused.size() == 1U);
    h.writes.back().accepted = true;
    BOOST_TEST(finds(h, "the fence has accepted it"));
}

BOOST_AUTO_TEST_CASE(one_token_of_two)
{
    auto h = sound();
    h.writes[1].token = "1";
    BOOST_TEST(finds(h, "the same token"));
    h = sound();
    h.processes[1].turns[0].token = "1";
    BOOST_TEST(finds(h, "no greater token"));
}

BOOST_AUTO_TEST_CASE(two_bodies)
{
    auto h = sound();
    h.processes[0].turns[0].ended = 61;
    BOOST_TEST(finds(h, "its body ended"));
    // It did not run when it lost the shard.
    h.processes[0].turns[0].lost = true;
    h.processes[0].stops = {{30, 60}};
    BOOST_TEST(judge(h, bounds).violations.empty());
    BOOST_TEST((judge(h, bounds).gaps.at({cause::stopped, true}) == std::vector<nanoseconds>{30}));
    h = sound();
    h.processes[0].turns[0].ended.reset();
    BOOST_TEST(finds(h, "has a body, too"));
    h.processes[0].killed = 55;
    BOOST_TEST(judge(h, bounds).violations.empty());
    BOOST_TEST((judge(h, bounds).recoveries.at(true) == std::vector<nanoseconds>{5}));
}

BOOST_AUTO_TEST_CASE(no_owner_for_too_long)
{
    auto h = sound();
    h.processes[1].turns[0].began = 161;
    h.writes.pop_back();
    BOOST_TEST(finds(h, "had no owner for"));
    h.processes.push_back({.name = "c", .stops = {{100, 120}}, .told_to = 2});
    BOOST_TEST(!finds(h, "had no owner for")); // it may have been c's to take
    h.processes[2].stops = {{30, 40}};
    BOOST_TEST(finds(h, "had no owner for"));
    h.outages = {{100, 160}};
    BOOST_TEST(!finds(h, "had no owner for"));
}

BOOST_AUTO_TEST_CASE(the_end)
{
    auto h = sound();
    h.processes[1].turns[0].ended = 150;
    BOOST_TEST(finds(h, "nobody owns it at the end"));
    BOOST_TEST(finds(h, "0 of 1 shards"));
    h = sound();
    h.shards = 3;
    h.processes[1].turns.push_back({1, "1", 60});
    h.processes[1].turns.push_back({2, "1", 60});
    h.processes.push_back({.name = "c"});
    BOOST_TEST(finds(h, "uneven at the end"));
}

BOOST_AUTO_TEST_SUITE_END()
