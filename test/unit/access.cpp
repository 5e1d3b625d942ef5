// Which permission a refused request lacked; which access control lists protect a node; text of others in one line.
#include "names/shown.hpp"
#include "recipes/exposure.hpp"
#include "session/missing_permission.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>

namespace colock::test::access_test {

using namespace std::literals;
using namespace colock::protocol;

namespace {

bool says(const std::string& text, std::string_view words)
{
    return text.find(words) != std::string::npos;
}

const acl_entry me{permission_all, "digest", "me:hash"};
const acl_entry you{permission_all, "digest", "you:hash"};

std::string others(const access_control_list& acl, const access_control_list& own)
{
    const auto found = entry_for_others(acl, own);
    return found ? found->scheme + ':' + found->id : "none";
}

} // namespace

BOOST_AUTO_TEST_SUITE(access_control)

BOOST_AUTO_TEST_CASE(what_is_missing_and_where)
{
    const struct {
        zk::opcode what;
        std::string_view path, words;
    } rows[] = {
        {zk::opcode::create, "/a/b", "lacks CREATE on /a;"},
        {zk::opcode::create, "/a", "lacks CREATE on /;"},
        {zk::opcode::remove, "/a/b", "lacks DELETE on /a;"},
        {zk::opcode::remove, "/a", "lacks DELETE on /;"},
        {zk::opcode::get, "/a/b", "lacks READ on /a/b;"},
        {zk::opcode::exists, "/a/b", "lacks READ on /a/b;"},
        {zk::opcode::children, "/a/b", "lacks READ on /a/b;"},
        {zk::opcode::set, "/a/b", "lacks WRITE on /a/b;"},
        {zk::opcode::set_acl, "/a/b", "lacks ADMIN on /a/b;"},
        {zk::opcode::get_acl, "/", "lacks READ or ADMIN on /;"},
        {zk::opcode::get, "/a/\x1b[2J", "lacks READ on /a/\\x1b[2J;"},
    };
    for (const auto& row : rows) {
        const auto words = missing_permission_words(row.what, row.path);
        BOOST_TEST(says(words, row.words), words << " does not say " << row.words);
        BOOST_TEST(says(words, "client_options::credentials"));
    }
}

BOOST_AUTO_TEST_CASE(what_everybody_may_do)
{
    BOOST_TEST(entry_for_everybody(open_acl()).has_value());
    BOOST_TEST(!entry_for_everybody(creator_acl()));
    BOOST_TEST(!entry_for_everybody(read_only_acl()));
    for (const auto bit :
         {permission_write, permission_create, permission_delete, permission_admin}) {
        const access_control_list acl{me, {permission_read | bit, "world", "anyone"}};
        BOOST_TEST(entry_for_everybody(acl).value().permissions == (permission_read | bit));
    }
    BOOST_TEST(!entry_for_everybody({{0, "world", "anyone"}}));
    BOOST_TEST(entry_for_everybody({{permission_write, "ip", "0.0.0.0/0"}}).has_value());
    BOOST_TEST(entry_for_everybody({{permission_write, "ip", "::/0"}}).has_value());
    BOOST_TEST(!entry_for_everybody({{permission_read, "ip", "0.0.0.0/0"}}));
    BOOST_TEST(!entry_for_everybody({{permission_all, "ip", "10.0.0.0/8"}}));
}

BOOST_AUTO_TEST_CASE(what_others_may_do)
{
    const acl_entry world_reads{permission_read, "world", "anyone"};
    const acl_entry world_creates{permission_create, "world", "anyone"};
    BOOST_TEST(others({me}, {me}) == "none");
    BOOST_TEST(others({me, world_reads}, {me}) == "none");
    BOOST_TEST(others({me, you}, {me, you}) == "none");
    BOOST_TEST(others({you, me}, {me, you}) == "none");
    BOOST_TEST(others({me, you}, {me}) == "digest:you:hash");
    BOOST_TEST(others({you}, {me}) == "digest:you:hash");
    BOOST_TEST(others({world_creates, me}, {me}) == "world:anyone");
    BOOST_TEST(others({}, {me}) == "none");
    // More than the list of the program gives them.
    const acl_entry you_read{permission_read, you.scheme, you.id};
    const acl_entry you_write{permission_write, you.scheme, you.id};
    BOOST_TEST(others({me, you}, {me, you_read}) == "digest:you:hash");
    BOOST_TEST(others({me, you_write}, {me, you_read}) == "digest:you:hash");
    BOOST_TEST(others({me, you_write}, {me, you_read, you_write}) == "none");
    // A hash that is not shown may be that of any password.
    const acl_entry masked{permission_all, "digest", "me:x"};
    BOOST_TEST(is_masked(masked));
    BOOST_TEST(others({masked}, {masked}) == "digest:me:x");
    BOOST_TEST(others({{permission_read, "digest", "me:x"}}, {masked}) == "none");
    // Another scheme or identity is somebody else.
    BOOST_TEST(others({{permission_all, "x509", "me:hash"}}, {me}) == "x509:me:hash");
    BOOST_TEST(others({{permission_all, "digest", "me:x"}}, {me}) == "digest:me:x");
}

BOOST_AUTO_TEST_CASE(an_entry_in_words)
{
    BOOST_TEST(entry_words({permission_read | permission_admin, "world", "anyone"}) ==
               "world:anyone may READ, ADMIN");
    BOOST_TEST(entry_words({permission_read, "digest", "me:tPqkCGmHc="}) == "digest:me may READ");
    BOOST_TEST(entry_words({permission_all, "x509", "CN=\x1b]0;x\a"}) ==
               "x509:CN=\\x1b]0;x\\x07 may READ, WRITE, CREATE, DELETE, ADMIN");
    BOOST_TEST(entry_words({permission_write, "x509", std::string(1'000'000, 'x')}).size() < 300U);
}

BOOST_AUTO_TEST_CASE(text_of_others_stays_in_its_line)
{
    const struct {
        std::string_view text, line;
    } rows[] = {
        {"", ""},
        {"/locks/Schl\xc3\xb6sser \xe2\x82\xac \xf0\x9d\x84\x9e", ""}, // as it is
        {"a\nb\r\tc\0d"sv, "a\\x0ab\\x0d\\x09c\\x00d"},
        {"\x1b[31m\x7f", "\\x1b[31m\\x7f"},
        {"\xc2\x9b"
         "2J",
         "\\xc2\\x9b2J"}, // CSI in one character
        {"a\xe2\x80\xae"
         "b\xe2\x80\x8b",
         "a\\xe2\\x80\\xaeb\\xe2\\x80\\x8b"}, // turns the line; has no width
        {"\xcd\x8f", "\\xcd\\x8f"},           // joins two characters, unseen
        {"\xe3\x85\xa4", "\\xe3\\x85\\xa4"},  // a letter that is blank
        {"\xef\xb8\x8f", "\\xef\\xb8\\x8f"},  // chooses a variant
        {"\xef\xbf\xbd", ""},                 // of what could not be read: it is seen
        {"\xff\xfe", "\\xff\\xfe"},           // no UTF-8
        {"\xc3", "\\xc3"},                    // cut off
        {"\xc3(", "\\xc3("},
        {"\xc0\x8a", "\\xc0\\x8a"},                   // a newline, longer than need be
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},          // a surrogate
        {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, // beyond Unicode
        {"\xf3\xa0\x81\x81", "\\xf3\\xa0\\x81\\x81"}, // a tag
    };
    for (const auto& row : rows) {
        const std::string_view expected = row.line.empty() ? row.text : row.line;
        BOOST_TEST(shown(row.text) == expected);
        BOOST_TEST(shown(expected) == expected); // once more makes no difference
    }
    for (int c = 0; c != 256; ++c) { // in every place
        const auto line = shown(std::string{"x\xe2\x82\xac"} + static_cast<char>(c) + "\xc3\xb6");
        BOOST_TEST(line.starts_with("x\xe2\x82\xac"));
        BOOST_TEST(line.ends_with("\xc3\xb6"));
    }
}

BOOST_AUTO_TEST_CASE(long_text_is_cut_between_two_characters)
{
    BOOST_TEST(shown(std::string(1'000'000, 'x'), 5) == "xxxxx...");
    BOOST_TEST(shown("xxxxx", 5) == "xxxxx");
    BOOST_TEST(shown("xxxx\xc3\xb6", 5) == "xxxx...");
    BOOST_TEST(shown("xxx\x1b", 6) == "xxx...");
    BOOST_TEST(shown("xxx\x1b", 7) == "xxx\\x1b");
    BOOST_TEST(shown("xxx\xc3\xb6", 5) == "xxx\xc3\xb6");
    BOOST_TEST(shown(std::string(1'000'000, '\xff')).size() == 4'000'000U);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::access_test
