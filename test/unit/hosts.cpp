// Lists of servers: what is understood, and how what is not is explained.
#include "zk/hosts.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace {

using colock::zk::parse_hosts;

struct good {
    const char* list;
    std::vector<std::string> parts; // name, port, "literal" or "name", and so on
};

const good good_lists[] = {
    {"localhost", {"localhost", "2181", "name"}},
    {"localhost:2182", {"localhost", "2182", "name"}},
    {"zk-1.example.com:1,zk_2:65535", {"zk-1.example.com", "1", "name", "zk_2", "65535", "name"}},
    {"127.0.0.1:2181", {"127.0.0.1", "2181", "literal"}},
    {"[::1]:2181", {"::1", "2181", "literal"}},
    {"[2001:db8::7]", {"2001:db8::7", "2181", "literal"}},
    {"a,a", {"a", "2181", "name", "a", "2181", "name"}},
    {"a:1, b:2 ,\tc:3", {"a", "1", "name", "b", "2", "name", "c", "3", "name"}},
    {"  a:1  ", {"a", "1", "name"}},
    {"a:1,", {"a", "1", "name"}},
    {"a:1, b:2, ", {"a", "1", "name", "b", "2", "name"}},
    {" [::1]:2 , ", {"::1", "2", "literal"}},
};

struct bad {
    std::string list;
    const char* says;
};

const bad bad_lists[] = {
    {"", "empty"},
    {",", "empty"},
    {"a,,b", "empty"},
    {",a", "empty"},
    {"a,,", "empty"},
    {" , ", "empty"},
    {"  ", "empty"},
    {"a, ,b", "empty"},
    {"http://a:2181", "write the servers alone, without \"http://\""},
    {"a,zk://b:2181/chroot", "without \"zk://\""},
    {"2181", "a number in place of a host"},
    {"a:2181,6:2181", "a number in place of a host"},
    {"a:", "port"},
    {"a:0", "port"},
    {"a:65536", "port"},
    {"a:-1", "port"},
    {"a:2181x", "port"},
    {"a:99999999999999999999", "port"},
    {":2181", "neither a host name"},
    {"a b:2181", "neither a host name"},
    {"a :2181", "neither a host name"},
    {"a: 2181", "port"},
    {"a:2181/chroot", "chroot is an option"},
    {"a/chroot", "chroot is an option"},
    {"::1:2181", "brackets"},
    {"[::1", "bracket"},
    {"[::1]2181", "bracket"},
    {"[127.0.0.1]:2181", "IPv6"},
    {"[host]:2181", "IPv6"},
    {"127.0.0.1/service", "chroot is an option"},
    {"127.0.0.1:2181/service", "chroot is an option"},
    {"[::1]/service", "chroot is an option"},
    {"[::1]:2181/service", "chroot is an option"},
    {"[::1/service]", "chroot is an option"},
    {"[fe80::1%lo/service]:2181", "chroot is an option"},
    {"b,/", "chroot is an option"},
    {std::string{"a\0b", 3}, "\"a?b\" contains a control character"},
    {std::string{"127.0.0.1\0", 10}, "control character"},
    {std::string{"127.0.0.1\0:2181", 15}, "control character"},
    {std::string{"127.0.0.1:2181\0", 15}, "control character"},
    {std::string{"[::1\0]:2181", 11}, "control character"},
    {std::string{"[::1%lo\0]:2181", 14}, "control character"},
    {"[fe80::1%lo\n]:2181", "control character"},
    {"127.0.0.1\n", "control character"},
    {"a\r:2181", "control character"},
    {"a\x7f:2181", "control character"},
};

BOOST_AUTO_TEST_SUITE(hosts)

BOOST_AUTO_TEST_CASE(good_lists_are_taken_apart)
{
    for (const auto& g : good_lists) {
        BOOST_TEST_CONTEXT(g.list)
        {
            const auto parsed = parse_hosts(g.list);
            BOOST_TEST(!parsed.error);
            std::vector<std::string> parts;
            for (const auto& h : parsed.hosts) {
                parts.insert(parts.end(), {h.name, h.port, h.literal ? "literal" : "name"});
            }
            BOOST_TEST(parts == g.parts, boost::test_tools::per_element());
        }
    }
}

BOOST_AUTO_TEST_CASE(bad_lists_are_refused_and_explained)
{
    for (const auto& b : bad_lists) {
        BOOST_TEST_CONTEXT(b.list)
        {
            const auto parsed = parse_hosts(b.list);
            BOOST_TEST((parsed.error == colock::errc::invalid_hosts));
            BOOST_TEST(parsed.hosts.empty());
            BOOST_TEST(parsed.detail.find(b.says) != std::string::npos, parsed.detail);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
