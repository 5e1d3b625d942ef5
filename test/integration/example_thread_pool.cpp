// The threads of the example work on one order of a customer at a time, and on orders of several customers at once.
#include "example_scene.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <sstream>

namespace colock::test::example_thread_pool_test {

BOOST_AUTO_TEST_SUITE(example_thread_pool)

BOOST_FIXTURE_TEST_CASE(one_order_of_a_customer_at_a_time, example_scene)
{
    struct change {
        std::int64_t at;
        int orders;
        auto operator<=>(const change&) const = default;
    };
    const auto most_at_once = [](std::vector<change> changes) {
        std::ranges::sort(changes);
        int orders = 0, most = 0;
        for (const auto& each : changes) {
            orders += each.orders;
            most = std::max(most, orders);
        }
        return most;
    };

    const std::vector<std::string> arguments{"12", server.hosts()};
    example processes[]{example{"thread_pool", arguments}, example{"thread_pool", arguments}};
    std::map<std::string, std::vector<change>> of_customers;
    for (auto& each : processes) {
        std::vector<change> changes; // of this process
        for (const auto& line : each.rest()) {
            std::istringstream words{line};
            std::string customer, number, from, to;
            change begin{0, 1}, end{0, -1};
            words >> customer >> number >> from >> begin.at >> to >> end.at;
            BOOST_REQUIRE_MESSAGE(words && customer == "customer" && begin < end, line);
            for (auto* list : {&changes, &of_customers[number]}) {
                list->push_back(begin);
                list->push_back(end);
            }
        }
        BOOST_TEST(each.wait().success());
        BOOST_TEST(changes.size() == 2U * 12U);
        BOOST_TEST(most_at_once(changes) >= 2); // else one thread would have been enough
    }
    BOOST_TEST(of_customers.size() == 3U);
    for (const auto& [number, changes] : of_customers) {
        BOOST_TEST(changes.size() == 2U * 2U * 4U);
        BOOST_TEST(most_at_once(changes) == 1, "customer " << number);
    }
    check_nothing_left();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::example_thread_pool_test
