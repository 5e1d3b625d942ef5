// docs/errors.md has every code and every condition of error.hpp, no other, and says of which conditions a code is.
#include <colock/error.hpp>

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace colock::test::error_page_test {

namespace {

std::string content_of(const std::string& file)
{
    std::ifstream in{std::string{COLOCK_ROOT} + '/' + file};
    if (!in) {
        throw std::runtime_error{"cannot read " + file};
    }
    return {std::istreambuf_iterator<char>{in}, {}};
}

// The names of an enumeration, with their numbers, as error.hpp declares them.
std::map<std::string, int> enumerators(const std::string& header, const std::string& type)
{
    const auto begin = header.find("enum class " + type + " {");
    std::istringstream body{header.substr(begin, header.find("\n};", begin) - begin)};
    const std::regex declaration{"^    ([a-z_]+)( = (-?[0-9]+))?,$"};
    std::map<std::string, int> found;
    int next = 0;
    for (std::string line; std::getline(body, line);) {
        if (std::smatch m; std::regex_match(line, m, declaration)) {
            next = m[3].matched ? std::stoi(m[3]) : next;
            found.emplace(m[1], next++);
        }
    }
    return found;
}

std::vector<std::string> cells_of(const std::string& row)
{
    std::vector<std::string> cells;
    std::istringstream in{row};
    for (std::string cell; std::getline(in, cell, '|');) {
        const auto from = cell.find_first_not_of(' ');
        const auto to = cell.find_last_not_of(' ');
        cells.push_back(from == std::string::npos ? "" : cell.substr(from, to - from + 1));
    }
    return cells;
}

// The names of this type that begin a row of the page, and the last cell of the row.
std::map<std::string, std::string> rows(const std::string& page, const std::string& type)
{
    std::map<std::string, std::string> found;
    const std::regex name{"`" + type + "::([a-z_]+)`"};
    std::istringstream in{page};
    for (std::string line; std::getline(in, line);) {
        if (!line.starts_with("| `" + type + "::")) {
            continue;
        }
        const auto cells = cells_of(line);
        for (std::sregex_iterator i{cells.at(1).begin(), cells.at(1).end(), name}, end; i != end;
             ++i) {
            BOOST_TEST(found.emplace((*i)[1], cells.back()).second, (*i)[1].str()
                                                                        << " has two rows");
        }
    }
    return found;
}

struct pages {
    const std::string header = content_of("include/colock/error.hpp");
    const std::string page = content_of("docs/errors.md");
    const std::map<std::string, int> conditions = enumerators(header, "condition");

    // As the page lists them.
    std::string conditions_of(const colock::error_code& ec) const
    {
        std::set<std::string> names;
        for (const auto& [name, value] : conditions) {
            if (ec == static_cast<condition>(value)) {
                names.insert(name);
            }
        }
        std::string all;
        for (const auto& name : names) {
            all += (all.empty() ? "" : ", ") + name;
        }
        return all;
    }

    template <class Code>
    void check(const std::string& type, std::size_t at_least) const
    {
        const auto declared = enumerators(header, type);
        BOOST_TEST(declared.size() >= at_least); // else this test is blind
        auto shown = rows(page, type);
        for (const auto& [name, value] : declared) {
            const auto row = shown.find(name);
            BOOST_TEST((row != shown.end()), "no row for " << type << "::" << name);
            if (row != shown.end()) {
                const auto is = conditions_of(static_cast<Code>(value));
                BOOST_TEST(row->second == is, type << "::" << name << " is of \"" << is
                                                   << "\"; the page says \"" << row->second << '"');
                shown.erase(row);
            }
        }
        for (const auto& [name, _] : shown) {
            BOOST_ERROR("a row for " << type << "::" << name << ", which does not exist");
        }
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(error_page, pages)

BOOST_AUTO_TEST_CASE(has_every_condition)
{
    const auto shown = rows(page, "condition");
    BOOST_TEST(conditions.size() == 5U);
    BOOST_TEST(shown.size() == conditions.size());
    for (const auto& [name, _] : conditions) {
        BOOST_TEST(shown.contains(name), "no row for condition::" << name);
    }
}

BOOST_AUTO_TEST_CASE(has_every_code_of_colock)
{
    check<colock::errc>("errc", 30);
}

BOOST_AUTO_TEST_CASE(has_every_code_of_zookeeper)
{
    check<colock::zookeeper_errc>("zookeeper_errc", 30);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::error_page_test
