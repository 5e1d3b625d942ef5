// What a client does with a lock's directory, from one of its contenders to the next. That it is right in every order of
// events is the business of test/model/remembering.cpp.

#include "protocol/contender.hpp"
#include "protocol/directory/data.hpp"
#include "words.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

using namespace colock;
using colock::protocol::command;
using colock::protocol::directory_signature;
using colock::protocol::outcome_of_making;

namespace {

constexpr std::int64_t session = 7;
constexpr std::int64_t directory = 1; // its czxid

// One contender after the other. Inputs return the commands: "create and count in place of 1".
struct client {
    explicit client(protocol::contender::settings s = {}) : settings{std::move(s)} {}

    std::string joins()
    {
        next();
        c->join(true, session, out);
        return said();
    }
    std::string tries()
    {
        next();
        c->try_join(true, session, out);
        return said();
    }
    std::string made(const error_code& ec = {})
    {
        c->directory_made({&ec, 1}, ec ? 0 : directory, out);
        return said();
    }
    std::string created(int number, const error_code& ec = {})
    {
        own = prefix + digits(number);
        c->created(ec, ec ? std::string{} : own, {100, session}, out);
        return said();
    }
    // The list shows the own node, and so many others behind it.
    std::string listed(std::int32_t version, int others = 0, std::int64_t czxid = directory)
    {
        std::vector<std::string> children{own};
        for (int i = 0; i != others; ++i) {
            children.push_back("_c_99999999-0000-0000-0000-000000000000-lock-" + digits(1000 + i));
        }
        c->listed({},
                  {.children = children,
                   .directory = {.czxid = czxid, .version = version},
                   .watched = watches},
                  out);
        return said();
    }
    std::string counted(int number, std::int32_t version, bool alone = true)
    {
        own = prefix + digits(number);
        c->counted({}, own, {100, session},
                   {.now = {.czxid = directory, .version = version, .children = alone ? 1 : 2}},
                   out);
        return said();
    }
    std::string count_fails(const error_code& ec)
    {
        c->counted(ec, {}, {}, {.error = ec}, out);
        return said();
    }
    void identified(std::int32_t version, const error_code& ec = {})
    {
        c->directory_identified(ec, {.czxid = directory, .version = version}, directory_signature);
    }
    void signed_with(std::int32_t version)
    {
        c->directory_signed({}, {.now = {.czxid = directory, .version = version}});
    }
    void signing_fails(const error_code& ec) { c->directory_signed(ec, {.error = ec}); }
    std::string leaves()
    {
        c->leave(out);
        return said();
    }
    std::string removed()
    {
        c->removed({}, out);
        return said();
    }
    // In the usual way, alone; what is requested with the grant.
    std::string is_granted(int number, std::int32_t version)
    {
        BOOST_TEST(joins() == "create, list");
        BOOST_TEST(created(number) == "");
        const auto granted = listed(version);
        BOOST_TEST(leaves() == "remove");
        return granted;
    }
    // It has been granted the lock twice, and has written the mark: the next number is 2, the version 1.
    void knows_the_directory()
    {
        BOOST_TEST(is_granted(0, 0) == "granted");
        BOOST_TEST(is_granted(1, 0) == "identify directory, granted");
        identified(0);
        BOOST_TEST(is_granted(2, 0) == "sign directory in place of 0, granted");
        signed_with(1);
    }

    void next()
    {
        c.emplace(settings, protocol::guid{1, ++joined});
        c->lend(memory);
    }
    std::string said()
    {
        std::string text;
        watches = false;
        for (const auto& each : out) {
            text += (text.empty() ? "" : ", ") + colock::test::word_for(each.type);
            if (each.type == command::kind::create ||
                each.type == command::kind::create_and_count) {
                prefix = each.name;
            }
            if (each.type == command::kind::create_and_count ||
                each.type == command::kind::sign_directory) {
                text += " in place of " + std::to_string(each.number);
            }
            if (each.type == command::kind::sign_directory) {
                BOOST_TEST(std::string{each.name} == own);
            }
            watches |= each.type == command::kind::list_and_watch;
        }
        out.clear();
        return text;
    }
    static std::string digits(int number)
    {
        char text[16];
        std::snprintf(text, sizeof text, "%010d", number);
        return text;
    }

    protocol::contender::settings settings;
    protocol::directory_memory memory;
    std::optional<protocol::contender> c;
    std::uint64_t joined = 0;
    protocol::commands out;
    std::string prefix, own;
    bool watches = false; // the last listing that was asked for
};

} // namespace

BOOST_AUTO_TEST_SUITE(fast_path)

BOOST_AUTO_TEST_CASE(a_client_alone_gets_to_know_the_directory_and_then_counts)
{
    client a;
    a.knows_the_directory();
    BOOST_TEST(a.joins() == "create and count in place of 1");
    BOOST_TEST(a.counted(3, 2) == "granted");
    BOOST_TEST(a.leaves() == "remove");
    BOOST_TEST(a.removed() == "gone");
    BOOST_TEST(a.joins() == "create and count in place of 2");
}

BOOST_AUTO_TEST_CASE(a_directory_that_the_client_has_made_need_not_be_read)
{
    client a;
    BOOST_TEST(a.joins() == "create, list");
    BOOST_TEST(a.created(0, zookeeper_errc::no_node) == "make directory");
    BOOST_TEST(a.made() == "create, list");
    BOOST_TEST(a.created(0) == "");
    BOOST_TEST(a.listed(0) == "granted");
    BOOST_TEST(a.leaves() == "remove");
    BOOST_TEST(a.is_granted(1, 0) == "sign directory in place of 0, granted");
}

