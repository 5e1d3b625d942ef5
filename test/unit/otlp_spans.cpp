// The spans of examples/spans/otlp.hpp, of events in orders that are rare.
#include "../../examples/spans/otlp.hpp"

#include <boost/property_tree/json_parser.hpp>
#include <boost/property_tree/ptree.hpp>
#include <boost/test/unit_test.hpp>

#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace pt = boost::property_tree;
using namespace colock;

namespace {

struct traced {
    std::ostringstream out;
    otlp::spans spans{out};

    static acquisition_info info(std::uint64_t id)
    {
        return {.id = id, .kind = acquisition_kind::shared_mutex, .shared = true, .path = "/rw"};
    }
    void begin(std::uint64_t id) { spans.acquisition_began({.what = info(id)}); }
    void grant(std::uint64_t id)
    {
        spans.acquisition_ended({.what = info(id),
                                 .outcome = acquisition_outcome::granted,
                                 .source = grant_source::handed_over,
                                 .node = "/rw/_c_01234567-89ab-cdef-0123-456789abcdef-read-7"});
    }
    void end_hold(std::uint64_t id, error_code loss = {})
    {
        spans.hold_ended({.what = info(id), .loss = loss});
    }
    [[nodiscard]] std::vector<pt::ptree> all() const
    {
        std::istringstream lines{out.str()};
        std::vector<pt::ptree> found;
        for (std::string line; std::getline(lines, line);) {
            std::istringstream in{line};
            pt::read_json(in, found.emplace_back());
        }
        return found;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(otlp_spans, traced)

BOOST_AUTO_TEST_CASE(readers_that_are_granted_together_have_spans_of_their_own)
{
    for (const auto id : {1U, 2U}) {
        begin(id);
    }
    for (const auto id : {1U, 2U}) {
        grant(id);
    }
    for (const auto id : {1U, 2U}) {
        end_hold(id);
    }
    std::set<std::string> ids;
    for (const auto& each : all()) {
        ids.insert(each.get<std::string>("spanId"));
    }
    BOOST_TEST(ids.size() == 4U);
    BOOST_TEST(ids.contains("0123456789abcdef")); // others know it by the node
}

BOOST_AUTO_TEST_CASE(a_hold_that_is_lost_before_its_grant_is_told_is_left_out)
{
    begin(1);
    end_hold(1, errc::session_expired);
    grant(1);
    end_hold(1); // the acquisition is not kept
    const auto found = all();
    BOOST_REQUIRE(found.size() == 1U);
    BOOST_TEST(found.front().get<std::string>("name") == "acquire");
}

BOOST_AUTO_TEST_SUITE_END()
