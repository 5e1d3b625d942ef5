// Whether two sides have said the same.
#pragma once

#include "transcript.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
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

} // namespace world::conversation
