// The same conversations with a real ZooKeeper server and with the simulated one. What both say is compared, line by
// line.
#include "script.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

using namespace world::conversation;
using namespace std::chrono_literals;

namespace {

void compare(const transcript& real, const transcript& simulated)
{
    const auto& a = real.lines();
    const auto& b = simulated.lines();
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
                        << "\nreal:     " << (at == a.end() ? "(the end)" : *at)
                        << "\nsimulated: " << (other == b.end() ? "(the end)" : *other));
}

} // namespace

BOOST_AUTO_TEST_SUITE(conversation)

BOOST_AUTO_TEST_CASE(about_anything)
{
    const auto real = make_real_side({}, 1h);
    const auto simulated = make_simulated_side({}, 1h, real->exists_needs_read());
    const auto chosen = std::getenv("COLOCK_TEST_CONVERSATIONS");
    const auto count = chosen != nullptr ? std::strtoul(chosen, nullptr, 10) : 10;
    std::size_t lines = 0;
    for (std::uint64_t seed = 1; seed <= count; ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed)
        {
            const auto said = anything(*real, seed, 150);
            compare(said, anything(*simulated, seed, 150));
            lines += said.lines().size();
        }
    }
    BOOST_TEST_MESSAGE(lines << " lines");
}

BOOST_AUTO_TEST_CASE(about_the_end_of_the_numbers)
{
    const auto real = make_real_side(near_the_end(), 1h);
    const auto simulated = make_simulated_side(near_the_end(), 1h, real->exists_needs_read());
    compare(the_end_of_the_numbers(*real, 1), the_end_of_the_numbers(*simulated, 1));
}

BOOST_AUTO_TEST_CASE(about_what_the_server_removes)
{
    const auto real = make_real_side({}, 100ms);
    const auto simulated = make_simulated_side({}, 100ms, real->exists_needs_read());
    compare(what_the_server_removes(*real), what_the_server_removes(*simulated));
}

BOOST_AUTO_TEST_SUITE_END()
