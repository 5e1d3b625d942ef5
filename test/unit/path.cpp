// Which paths are refused, and why; and how paths are taken apart.

#include "protocol/names/path.hpp"

#include <boost/test/unit_test.hpp>

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

using namespace std::literals;
using namespace colock::protocol;

namespace {

struct row {
    std::string_view path;
    std::string_view fault; // a part of it; "" when the path is valid
    std::string_view sequential_fault;
};

void check(std::string_view path, bool sequential, std::string_view expected)
{
    const auto fault = path_fault(path, sequential);
    BOOST_TEST_CONTEXT("path \"" << path.substr(0, 40) << "\", sequential " << sequential)
    {
        BOOST_TEST(fault.empty() == expected.empty(), fault);
        BOOST_TEST(fault.find(expected) != std::string::npos,
                   fault << " does not say " << expected);
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(path)

BOOST_AUTO_TEST_CASE(fault_of_each_kind)
{
    const row rows[] = {
        {"/", "", ""},
        {"/a", "", ""},
        {"/locks/orders", "", ""},
        {"/a b/ä/€/𝄞", "", ""}, // UTF-8
        {"/.a/..b/c./...", "", ""},
        {"/zookeeper/quota", "", ""},
        {"", "is empty", "is empty"},
        {"a", "does not begin", "does not begin"},
        {"a/b", "does not begin", "does not begin"},
        {"./a", "does not begin", "does not begin"},
        {"/a/", "ends in '/'", ""},
        {"//", "contains \"//\"", "contains \"//\""},
        {"//a", "contains \"//\"", "contains \"//\""},
        {"/a//b", "contains \"//\"", "contains \"//\""},
        {"/a//", "contains \"//\"", "contains \"//\""},
        // With a number behind them the last names are other ones.
        {"/.", "contains \".\"", ""},
        {"/..", "contains \"..\"", ""},
        {"/a/.", "contains \".\"", ""},
        {"/a/..", "contains \"..\"", ""},
        {"/./a", "contains \".\"", "contains \".\""},
        {"/a/../b", "contains \"..\"", "contains \"..\""},
        {"/a\0b"sv, "NUL", "NUL"},
        {"/a\0"sv, "NUL", "NUL"},
        {"/a\nb", "control character", "control character"},
        {"/\x01", "control character", "control character"},
        {"/a\x1f/b", "control character", "control character"},
        {"/a\x7f", "control character", "control character"},
    };
    for (const auto& r : rows) {
        check(r.path, false, r.fault);
        check(r.path, true, r.sequential_fault);
    }
}

BOOST_AUTO_TEST_CASE(fault_of_length)
{
    const auto longest = '/' + std::string(max_path_length - 1, 'x');
    check(longest, false, "");
    check(longest + 'x', false, "is longer than 4096");
    check(longest + 'x', true, "is longer than 4096");
}

BOOST_AUTO_TEST_CASE(joined)
{
    BOOST_TEST(join_path("/", "a") == "/a");
    BOOST_TEST(join_path("/a", "b") == "/a/b");
    BOOST_TEST(join_path("/a/b", "c-0000000001") == "/a/b/c-0000000001");
}

BOOST_AUTO_TEST_CASE(taken_apart)
{
    BOOST_TEST(parent_path("/a/b/c") == "/a/b");
    BOOST_TEST(parent_path("/a") == "/");
    BOOST_TEST(parent_path("/") == "/");
    BOOST_TEST(last_name("/a/b/c") == "c");
    BOOST_TEST(last_name("/a") == "a");
    BOOST_TEST(last_name("/") == "");
}

BOOST_AUTO_TEST_CASE(ancestors_first)
{
    const std::vector<std::string> three{"/a", "/a/b", "/a/b/c"};
    BOOST_TEST(path_and_ancestors("/a/b/c") == three, boost::test_tools::per_element());
    const std::vector<std::string> one{"/a"};
    BOOST_TEST(path_and_ancestors("/a") == one, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
