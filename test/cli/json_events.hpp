// What `colock run --json` says.
#ifndef COLOCK_TEST_CLI_JSON_EVENTS_HPP
#define COLOCK_TEST_CLI_JSON_EVENTS_HPP

#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

namespace colock::test {

inline std::vector<boost::json::object> events_in(const std::string& text)
{
    std::vector<boost::json::object> all;
    std::istringstream lines{text};
    for (std::string line; std::getline(lines, line);) {
        boost::system::error_code ec;
        const auto value = boost::json::parse(line, ec);
        BOOST_TEST(!ec, line);
        if (value.is_object()) {
            all.push_back(value.get_object());
        }
    }
    return all;
}

inline std::string text_of(const boost::json::object& event, const char* field)
{
    return std::string{event.at(field).as_string()};
}

inline std::size_t count(const std::vector<boost::json::object>& all, const std::string& event)
{
    return static_cast<std::size_t>(
        std::ranges::count_if(all, [&](const auto& e) { return text_of(e, "event") == event; }));
}

} // namespace colock::test

#endif
