// What a holder knows of remote contenders, and what it asks for that.

#include "queue/contender.hpp"
#include "words.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace colock::test::newcomer_watch_test {

using colock::protocol::remote_contention;
using enum colock::protocol::remote_contention;

namespace {

constexpr std::int64_t session = 7;
const error_code lost_connection = zookeeper_errc::connection_loss;

struct holder {
    // It has been granted the lock by a listing that may show another contender behind it.
    explicit holder(bool others = false, protocol::contender::settings s = {},
                    const char* number = "0000000000")
        : c{std::move(s), protocol::guid{1, 1}}
    {
        c.join(true, session, out);
        const auto last = out.back().type;
        own = out.front().name + number;
        c.created({}, own, {100, session}, out);
        listed_with(others, last == protocol::command::kind::list_and_watch);
        out.clear();
    }

    void listed_with(bool others, bool watched)
    {
        const auto children = shown(others);
        c.listed({}, {.children = children, .watched = watched}, out);
    }
    // Returns what the contender knows at once; `out` gets what it asks for.
    std::optional<remote_contention> look_around() { return c.look_around(out); }
    std::optional<remote_contention> watching(bool others, const error_code& ec = {})
    {
        const auto children = shown(others);
        return c.newcomers_watched(ec, {.children = children});
    }
    std::string said()
    {
        std::string text;
        for (const auto& each : out) {
            text += (text.empty() ? "" : ", ") + colock::test::word_for(each.type);
        }
        out.clear();
        return text;
    }
    [[nodiscard]] std::vector<std::string> shown(bool others) const
    {
        return others ? std::vector<
                            std::string>{own,
                                         "_c_99999999-0000-0000-0000-000000000000-lock-0000000001"}
                      : std::vector<std::string>{own};
    }

    protocol::contender c;
    protocol::commands out;
    std::string own;
};

} // namespace

BOOST_AUTO_TEST_SUITE(newcomer_watch)

BOOST_AUTO_TEST_CASE(a_holder_asks_once_and_knows_until_the_watch_fires)
{
    holder h;
    BOOST_CHECK(h.c.contention() == unknown);
    BOOST_CHECK(!h.look_around());
    BOOST_TEST(h.said() == "watch newcomers");
    BOOST_CHECK(!h.look_around()); // it is under way, and the answer tells
    BOOST_TEST(h.said() == "");
    BOOST_CHECK(h.watching(false) == none);
    BOOST_CHECK(h.look_around() == none);
    BOOST_TEST(h.said() == "");
    BOOST_CHECK(h.c.newcomer() == some);
    BOOST_CHECK(h.c.contention() == some);
}

BOOST_AUTO_TEST_CASE(after_the_watch_has_fired_a_listing_may_show_that_all_have_gone)
{
    holder h;
    (void)h.look_around();
    BOOST_CHECK(h.watching(true) == some);
    BOOST_CHECK(h.c.newcomer() == some);
    h.said();
    BOOST_CHECK(!h.look_around());
    BOOST_TEST(h.said() == "watch newcomers");
    BOOST_CHECK(h.watching(false) == none);
}

BOOST_AUTO_TEST_CASE(others_that_the_listing_of_the_join_has_shown_count)
{
    holder h{true};
    BOOST_CHECK(h.c.contention() == some);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_watched_counts_as_contention)
{
    holder h;
    (void)h.look_around();
    BOOST_CHECK(h.watching(false, zookeeper_errc::no_auth) == some);
}

BOOST_AUTO_TEST_CASE(behind_a_reconnection_it_has_to_be_asked_again)
{
    holder h;
    (void)h.look_around();
    BOOST_CHECK(!h.watching(false, lost_connection));
    h.c.suspended();
    BOOST_CHECK(!h.look_around());
    h.said();
    h.c.connected(session, h.out);
    h.said();
    BOOST_CHECK(h.c.contention() == unknown);
    BOOST_CHECK(!h.look_around());
    BOOST_TEST(h.said() == "watch newcomers");
    BOOST_CHECK(h.watching(false) == none);
    h.c.suspended();
    BOOST_CHECK(h.c.contention() == unknown);
}

BOOST_AUTO_TEST_CASE(a_client_that_lingers_knows_from_the_listing_of_its_join_on)
{
    holder alone{false, {.lingers = true}};
    BOOST_CHECK(alone.c.contention() == none);
    BOOST_CHECK(alone.look_around() == none);
    BOOST_TEST(alone.said() == "");
    holder others{true, {.lingers = true}};
    BOOST_CHECK(others.c.contention() == some);
}

// Who makes way has no node.
BOOST_AUTO_TEST_CASE(near_the_end_others_may_wait_without_a_place)
{
    holder h{false, {}, "2130706432"};
    h.c.directory_read(true);
    h.listed_with(false, false);
    BOOST_TEST(h.c.holds());
    BOOST_TEST(h.c.is_late());
    BOOST_CHECK(h.c.contention() == some);
}

BOOST_AUTO_TEST_CASE(only_a_holder_looks_around)
{
    holder h;
    h.c.leave(h.out);
    h.said();
    BOOST_CHECK(!h.look_around());
    BOOST_TEST(h.said() == "");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::newcomer_watch_test
