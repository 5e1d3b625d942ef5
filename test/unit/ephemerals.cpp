// The room of a session: what counts, what does not count any more, and what is asked before anything is refused.
#include "session/ephemerals.hpp"

#include "recipes/semaphore/acquisition.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace colock::test::ephemerals_test {

using namespace std::chrono_literals;

namespace {

const error_code no_node = zookeeper_errc::no_node;
const error_code lost_connection = zookeeper_errc::connection_loss;

// Ten digits, as servers append them.
const std::string number = "0000000007";

struct scene : protocol::ephemerals {
    explicit scene(std::size_t most = 1'000, std::size_t chroot = 0) : ephemerals{most, chroot} {}

    // Begins a census, or goes on with it: what is asked, in the order of the paths.
    std::vector<question> questions(std::chrono::nanoseconds now = 0s)
    {
        if (!is_asking()) {
            BOOST_TEST_REQUIRE(may_ask(now));
            ask(now, [this](const std::string& path) { return std::ranges::count(heard, path); });
        }
        std::vector<question> all;
        while (auto next = next_question()) {
            all.push_back(*std::move(next));
        }
        std::ranges::sort(all, {}, &question::path);
        return all;
    }
    void answer(const question& q, const error_code& ec, bool own = false)
    {
        answered(q, ec, own, {});
    }
    void answer(const question& q, const std::vector<std::string>& children)
    {
        answered(q, {}, false, children);
    }

    std::vector<std::string> heard; // paths that the client watches
};

BOOST_AUTO_TEST_SUITE(ephemerals)

BOOST_AUTO_TEST_CASE(a_node_takes_its_path_as_the_servers_write_it)
{
    const scene s;
    BOOST_TEST(s.size_of("/a/b", false) == 4u + 4u);
    BOOST_TEST(s.size_of("/a/b-", true) == 4u + 5u + 10u);
    const scene below{1'000, std::string{"/service"}.size()};
    BOOST_TEST(below.size_of("/a/b", false) == 4u + 8u + 4u);
}

BOOST_AUTO_TEST_CASE(a_node_counts_until_it_is_gone)
{
    scene s;
    s.claim(8);
    BOOST_TEST(s.used() == 8u);
    s.give_back(8);
    s.made("/a/b", 0);
    s.made("/a/c", 5);
    BOOST_TEST(s.used() == 8u + 13u);
    BOOST_TEST(s.counted_size_of("/a/c") == 13u);
    BOOST_TEST(s.counted_size_of("/a/d") == 0u);
    s.gone("/a/c");
    s.gone("/a/c"); // as its watch says as well
    s.gone("/a/d"); // another client's
    BOOST_TEST(s.used() == 8u);
    s.made("/a/b", 0); // it was deleted, and the client has not heard of it
    BOOST_TEST(s.used() == 8u);
}

BOOST_AUTO_TEST_CASE(there_is_room_up_to_the_limit)
{
    scene s{20};
    s.made("/a/b", 0);
    s.claim(4);
    BOOST_TEST(s.has_room_for(8));
    BOOST_TEST(!s.has_room_for(9));
    s.claim(9); // of what had a place before
    BOOST_TEST(s.has_room_for(0));
    BOOST_TEST(!s.has_room_for(1));
}

BOOST_AUTO_TEST_CASE(a_node_that_may_be_there_counts)
{
    scene s;
    s.perhaps_made("/a/b", false, 0);
    s.perhaps_made("/a/c-", true, 1, true);
    BOOST_TEST(s.used() == 8u + 20u);
    BOOST_TEST(s.counted_size_of("/a/c-" + number) == 20u);
    s.gone("/a/c-" + number); // it was found, and removed
    BOOST_TEST(s.used() == 8u);
    s.gone("/a/b");
    BOOST_TEST(s.used() == 0u);
}

BOOST_AUTO_TEST_CASE(another_node_of_the_same_name_does_not_settle_a_lost_create)
{
    scene s;
    s.perhaps_made("/a/c-", true, 0);
    s.perhaps_made("/a/c-", true, 0);
    s.made("/a/c-" + number, 0);
    BOOST_TEST(s.used() == 3u * 19u);
    s.gone("/a/c-" + number);
    BOOST_TEST(s.used() == 2u * 19u);
}

BOOST_AUTO_TEST_CASE(a_node_that_may_be_another_clients_does_not_settle_a_lost_create)
{
    scene s;
    s.perhaps_made("/a/c-", true, 0, true);
    s.perhaps_made("/a/c-", true, 0);
    BOOST_TEST(s.counted_size_of("/a/c-" + number) == 0u);
    s.gone("/a/c-" + number);
    BOOST_TEST(s.used() == 2u * 19u);
}

BOOST_AUTO_TEST_CASE(the_end_of_the_session_takes_all_nodes_along)
{
    scene s;
    s.made("/a/b", 0);
    s.perhaps_made("/a/c-", true, 0);
    s.claim(30); // for what is created in the next session
    s.session_over();
    BOOST_TEST(s.used() == 30u);
    BOOST_TEST(s.questions().empty());
}

BOOST_AUTO_TEST_CASE(a_census_asks_about_nodes_of_whose_end_the_client_would_not_hear)
{
    scene s;
    for (const std::string path : {"/a/0", "/a/1", "/a/2", "/a/3"}) {
        s.made(path, 0);
    }
    s.heard = {"/a/0"};
    const auto q = s.questions();
    BOOST_TEST_REQUIRE(q.size() == 3u);
    s.answer(q[0], no_node);
    s.answer(q[1], {}, true);
    BOOST_TEST(s.is_asking());
    s.answer(q[2], {}, false); // another session's
    BOOST_TEST(!s.is_asking());
    BOOST_TEST(s.used() == 2u * 8u);
}

BOOST_AUTO_TEST_CASE(a_node_whose_maker_hears_of_its_end_counts_and_is_not_asked_about)
{
    scene s;
    s.made("/a/c-" + number, 2, true);
    s.made("/a/c-" + number, 2, true);
    BOOST_TEST(s.used() == 21u);
    BOOST_TEST(s.counted_size_of("/a/c-" + number) == 21u);
    s.perhaps_made("/a/c-", true, 0);
    s.answer(s.questions().at(0), {"c-" + number}); // known
    BOOST_TEST(s.used() == 21u);
    BOOST_TEST(!s.is_asking());
    s.gone("/a/c-" + number);
    BOOST_TEST(s.used() == 0u);
    s.made("/a/b", 0, true);
    s.made("/a/b", 1, false);
    BOOST_TEST(s.used() == 9u);
    s.made("/a/b", 0, true);
    s.session_over();
    BOOST_TEST(s.used() == 0u);
}

BOOST_AUTO_TEST_CASE(an_error_settles_nothing)
{
    scene s;
    s.made("/a/0", 0);
    s.perhaps_made("/b/c-", true, 0);
    const auto q = s.questions();
    BOOST_TEST_REQUIRE(q.size() == 2u);
    s.answer(q[0], zookeeper_errc::throttled_op);
    s.answer(q[1], zookeeper_errc::no_auth);
    BOOST_TEST(!s.is_asking());
    BOOST_TEST(s.used() == 8u + 19u);
}

BOOST_AUTO_TEST_CASE(a_census_finds_what_lost_creates_have_made)
{
    scene s;
    for (int i = 0; i != 3; ++i) {
        s.perhaps_made("/a/c-", true, 2);
    }
    s.made("/a/c-0000000001", 0);
    s.heard = {"/a/c-0000000001"};
    const auto list = s.questions();
    BOOST_TEST_REQUIRE(list.size() == 1u);
    BOOST_TEST(list[0].lists);
    BOOST_TEST(list[0].path == "/a");
    s.answer(list[0], {"c-0000000001", "c-0000000002", "c-0000000003", "c-x", "d-0000000004"});
    const auto q = s.questions();
    BOOST_TEST_REQUIRE(q.size() == 2u);
    BOOST_TEST(q[0].path == "/a/c-0000000002");
    s.answer(q[0], {}, true);
    BOOST_TEST(s.used() == 19u + 3u * 21u);
    s.answer(q[1], {}, false);
    BOOST_TEST(s.used() == 19u + 21u);
    BOOST_TEST(s.counted_size_of(q[0].path) == 21u);
}

BOOST_AUTO_TEST_CASE(a_create_whose_directory_is_gone_or_empty_has_made_nothing)
{
    scene s;
    s.perhaps_made("/a/c-", true, 0);
    s.perhaps_made("/b/c-", true, 0);
    const auto q = s.questions();
    BOOST_TEST_REQUIRE(q.size() == 2u);
    s.answer(q[0], no_node);
    s.answer(q[1], std::vector<std::string>{});
    BOOST_TEST(s.used() == 0u);
}

BOOST_AUTO_TEST_CASE(a_candidate_of_which_nothing_is_known_keeps_its_create_counted)
{
    scene s;
    s.perhaps_made("/c-", true, 0);
    s.answer(s.questions().at(0), {"c-0000000001", "c-0000000002"});
    const auto q = s.questions();
    BOOST_TEST_REQUIRE(q.size() == 2u);
    s.answer(q[0], zookeeper_errc::throttled_op);
    s.answer(q[1], no_node);
    BOOST_TEST(s.used() == 17u);
    BOOST_TEST(!s.is_asking());
}

// Names that programs use in large directories.
BOOST_AUTO_TEST_CASE(too_many_candidates_are_not_looked_at)
{
    scene s;
    s.perhaps_made("/n", true, 0);
    std::vector<std::string> many;
    for (int i = 0; i != 1'001; ++i) {
        many.push_back("n" + std::to_string(1'000'000'000 + i));
    }
    s.answer(s.questions().at(0), many);
    BOOST_TEST(!s.is_asking());
    BOOST_TEST(s.used() == 16u);
}

BOOST_AUTO_TEST_CASE(a_census_has_a_bounded_number_of_questions_under_way)
{
    scene s;
    for (int i = 0; i != 250; ++i) {
        s.made("/" + std::to_string(i), 0);
    }
    std::size_t all = 0;
    for (auto q = s.questions(); !q.empty(); q = s.is_asking() ? s.questions() : decltype(q){}) {
        BOOST_TEST(q.size() <= 100u);
        all += q.size();
        BOOST_TEST(s.questions().empty());
        for (const auto& each : q) {
            s.answer(each, {}, true);
        }
    }
    BOOST_TEST(all == 250u);
}

BOOST_AUTO_TEST_CASE(one_that_changes_nothing_is_repeated_more_and_more_seldom)
{
    scene s{100};
    for (const std::string path : {"/0", "/1", "/2"}) {
        s.made(path, 0);
    }
    const auto census = [&](std::chrono::seconds at, const error_code& ec) {
        BOOST_TEST_CONTEXT("at " << at.count() << " s")
        {
            BOOST_TEST(!s.may_ask(at - 1ms));
            for (const auto& q : s.questions(at)) {
                s.answer(q, ec, true);
            }
        }
    };
    for (const auto& q : s.questions(100s)) {
        s.answer(q, {}, true);
    }
    census(105s, {});
    census(115s, {});
    census(135s, {});
    census(175s, {});
    census(235s, {});
    census(295s, no_node); // they are gone
    s.made("/0", 0);
    census(355s, {});
    census(360s, {});
    // Long afterwards it is the first one again.
    for (const auto& q : s.questions(1h)) {
        s.answer(q, {}, true);
    }
    census(3605s, {});
}

BOOST_AUTO_TEST_CASE(one_that_is_not_answered_is_not_over)
{
    scene s;
    s.made("/a", 0);
    BOOST_TEST_REQUIRE(s.questions().size() == 1u);
    s.unanswered();
    BOOST_TEST(s.is_asking());
    s.connected();
    BOOST_TEST(s.questions(1ms).size() == 1u);
}

BOOST_AUTO_TEST_CASE(it_ends_with_the_connection_and_begins_anew_on_the_next_one)
{
    scene s;
    for (int i = 0; i != 150; ++i) {
        s.made("/" + std::to_string(i), 0);
    }
    for (auto open = s.questions().size(); open != 0; --open) {
        s.unanswered();
    }
    BOOST_TEST(s.is_asking());
    BOOST_TEST(s.questions().empty());
    s.connected();
    BOOST_TEST(!s.is_asking());
    BOOST_TEST(s.may_ask(1ms));
    BOOST_TEST(s.questions(1ms).size() == 100u);
}

// Before it stands in the queue: whoever has a place there is not refused for want of room.
BOOST_AUTO_TEST_CASE(an_acquisition_of_permits_keeps_room_first)
{
    using namespace protocol::permits;
    using kind = command::kind;
    commands out;
    acquisition{{}, {}}.begin(errc::session_full, out);
    BOOST_TEST((out == commands{{kind::failed, {}, errc::session_full}, {kind::gone}}));

    out.clear();
    acquisition cancelled{{}, {}};
    cancelled.cancel(false, out);
    cancelled.begin(errc::client_closed, out);
    BOOST_TEST((out == commands{{kind::cut_short}, {kind::cancelled}, {kind::gone}}));

    out.clear();
    acquisition one{{.try_only = true}, {}};
    one.suspended(out);
    one.begin(lost_connection, out);
    BOOST_TEST(
        (out == commands{{kind::failed, {}, errc::disconnected}, {kind::cut_short}, {kind::gone}}));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace

} // namespace colock::test::ephemerals_test
