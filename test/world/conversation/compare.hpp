// Whether two sides have said the same.
#pragma once

#include "script.hpp"
#include "transcript.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

namespace world::conversation {

inline void compare(const transcript& one, const transcript& other_one)
{
    const auto& a = one.lines();
    const auto& b = other_one.lines();
    BOOST_TEST(a.size() > 20u);
    const auto [at, other] = std::ranges::mismatch(a, b);
    if (at == a.end() && other == b.end()) {
        return;
    }
    const auto line = at - a.begin();
    std::string before;
    for (auto i = std::max<std::ptrdiff_t>(0, line - 6); i != line; ++i) {
        before += "\n  " + a[static_cast<std::size_t>(i)];
    }
    BOOST_ERROR("line " << line << ':' << before
                        << "\nfirst:  " << (at == a.end() ? "(the end)" : *at)
                        << "\nsecond: " << (other == b.end() ? "(the end)" : *other));
}

// How many scripts about anything; by default as many as fit into ten seconds.
inline unsigned long number_of_scripts()
{
    const auto* chosen = std::getenv("COLOCK_TEST_CONVERSATIONS");
    return chosen != nullptr ? std::strtoul(chosen, nullptr, 10) : 3;
}

// Says how many there were: what CI runs is less than what the pages tell of.
inline void compare_scripts(const char* about, side& one, side& other_one,
                            transcript (*script)(side&, std::uint64_t, std::size_t))
{
    std::size_t lines = 0;
    for (std::uint64_t seed = 1; seed <= number_of_scripts(); ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed)
        {
            const auto said = script(one, seed, 150);
            compare(said, script(other_one, seed, 150));
            lines += said.lines().size();
        }
    }
    std::cout << "figure: " << one.name() << " and " << other_one.name() << ", "
              << (one.servers() == 1 ? "one server" : "three servers") << ": "
              << number_of_scripts() << " conversations about " << about << ", " << lines
              << " lines\n";
    BOOST_TEST(lines > 300 * number_of_scripts());
}

inline void compare_about_anything(side& one, side& other_one)
{
    compare_scripts("anything", one, other_one, anything);
}

inline void compare_about_lists_that_change(side& one, side& other_one)
{
    compare_scripts("lists that change", one, other_one, lists_that_change);
}

} // namespace world::conversation
