// The comparison of histories with journals finds what does not fit.
#include <support/temporary_directory.hpp>

#include "history.hpp"
#include "server_bytes.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <vector>

using namespace chaos;
namespace type = colock::testing::type;
namespace test = colock::test;

namespace {

// A time of a journal, at which the servers' clock shows these seconds since 1970.
nanoseconds at(std::int64_t seconds)
{
    static const auto difference =
        std::chrono::nanoseconds{std::chrono::system_clock::now().time_since_epoch()}.count() -
        now();
    return seconds * 1'000'000'000 - difference;
}

std::string node(int number)
{
    return "/chaos/mutex/_c_01234567-0123-4123-8123-0123456789ab-lock-000000000" +
           std::to_string(number);
}

journal turn(const std::string& token, std::int64_t first, std::int64_t last)
{
    return {"p",
            true,
            {{at(first), what::asked, 1, {"mutex", "exclusive"}},
             {at(first), what::granted, 1, {"000000000000000" + token + std::string(16, '0')}},
             {at(first), what::holds, 1},
             {at(last), what::holds, 1}}};
}

} // namespace

BOOST_AUTO_TEST_CASE(turns_and_holds)
{
    const test::temporary_directory d;
    test::write_file(d.path() + "/snapshot.0", test::snapshot_of({{"", 0}}));
    // Its transactions are a second apart. The first node holds the lock from 1 to 5, the second one from 5 to 9.
    test::write_file(d.path() + "/log.1",
                     test::log_of({{1, 0xa, type::create, test::created(node(1))},
                                   {2, 0xb, type::create, test::created(node(2))},
                                   {3, 0xc, type::create, test::created("/3")},
                                   {4, 0xc, type::create, test::created("/4")},
                                   {5, 0xa, type::close, test::paths({node(1)})},
                                   {6, 0xc, type::create, test::created("/6")},
                                   {7, 0xc, type::create, test::created("/7")},
                                   {8, 0xc, type::create, test::created("/8")},
                                   {9, 0xb, type::remove, test::deleted(node(2))}}));
    const auto found = compare_history({turn("1", 1, 4), turn("2", 6, 8)}, {d.path(), d.path()});
    BOOST_TEST(found.violations.empty());
    BOOST_TEST(found.agreed == 4U);
    for (const auto& wrong :
         {turn("1", 1, 6), turn("2", 4, 8), turn("2", 6, 10), turn("3", 3, 3)}) {
        BOOST_TEST(compare_history({wrong}, {d.path()}).violations.size() == 1U);
    }
}

// The files lack one turn, and contradict the next one.
BOOST_AUTO_TEST_CASE(what_the_servers_have_lost)
{
    const test::temporary_directory d;
    test::write_file(d.path() + "/snapshot.0", test::snapshot_of({{"", 0}}));
    test::write_file(d.path() + "/log.1",
                     test::log_of({{1, 0xa, type::create, test::created(node(1))},
                                   {2, 0xb, type::create, test::created("/2")},
                                   {3, 0xb, type::create, test::created(node(3))}}));
    std::vector<journal> all{turn("1", 1, 1), turn("2", 2, 2), turn("3", 3, 3)};
    BOOST_TEST(compare_history(all, {d.path()}).violations.size() == 2U);
    const auto found_when_received = [&](const std::string& zxid) {
        test::write_file(d.path() + "/server.log",
                         "ERROR Leader - NEWLEADER ACK from sid: 2 is from a different epoch - "
                         "current 0x100000000 received 0x" +
                             zxid + '\n');
        return compare_history(all, {d.path()});
    };
    BOOST_TEST(found_when_received("3").violations.size() == 2U); // that is known
    BOOST_TEST(found_when_received("100000002").violations.size() == 2U);
    const auto found = found_when_received("2");
    BOOST_TEST(found.violations.empty());
    BOOST_TEST((found.agreed == 1U && found.lost_from == 2));
    all.push_back(turn("1", 0, 0)); // before the loss, and wrong
    BOOST_TEST(found_when_received("2").violations.size() == 1U);
}

BOOST_AUTO_TEST_CASE(turns_in_a_gap)
{
    const test::temporary_directory d;
    test::write_file(d.path() + "/snapshot.0", test::snapshot_of({{"", 0}}));
    test::write_file(d.path() + "/log.1",
                     test::log_of({{1, 0xa, type::create, test::created(node(1))},
                                   {2, 0xb, type::create, test::created(node(2))},
                                   {3, 0xc, type::create, test::created(node(3))}}));
    // 4 to 8 are missing: the first two have gone, the third one has the lock.
    test::write_file(d.path() + "/snapshot.8", test::snapshot_of({{"", 8}, {node(3), 3, 0xc}}));
    test::write_file(d.path() + "/log.9",
                     test::log_of({{9, 0xd, type::create, test::created("/9")},
                                   {10, 0xc, type::remove, test::deleted(node(3))}}));
    const auto found =
        compare_history({turn("1", 1, 4), turn("2", 5, 6), turn("3", 7, 9)}, {d.path()});
    BOOST_TEST(found.violations.empty());
    BOOST_TEST((found.agreed == 1U && found.in_gaps == 2U));
    for (const auto& wrong : {turn("1", 10, 12), turn("2", 10, 12), turn("3", 11, 12)}) {
        BOOST_TEST(compare_history({wrong}, {d.path()}).violations.size() == 1U);
    }
}
