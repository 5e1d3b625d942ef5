// Which paths are refused, and why; and how paths are taken apart.

#include "names/path.hpp"

#include "names/path_text.hpp"

#include <boost/test/unit_test.hpp>

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test::path_test {

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
        {"/a b/ä/€/\xef\xa4\x80\xef\xbf\xaf", "", ""}, // UTF-8
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
        {"/a/\xc2\x80", "control character", "control character"},
        {"/a/\xc2\x9f", "control character", "control character"},
        {"/𝄞", "ZooKeeper does not allow", "ZooKeeper does not allow"},
        {"/a\xee\x80\x80", "ZooKeeper does not allow", "ZooKeeper does not allow"},
        {"/a\xef\xbf\xbd/b", "ZooKeeper does not allow", "ZooKeeper does not allow"},
        {"/a\xff", "no UTF-8", "no UTF-8"},
        {"/\xc0\xaf", "no UTF-8", "no UTF-8"},
        {"/\xed\xa0\x80", "no UTF-8", "no UTF-8"}, // a surrogate
        {"/\xe2\x82", "no UTF-8", "no UTF-8"},
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

// PathUtils.validatePath() of ZooKeeper, for one UTF-16 unit within a name.
bool servers_take(std::uint32_t unit)
{
    return unit != 0 && unit != '/' && !(unit >= 1 && unit <= 0x1f) &&
           !(unit >= 0x7f && unit <= 0x9f) && !(unit >= 0xd800 && unit <= 0xf8ff) &&
           !(unit >= 0xfff0);
}

// Of any number below 0x200000, as if it were a character: also surrogates, and what is beyond Unicode.
std::string utf8(std::uint32_t code)
{
    const auto tail = [&](int shift) { return static_cast<char>(0x80 | ((code >> shift) & 0x3f)); };
    if (code < 0x80) {
        return {static_cast<char>(code)};
    }
    if (code < 0x800) {
        return {static_cast<char>(0xc0 | (code >> 6)), tail(0)};
    }
    if (code < 0x10000) {
        return {static_cast<char>(0xe0 | (code >> 12)), tail(6), tail(0)};
    }
    return {static_cast<char>(0xf0 | (code >> 18)), tail(12), tail(6), tail(0)};
}

// The same, up to 3.4.
bool old_servers_take(std::uint32_t unit)
{
    return unit != 0 && unit != '/' && !(unit > 0 && unit < 0x1f) &&
           !(unit > 0x7f && unit < 0x9f) && !(unit > 0xd800 && unit < 0xf8ff) &&
           !(unit > 0xfff0 && unit < 0xffff);
}

// What a terminal may obey, or is not UTF-8.
bool harms(std::uint32_t code)
{
    return code == '/' || code < 0x1f || (code >= 0x80 && code <= 0x9e) ||
           (code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff;
}

BOOST_AUTO_TEST_CASE(users_say_what_servers_take_and_servers_what_any_of_them_took)
{
    using colock::detail::is_node_name;
    using colock::detail::text_fault;
    for (std::uint32_t code = 0; code != 0x112000; ++code) {
        const auto alone = utf8(code);
        const auto before = code % 11; // within eight bytes that are looked at together, or not
        const auto within = std::string(before, 'x') + alone + std::string(9, 'y');
        // Beyond U+FFFF each is two surrogates to the servers.
        const bool taken = code == '/' || (code < 0x10000 && servers_take(code));
        if ((text_fault(alone) == nullptr) != taken || (text_fault(within) == nullptr) != taken) {
            BOOST_ERROR("a user's: " << code);
        }
        if (is_node_name(alone) != (!harms(code) && code != '.') ||
            is_node_name(within) == harms(code)) {
            BOOST_ERROR("a server's: " << code);
        }
        // Not U+D800: the wire brings no half of a pair to a server.
        if (code < 0x10000 && code != 0xd800 && old_servers_take(code) && harms(code)) {
            BOOST_ERROR("an old server's: " << code);
        }
    }
    for (const std::string bad :
         {"", ".", "..", "/", "a/b", "\xff", "\xc3", "abcdefgh\xe2\x82", "\xc1\x81", "\xe0\x80\xaf",
          "\xf0\x80\x80\xaf", "\xf8\x88\x80\x80\x80"}) {
        BOOST_TEST(!is_node_name(bad), bad);
    }
    for (const std::string good : {"...", ".a", "a.", "..a", " ", "~", "\x20\x7e"}) {
        BOOST_TEST(is_node_name(good), good);
    }
}

BOOST_AUTO_TEST_CASE(eight_ordinary_bytes_are_told_from_others_byte_by_byte)
{
    for (std::size_t at = 0; at != 8; ++at) {
        for (unsigned byte = 0; byte != 256; ++byte) {
            for (const char around : {' ', '!', 'a', '~'}) {
                std::string text(8, around);
                text[at] = static_cast<char>(byte);
                const bool ordinary = byte >= 0x20 && byte < 0x7f;
                if ((colock::detail::text_fault(text) == nullptr) != ordinary) {
                    BOOST_ERROR(byte << " at " << at);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(paths_are_names_behind_slashes)
{
    using colock::detail::is_node_path;
    for (const auto* good : {"/", "/a", "/a/b", "/.../..a", "/a b"}) {
        BOOST_TEST(is_node_path(good), good);
    }
    for (const auto* bad : {"", "a", "//", "/a/", "/a//b", "/.", "/..", "/a/.", "/a/../b", "/a\n",
                            "/a/\x1b[2J", "/\xff"}) {
        BOOST_TEST(!is_node_path(bad), bad);
    }
}

BOOST_AUTO_TEST_CASE(numbers_are_those_that_a_server_appends)
{
    using colock::detail::is_appended_number;
    for (const auto* good : {"0000000000", "2147483647", "-000000001", "-2147483648"}) {
        BOOST_TEST(is_appended_number(good), good);
    }
    for (const auto* bad : {"", "-", "1", "000000000", "00000000000", "-00000001", "--00000001",
                            "000000000a", "0000000000\n", "+000000001", "-21474836480"}) {
        BOOST_TEST(!is_appended_number(bad), bad);
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::path_test
