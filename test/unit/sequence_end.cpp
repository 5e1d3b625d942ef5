// What a contender says when the numbers of its directory are nearly used up. That it is right in every order of
// events is the business of test/model/sequence_end.cpp.

#include "contender_play.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace colock::test::contender_play {

using colock::protocol::last_number;
using colock::protocol::late_from_number;

namespace {

constexpr auto late = late_from_number;
const std::string own = std::to_string(late + 3);

// Has the number, and has read the directory.
play late_with(std::int64_t number, bool replaceable, protocol::contender::settings s = {})
{
    play p{std::move(s)};
    p.join();
    BOOST_TEST(p.created(number) == "");
    BOOST_TEST(p.listed(std::vector{p.name_of(number)}) ==
               "read directory " + std::to_string(number) + ", list");
    p.directory_read(replaceable);
    return p;
}

// Has found 1 of the late numbers before it, and makes way.
play making_way(protocol::contender::settings s = {})
{
    auto p = late_with(late + 3, false, std::move(s));
    BOOST_TEST(p.listed(std::vector{play::foreign(late + 1), p.name_of(late + 3)}) ==
               "remove " + own);
    return p;
}

play standing_by()
{
    auto p = making_way();
    BOOST_TEST(p.removed() == "list again");
    return p;
}

} // namespace

BOOST_AUTO_TEST_SUITE(sequence_end)

BOOST_AUTO_TEST_CASE(before_it_nothing_is_asked)
{
    play p;
    p.join();
    BOOST_TEST(p.created(late - 1) == "");
    BOOST_TEST(p.listed(std::vector{p.name_of(late - 1)}) == "granted");
    BOOST_TEST(!(*p).is_late());
    BOOST_TEST(p.leave() == "remove " + std::to_string(late - 1));
    BOOST_TEST(p.removed() == "gone");
}

BOOST_AUTO_TEST_CASE(the_first_one_is_granted_and_removes_the_directory_after_its_node)
{
    for (const bool replaceable : {true, false}) {
        auto p = late_with(late, replaceable);
        BOOST_TEST(p.listed(std::vector{p.name_of(late)}) == "granted");
        BOOST_TEST((*p).is_late());
        BOOST_TEST(p.leave() ==
                   "remove " + std::to_string(late) + (replaceable ? ", remove directory" : ""));
        BOOST_TEST(p.removed() == "gone");
    }
}

BOOST_AUTO_TEST_CASE(who_finds_another_one_makes_way_until_the_queue_is_empty)
{
    auto p = standing_by();
    BOOST_TEST(!(*p).has_node());
    BOOST_TEST(p.listed(std::vector{play::foreign(late + 4)}) == "list again");
    BOOST_TEST(p.listed(std::vector<std::string>{}) == "create #2, list");
}

BOOST_AUTO_TEST_CASE(in_one_directory_it_makes_way_once)
{
    auto p = standing_by();
    BOOST_TEST(p.listed(std::vector<std::string>{}) == "create #2, list");
    BOOST_TEST(p.created(late + 5) == "");
    const std::vector both{play::foreign(late + 4), p.name_of(late + 5)};
    const auto number = std::to_string(late + 5);
    BOOST_TEST(p.listed(both) == "read directory " + number + ", list");
    p.directory_read(true);
    BOOST_TEST(p.listed(both) == "watch " + number + ", watch " + std::to_string(late + 4));
}

BOOST_AUTO_TEST_CASE(it_joins_another_directory_whoever_is_in_it)
{
    auto p = standing_by();
    p.directory = 8;
    BOOST_TEST(p.listed({0, 1}) == "create #2, list");

    auto q = standing_by();
    BOOST_TEST(q.listed(no_node) == "make directory");
    BOOST_TEST(q.directory_made() == "create #2, list");
}

BOOST_AUTO_TEST_CASE(a_reader_makes_way_for_a_reader)
{
    auto p = late_with(late + 3, true, {.layout = curator_shared_layout(), .shared = true});
    BOOST_TEST(
        p.listed(std::vector{"_c_99999999-0000-0000-0000-000000000000__READ__" + digits(late + 1),
                             p.name_of(late + 3)}) == "remove " + own + ", remove directory");
}

