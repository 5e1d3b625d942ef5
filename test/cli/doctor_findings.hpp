// What `colock doctor` finds, for tests.
#ifndef COLOCK_TEST_CLI_DOCTOR_FINDINGS_HPP
#define COLOCK_TEST_CLI_DOCTOR_FINDINGS_HPP

#include "colock_process.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::test {

namespace json = boost::json;

/// What `colock doctor --json` has said.
struct looked {
    int status = -1;
    json::object said;
    std::string err;

    /// "warning: text" of each finding about the subject, a line each.
    std::string about(std::string_view subject) const
    {
        std::string out;
        for (const auto& f : said.at("findings").as_array()) {
            if (f.at("subject").as_string() == subject) {
                out += std::string{f.at("severity").as_string()} + ": " +
                       std::string{f.at("text").as_string()} + '\n';
            }
        }
        return out;
    }
    std::int64_t count(const char* what) const { return said.at(what).to_number<std::int64_t>(); }
};

inline looked look(const std::string& servers, std::vector<std::string> arguments = {},
                   std::vector<std::string> environment = {})
{
    arguments.insert(arguments.begin(), {"doctor", "--json"});
    const auto r = run_colock(servers, std::move(arguments), std::move(environment));
    looked l;
    l.status = r.status;
    l.err = r.err;
    BOOST_TEST_REQUIRE(!r.out.empty(), r.err);
    l.said = json::parse(r.out).as_object();
    return l;
}

inline bool has(const std::string& text, std::string_view part)
{
    return text.find(part) != text.npos;
}

} // namespace colock::test

#endif
