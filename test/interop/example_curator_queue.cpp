// The example in C++ and its counterpart in Java count together, and neither loses what the other one counts.
#include <support/admin_session.hpp>
#include <support/zookeeper_server.hpp>

#include "../integration/example_scene.hpp"

#include <algorithm>

using namespace colock::test;

BOOST_AUTO_TEST_CASE(colock_and_curator_count_together)
{
    zookeeper_server server;
    constexpr int turns = 100;
    const auto all = std::to_string(turns);
    example theirs{"peers/example-curator-queue", {all, server.connect_string()}};
    BOOST_TEST(theirs.line() == "Curator counts 1"); // it takes longer to start
    example ours{"curator_queue", {all, server.connect_string()}};

    auto counted = theirs.rest();
    counted.emplace_back("Curator counts 1");
    const auto of_ours = ours.rest();
    const auto number = [](const std::string& line) {
        return std::stoi(line.substr(line.rfind(' ')));
    };
    // They took turns: ours began before theirs had ended.
    BOOST_REQUIRE(of_ours.size() == turns);
    BOOST_TEST(number(of_ours.front()) < turns);
    counted.insert(counted.end(), of_ours.begin(), of_ours.end());
    std::ranges::sort(counted, {}, number);
    BOOST_REQUIRE(counted.size() == 2 * turns);
    for (int i = 0; i != 2 * turns; ++i) {
        BOOST_TEST(number(counted[static_cast<std::size_t>(i)]) == i + 1);
    }
    BOOST_TEST(ours.wait().success());
    BOOST_TEST(theirs.wait().success());
    BOOST_TEST(admin_session{server.connect_string()}.get("/counter") == std::to_string(2 * turns));
    BOOST_TEST(server.sessions().empty());
}
