// The spans of two processes: each is an object of JSON, and links name the hold that was waited for.
#include <support/wait_until.hpp>

#include "example_scene.hpp"

#include <boost/property_tree/json_parser.hpp>
#include <boost/property_tree/ptree.hpp>

#include <algorithm>
#include <map>
#include <sstream>

namespace colock::test::example_spans_test {

namespace pt = boost::property_tree;

BOOST_FIXTURE_TEST_SUITE(example_spans, example_scene)

BOOST_AUTO_TEST_CASE(links_name_the_hold_that_was_waited_for)
{
    std::map<std::string, pt::ptree> all; // by identifier
    std::map<std::string, int> names;
    // One after the other: as long as another client may wait, a lock that is held for over 10 ms is not handed off in memory.
    for (int process = 0; process != 2; ++process) {
        example spans{"spans", {server.hosts()}};
        for (const auto& line : spans.rest()) {
            std::istringstream in{line};
            pt::ptree span;
            pt::read_json(in, span);
            const auto id = span.get<std::string>("spanId");
            BOOST_TEST(id.size() == 16U);
            BOOST_TEST(span.get<std::string>("traceId").size() == 32U);
            BOOST_TEST(span.get<std::uint64_t>("startTimeUnixNano") <=
                       span.get<std::uint64_t>("endTimeUnixNano"));
            BOOST_TEST(span.get<int>("status.code") == 1);
            ++names[span.get<std::string>("name")];
            BOOST_TEST(all.emplace(id, span).second);
        }
        BOOST_TEST(spans.wait().success());
    }
    BOOST_TEST(names["acquire"] == 4);
    BOOST_TEST(names["hold"] == 4);
    int in_memory = 0, parents = 0;
    for (const auto& [id, span] : all) {
        if (span.get<std::string>("name") == "acquire") {
            const auto parent = span.get<std::string>("parentSpanId");
            parents += parent == std::string(16, 'a') || parent == std::string(16, 'b') ? 1 : 0;
        }
        for (const auto& [key, link] : span.get_child("links")) {
            const auto at = all.find(link.get<std::string>("spanId"));
            BOOST_REQUIRE((at != all.end()));
            BOOST_TEST(at->second.get<std::string>("traceId") == link.get<std::string>("traceId"));
            if (span.get<std::string>("name") == "acquire") {
                BOOST_TEST(at->second.get<std::string>("name") == "hold");
                ++in_memory;
            }
        }
    }
    BOOST_TEST(parents == 4);
    BOOST_TEST(in_memory == 2); // in each process the second one
    check_nothing_left();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::example_spans_test