BOOST_AUTO_TEST_CASE(nothing_is_read_when_others_are_there_or_have_been)
{
    client a;
    BOOST_TEST(a.is_granted(0, 0) == "granted");
    BOOST_TEST(a.is_granted(2, 0) == "granted"); // another one had the number in between
    BOOST_TEST(a.joins() == "create, list");
    BOOST_TEST(a.created(3) == "");
    BOOST_TEST(a.listed(0, 1) == "granted");
    BOOST_TEST(a.leaves() == "remove");
    BOOST_TEST(a.is_granted(4, 0) == "granted");
}

// What the transaction has counted may have gone when the list behind it is answered.
BOOST_AUTO_TEST_CASE(who_has_counted_others_does_not_count_again)
{
    client a;
    a.knows_the_directory();
    BOOST_TEST(a.joins() == "create and count in place of 1");
    BOOST_TEST(a.counted(3, 2, false) == "list");
    BOOST_TEST(a.listed(2) == "granted");
    BOOST_TEST(a.leaves() == "remove");
    BOOST_TEST(a.joins() == "create, list");
}

BOOST_AUTO_TEST_CASE(one_contender_at_a_time_counts)
{
    client a;
    a.knows_the_directory();
    BOOST_TEST(a.joins() == "create and count in place of 1");
    const auto first = a.c;
    BOOST_TEST(a.joins() == "create, list");
    BOOST_TEST(!a.c->joins_behind(*first));
}

BOOST_AUTO_TEST_CASE(who_counts_joins_behind_the_own_removal)
{
    client a;
    a.knows_the_directory();
    const auto leaving = *a.c;
    a.next();
    BOOST_TEST(a.c->joins_behind(leaving));
    a.settings.fast_path = false;
    a.next();
    BOOST_TEST(!a.c->joins_behind(leaving));
}

BOOST_AUTO_TEST_CASE(after_a_foreign_write_the_usual_way_is_taken)
{
    client a;
    a.knows_the_directory();
    BOOST_TEST(a.joins() == "create and count in place of 1");
    BOOST_TEST(a.count_fails(zookeeper_errc::bad_version) == "create, list");
    BOOST_TEST(a.created(3) == "");
    BOOST_TEST(a.listed(2) == "granted");
    BOOST_TEST(a.leaves() == "remove");
    BOOST_TEST(a.is_granted(4, 2) == "identify directory, granted");
}

BOOST_AUTO_TEST_CASE(another_directory_is_got_to_know_anew)
{
    client a;
    a.knows_the_directory();
    a.next();
    a.c->listed({}, {.children = {}, .directory = {.czxid = directory + 1}}, a.out);
    BOOST_TEST(a.is_granted(3, 0) == "granted");
    BOOST_TEST(a.is_granted(4, 0) == "identify directory, granted");
}

BOOST_AUTO_TEST_CASE(where_writing_is_not_permitted_it_is_tried_once)
{
    client a;
    BOOST_TEST(a.is_granted(0, 0) == "granted");
    BOOST_TEST(a.is_granted(1, 0) == "identify directory, granted");
    a.identified(0);
    BOOST_TEST(a.is_granted(2, 0) == "sign directory in place of 0, granted");
    a.signing_fails(zookeeper_errc::no_auth);
    BOOST_TEST(a.is_granted(3, 0) == "granted");
    BOOST_TEST(a.is_granted(4, 0) == "granted");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_read_is_asked_for_again)
{
    client a;
    BOOST_TEST(a.is_granted(0, 0) == "granted");
    BOOST_TEST(a.is_granted(1, 0) == "identify directory, granted");
    a.identified(0, zookeeper_errc::connection_loss);
    BOOST_TEST(a.is_granted(2, 0) == "identify directory, granted");
}

// A try creates nothing when the lock is busy, and a client that lingers needs the watch of the list.
BOOST_AUTO_TEST_CASE(neither_a_try_nor_a_client_that_lingers_counts)
{
    client a;
    a.knows_the_directory();
    BOOST_TEST(a.tries() == "list");

    client lingering{{.lingers = true}};
    for (int number = 0; number != 3; ++number) {
        BOOST_TEST(lingering.joins() == "create, list and watch");
        BOOST_TEST(lingering.created(number) == "");
        BOOST_TEST(lingering.listed(0) == "granted");
        BOOST_TEST(lingering.leaves() == "remove");
    }
}

BOOST_AUTO_TEST_CASE(without_the_fast_path_nothing_is_read_or_written)
{
    client a{{.fast_path = false}};
    for (int number = 0; number != 4; ++number) {
        BOOST_TEST(a.is_granted(number, 0) == "granted");
    }
}

BOOST_AUTO_TEST_CASE(what_comes_of_making_a_directory)
{
    const error_code there = zookeeper_errc::node_exists;
    const error_code denied = zookeeper_errc::no_auth;
    const error_code missing = zookeeper_errc::no_node;
    const auto outcome = [](const std::vector<error_code>& of_each) {
        return outcome_of_making(of_each);
    };
    BOOST_TEST(!outcome({there, {}}));
    BOOST_TEST(!outcome({denied, there})); // it may be forbidden to create an ancestor that exists
    BOOST_TEST(outcome({denied, missing}) == denied);
    BOOST_TEST(outcome({there, denied}) == denied);
    BOOST_TEST(!outcome({there, missing}));             // the ancestor has gone again: try again
    BOOST_TEST(outcome({missing, missing}) == missing); // the chroot is missing
    BOOST_TEST(outcome({}) == missing);
}

BOOST_AUTO_TEST_SUITE_END()
