// Readers of the example serve one value together, which one of them has made.
#include "example_scene.hpp"

#include <algorithm>
#include <memory>

namespace colock::test::example_reader_writer_cache_test {

BOOST_FIXTURE_TEST_SUITE(example_reader_writer_cache, example_scene)

BOOST_AUTO_TEST_CASE(one_makes_what_all_serve)
{
    std::vector<std::unique_ptr<example>> readers;
    for (int i = 0; i != 4; ++i) {
        readers.push_back(std::make_unique<example>(
            "reader_writer_cache", std::vector<std::string>{"60000", server.hosts()}));
    }
    int makers = 0;
    std::vector<std::string> served;
    for (auto& each : readers) {
        auto lines = each->rest();
        BOOST_TEST(each->wait().success());
        makers += static_cast<int>(std::erase(lines, "making new rates"));
        BOOST_REQUIRE(lines.size() == 2U);
        BOOST_TEST(lines[0].starts_with("serving rates by token "));
        BOOST_TEST(lines[1] == "served");
        served.push_back(lines[0]);
    }
    BOOST_TEST(makers == 1);
    BOOST_TEST(std::ranges::count(served, served[0]) == 4);

    // With less patience the next one makes a new value.
    example impatient{"reader_writer_cache", {"0", server.hosts()}};
    impatient.line_after("making new rates");
    BOOST_TEST(impatient.line() != served[0]);
    BOOST_TEST(impatient.line() == "served");
    BOOST_TEST(impatient.wait().success());
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_reader_is_let_in_while_another_one_serves)
{
    const std::vector<std::string> arguments{"60000", server.hosts()};
    example first{"reader_writer_cache", arguments};
    const auto rates = first.skip_to("serving ");
    // It holds the shared lock, by its downgrade, and keeps it while it is stopped.
    BOOST_REQUIRE(first.stop());
    example second{"reader_writer_cache", arguments};
    BOOST_TEST(second.line() == "serving " + rates);
    first.resume();
    BOOST_TEST(second.line() == "served");
    BOOST_TEST(first.line() == "served");
    BOOST_TEST(first.wait().success());
    BOOST_TEST(second.wait().success());
    check_nothing_left();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::example_reader_writer_cache_test