BOOST_AUTO_TEST_CASE(who_only_tries_is_refused)
{
    play p;
    BOOST_TEST(p.try_join() == "list");
    BOOST_TEST(p.listed(std::vector<std::string>{}) == "create #1, list");
    BOOST_TEST(p.created(late + 3) == "");
    const std::vector both{play::foreign(late + 1), p.name_of(late + 3)};
    BOOST_TEST(p.listed(both) == "read directory " + own + ", list");
    p.directory_read(true);
    BOOST_TEST(p.listed(both) == "busy, remove " + own + ", remove directory");
    BOOST_TEST(p.removed() == "gone");
}

BOOST_AUTO_TEST_CASE(who_makes_way_may_leave)
{
    auto p = making_way();
    BOOST_TEST(p.leave() == "");
    BOOST_TEST(p.removed() == "gone");

    auto q = standing_by();
    BOOST_TEST(q.leave() == "gone");
}

BOOST_AUTO_TEST_CASE(who_makes_way_goes_on_after_a_reconnection)
{
    auto p = making_way();
    BOOST_TEST(p.broken({"remove"}) == "");
    BOOST_TEST(p.connected() == "remove " + own);
    BOOST_TEST(p.removed(no_node) == "list again");
    BOOST_TEST(p.broken({"list"}) == "");
    BOOST_TEST(p.connected() == "list again");
    BOOST_TEST(p.listed(throttled) == "list again");
    BOOST_TEST(p.listed(std::vector<std::string>{}) == "create #2, list");
}

// Others may make no way, or come too soon.
BOOST_AUTO_TEST_CASE(who_has_stood_by_for_long_has_its_turn_all_the_same)
{
    auto p = standing_by();
    int polls = 1;
    while (p.listed(std::vector{play::foreign(late + 4)}) == "list again") {
        BOOST_REQUIRE(++polls < 1000);
    }
    BOOST_TEST(polls == 600);
    BOOST_TEST(p.created(late + 5) == "");
    BOOST_TEST((*p).has_node());
}

BOOST_AUTO_TEST_CASE(who_makes_way_goes_on_in_another_session)
{
    auto p = making_way();
    BOOST_TEST(p.broken({"remove"}) == "");
    BOOST_TEST(p.expired() == "");
    BOOST_TEST(p.connected(session + 1) == "create #2, list");

    auto q = standing_by();
    BOOST_TEST(q.broken({"list"}) == "");
    BOOST_TEST(q.expired() == "");
    BOOST_TEST(q.connected(session + 1) == "list again");

    auto r = making_way({.rejoin_on_expiry = false});
    BOOST_TEST(r.broken({"remove"}) == "");
    BOOST_TEST(r.expired() == "failed: session_expired, gone");
}

BOOST_AUTO_TEST_CASE(G3_a_node_that_must_not_be_removed_is_told)
{
    auto p = making_way();
    const auto code = std::to_string(no_auth.value());
    BOOST_TEST(p.removed(no_auth) == "failed: " + code + ", gone: " + code);
}

BOOST_AUTO_TEST_CASE(the_directory_is_read_again_after_a_reconnection)
{
    play p;
    p.join();
    BOOST_TEST(p.created(late) == "");
    const auto number = std::to_string(late);
    BOOST_TEST(p.listed(std::vector{p.name_of(late)}) == "read directory " + number + ", list");
    p.directory_read(false); // as what became of it is not known
    BOOST_TEST(p.broken({"list"}) == "");
    BOOST_TEST(p.connected() == "list");
    BOOST_TEST(p.listed(std::vector{p.name_of(late)}) == "read directory " + number + ", list");
}

// It may be another one by then.
BOOST_AUTO_TEST_CASE(behind_a_reconnection_the_directory_stays)
{
    auto p = late_with(late, true);
    BOOST_TEST(p.listed(std::vector{p.name_of(late)}) == "granted");
    BOOST_TEST(p.leave() == "remove " + std::to_string(late) + ", remove directory");
    BOOST_TEST(p.broken({"remove"}) == "");
    BOOST_TEST(p.connected() == "remove " + std::to_string(late));
    BOOST_TEST(p.removed() == "gone");
}

BOOST_AUTO_TEST_CASE(a_number_that_may_come_again_is_refused_and_the_directory_removed)
{
    for (const auto number : {last_number, (std::int64_t{1} << 31) - 1}) {
        auto p = late_with(number, true);
        BOOST_TEST(p.listed(std::vector{p.name_of(number)}) ==
                   "failed: sequence_exhausted, remove " + std::to_string(number) +
                       ", remove directory");
        BOOST_TEST(p.removed() == "gone");
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::contender_play
