// Runs a walk inside a test.
#pragma once

#include "walk.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>

namespace colock::model {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COLOCK_MODEL_SLOW_BUILD 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
#define COLOCK_MODEL_SLOW_BUILD 1
#endif

// Walks this large would take minutes in a build that is ten times slower; they find no other
// faults there.
#if defined(COLOCK_MODEL_SLOW_BUILD)
constexpr std::size_t too_large = 200'000;
#else
constexpr std::size_t too_large = 1'000'000'000;
#endif

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
    if (floor > too_large) {
        BOOST_TEST_MESSAGE("left out: this build is too slow");
        return;
    }
    const auto since = std::chrono::steady_clock::now();
    const auto o = Walk{s}();
    report(o, since);
    BOOST_TEST(o.states >= floor);
}

inline void explore(const scenario& s, std::size_t floor)
{
    explore_by<exhaustive_walk>(s, floor);
}

// Many paths through a walk that is too large to be walked through.
inline void explore_at_random(const scenario& s, std::uint64_t seed)
{
    const auto since = std::chrono::steady_clock::now();
    const std::size_t paths = too_large < 1'000'000 ? 2'000 : 20'000;
    const auto o = random_walk{s, seed}(paths);
    report(o, since);
    BOOST_TEST(o.ends == paths);
}

} // namespace colock::model
