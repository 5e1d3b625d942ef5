// The processes of the example together make three calls at a time.
#include "example_scene.hpp"

#include <algorithm>
#include <cstdint>
#include <sstream>

namespace colock::test::example_rate_limiter_test {

BOOST_AUTO_TEST_SUITE(example_rate_limiter)

BOOST_FIXTURE_TEST_CASE(three_calls_at_a_time, example_scene)
{
    struct change {
        std::int64_t at;
        int calls;
        auto operator<=>(const change&) const = default;
    };
    std::vector<change> changes;
    const std::vector<std::string> arguments{"8", server.hosts()};
    example processes[]{example{"rate_limiter", arguments}, example{"rate_limiter", arguments},
                        example{"rate_limiter", arguments}};
    for (auto& each : processes) {
        for (const auto& line : each.rest()) {
            std::istringstream words{line};
            std::string call, from, to;
            change begin{0, 1}, end{0, -1};
            words >> call >> from >> begin.at >> to >> end.at;
            BOOST_REQUIRE_MESSAGE(words && call == "call" && begin < end, line);
            changes.push_back(begin);
            changes.push_back(end);
        }
        BOOST_TEST(each.wait().success());
    }
    BOOST_TEST(changes.size() == 2U * 3U * 8U);
    std::ranges::sort(changes);
    int calls = 0, most = 0;
    for (const auto& each : changes) {
        calls += each.calls;
        most = std::max(most, calls);
    }
    BOOST_TEST(most <= 3);
    BOOST_TEST(most >= 2); // else it would be a mutex
    check_nothing_left();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::example_rate_limiter_test
