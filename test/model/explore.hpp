// Runs a walk inside a test.
#pragma once

#include "../support/sanitizers.hpp"
#include "depth_first.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace colock::model {

// The largest walk of this run, in states. With COLOCK_WALKS=all in the environment there is no limit, but in a build that
// is ten times slower: there the large walks would take minutes, and find no other faults. Each planted fault is found by a
// walk below the limit: test/support/planted.sh runs no larger one.
inline std::size_t largest_walk()
{
    if constexpr (!test::optimized) {
        return 200'000;
    }
    const char* const walks = std::getenv("COLOCK_WALKS");
    return walks != nullptr && std::string_view{walks} == "all" ? 1'000'000'000 : 400'000;
}

inline void report(const outcome& o, std::chrono::steady_clock::time_point since)
{
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - since;
    std::printf("%s: %zu states, %zu transitions, %zu ends, depth %zu, %.1f s\n",
                boost::unit_test::framework::current_test_case().p_name->c_str(), o.states,
                o.transitions, o.ends, o.depth, took.count());
    std::fflush(stdout);
    BOOST_TEST(o.violated.empty(), o.violated);
    BOOST_TEST(o.ends != 0u);
}

// `floor`: so many states there are at least, unless the walk no longer goes where it used to.
template <class Walk, class Scenario>
void explore_by(const Scenario& s, std::size_t floor)
{
    if (floor > largest_walk()) {
        BOOST_TEST_MESSAGE("left out: it is too large for this run");
        return;
    }
    const auto since = std::chrono::steady_clock::now();
    const auto o = Walk{s}();
    report(o, since);
    BOOST_TEST(o.states >= floor);
}

} // namespace colock::model
