// Watches are freed on the server when nobody wants them any more, and only then.
#include "zk/watch_registry.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace {

using colock::watch_event;
using colock::watch_event_type;
using colock::zk::watch_kind;
using colock::zk::watch_registry;

struct listener final : watch_registry::subscriber {
    void watch_fired(const watch_event& event) noexcept override
    {
        heard.push_back(event.path);
        if (on_event) {
            on_event();
        }
    }
    std::vector<std::string> heard;
    std::function<void()> on_event;
};

struct scene {
    std::vector<std::string> forgotten;
    watch_registry registry{[this](const std::string& path, watch_kind kind) {
        forgotten.push_back((kind == watch_kind::data ? "data " : "children ") + path);
    }};
    listener a;
    listener b;

    void watch(listener& who, watch_kind kind = watch_kind::data)
    {
        registry.announce("/n", kind);
        registry.subscribe("/n", kind, &who);
    }
};

BOOST_FIXTURE_TEST_SUITE(watches, scene)

BOOST_AUTO_TEST_CASE(an_event_is_told_once_to_each)
{
    watch(a);
    watch(b);
    registry.fired({watch_event_type::changed, "/n"});
    registry.fired({watch_event_type::changed, "/n"});
    BOOST_TEST(a.heard.size() == 1u);
    BOOST_TEST(b.heard.size() == 1u);
    BOOST_TEST(forgotten.empty()); // the event has used it up
}

BOOST_AUTO_TEST_CASE(the_last_one_to_leave_frees_the_watch)
{
    watch(a);
    watch(b);
    registry.unsubscribe("/n", watch_kind::data, a);
    BOOST_TEST(forgotten.empty());
    registry.unsubscribe("/n", watch_kind::data, b);
    BOOST_TEST(forgotten == std::vector<std::string>{"data /n"}, boost::test_tools::per_element());
    registry.fired({watch_event_type::changed, "/n"});
    BOOST_TEST(a.heard.empty());
}

BOOST_AUTO_TEST_CASE(a_watch_that_could_not_be_freed_is_freed_again_unless_somebody_wants_it)
{
    watch(a);
    registry.unsubscribe("/n", watch_kind::data, a);
    registry.not_forgotten("/n", watch_kind::data);
    BOOST_TEST(forgotten.size() == 2u);
    registry.announce("/n", watch_kind::data);
    registry.not_forgotten("/n", watch_kind::data);
    BOOST_TEST(forgotten.size() == 2u);
    registry.withdraw("/n", watch_kind::data); // that read has set none, but the old one is there
    BOOST_TEST(forgotten.size() == 3u);
    watch(b);
    registry.not_forgotten("/n", watch_kind::data);
    registry.fired({watch_event_type::changed, "/n"});
    BOOST_TEST(b.heard.size() == 1u);
    BOOST_TEST(forgotten.size() == 3u);
}

BOOST_AUTO_TEST_CASE(a_read_under_way_keeps_the_watch)
{
    watch(a);
    registry.announce("/n", watch_kind::data);
    registry.unsubscribe("/n", watch_kind::data, a);
    BOOST_TEST(forgotten.empty());
    registry.subscribe("/n", watch_kind::data, nullptr); // nobody wants it by now
    BOOST_TEST(forgotten.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_read_that_failed_behind_one_that_succeeded_frees_what_that_one_set)
{
    registry.announce("/n", watch_kind::data);
    registry.announce("/n", watch_kind::data);
    registry.subscribe("/n", watch_kind::data, nullptr);
    BOOST_TEST(forgotten.empty());
    registry.withdraw("/n", watch_kind::data);
    BOOST_TEST(forgotten.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_read_that_failed_alone_frees_nothing)
{
    registry.announce("/n", watch_kind::data);
    registry.withdraw("/n", watch_kind::data);
    BOOST_TEST(forgotten.empty());
}

BOOST_AUTO_TEST_CASE(kinds_are_apart_and_a_deletion_concerns_both)
{
    watch(a);
    watch(b, watch_kind::children);
    registry.fired({watch_event_type::children_changed, "/n"});
    BOOST_TEST(a.heard.empty());
    BOOST_TEST(b.heard.size() == 1u);
    watch(b, watch_kind::children);
    registry.fired({watch_event_type::deleted, "/n"});
    BOOST_TEST(a.heard.size() == 1u);
    BOOST_TEST(b.heard.size() == 2u);
}

BOOST_AUTO_TEST_CASE(one_that_is_told_may_remove_another)
{
    watch(a);
    watch(b);
    a.on_event = [this] { registry.unsubscribe("/n", watch_kind::data, b); };
    registry.fired({watch_event_type::deleted, "/n"});
    BOOST_TEST(a.heard.size() == 1u);
    BOOST_TEST(b.heard.empty());
}

BOOST_AUTO_TEST_CASE(one_that_is_told_may_watch_again)
{
    watch(a);
    a.on_event = [this] { watch(a); };
    registry.fired({watch_event_type::changed, "/n"});
    BOOST_TEST(a.heard.size() == 1u);
    registry.fired({watch_event_type::changed, "/n"});
    BOOST_TEST(a.heard.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_lost_connection_takes_everything_along)
{
    watch(a);
    registry.announce("/n", watch_kind::data);
    registry.clear();
    registry.withdraw("/n", watch_kind::data);
    registry.unsubscribe("/n", watch_kind::data, a);
    registry.fired({watch_event_type::changed, "/n"});
    BOOST_TEST(a.heard.empty());
    BOOST_TEST(forgotten.empty());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
