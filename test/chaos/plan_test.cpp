// The faults that a seed draws.
#include "plan.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <set>
#include <tuple>
#include <vector>

using namespace chaos;
using namespace std::chrono_literals;

namespace {

auto all_of(const fault& f)
{
    return std::tuple{f.at,     f.lasts, f.kind, f.holder,    f.client,
                      f.leader, f.other, f.lost, f.direction, f.delay};
}

} // namespace

BOOST_AUTO_TEST_SUITE(chaos_plan)

BOOST_AUTO_TEST_CASE(a_seed_draws_the_same_faults_again_and_another_one_does_not)
{
    const auto a = plan(1, 30min, 20, 7);
    const auto b = plan(1, 30min, 20, 7);
    BOOST_TEST(std::ranges::equal(a, b, {}, all_of, all_of));
    BOOST_TEST(!std::ranges::equal(a, plan(2, 30min, 20, 7), {}, all_of, all_of));
}

BOOST_AUTO_TEST_CASE(there_are_as_many_as_were_asked_for_of_every_kind_and_each_ends_in_time)
{
    const auto faults = plan(3, 30min, 20, 7);
    for (const auto& f : plan(3, 20s, 24, 7)) {
        BOOST_TEST((f.at + f.lasts <= 20s));
    }
    BOOST_TEST(faults.size() == 600U);
    std::set<kind> kinds;
    std::size_t together = 0;
    for (std::size_t i = 0; i != faults.size(); ++i) {
        const auto& f = faults[i];
        kinds.insert(f.kind);
        BOOST_TEST((f.at >= 0ms && f.lasts >= 0ms && f.at + f.lasts <= 30min));
        BOOST_TEST((f.client < 7 && f.other < 2));
        BOOST_TEST((f.lost > 0 || f.delay > 0ms));
        if (i > 0) {
            BOOST_TEST((faults[i - 1].at <= f.at));
            together += faults[i - 1].at == f.at;
        }
    }
    BOOST_TEST(kinds.size() == 15U);
    BOOST_TEST(together > 60U);
}

BOOST_AUTO_TEST_SUITE_END()
