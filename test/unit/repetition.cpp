// Before which commands a contender's driver has to pause.

#include "queue/repetition.hpp"

#include <boost/test/unit_test.hpp>

namespace colock::test::repetition_test {

using colock::protocol::repetition;
using kind = colock::protocol::command::kind;

namespace {

const error_code no_node = zookeeper_errc::no_node;
const error_code throttled = zookeeper_errc::throttled_op;
constexpr auto none = repetition::cause::none;
constexpr auto refusal = repetition::cause::refusal;
constexpr auto event = repetition::cause::event;
const error_code lost_connection = zookeeper_errc::connection_loss;

// Asks as a driver does.
bool follows(repetition& r, kind next, repetition::cause why)
{
    return r.is_repetition(next) == why;
}

} // namespace

BOOST_AUTO_TEST_SUITE(repeating)

BOOST_AUTO_TEST_CASE(what_a_contender_does_undisturbed_is_no_repetition)
{
    repetition r{true};
    BOOST_TEST(follows(r, kind::create, none));
    BOOST_TEST(follows(r, kind::list, none));
    r.answered({});
    for (int i = 0; i != 3; ++i) {
        BOOST_TEST(follows(r, kind::watch, none));
        BOOST_TEST(follows(r, kind::list, none));
    }
    BOOST_TEST(follows(r, kind::remove, none));
}

BOOST_AUTO_TEST_CASE(what_follows_from_a_refusal_is_one)
{
    repetition r{true};
    r.answered(throttled);
    BOOST_TEST(follows(r, kind::list, refusal));
    BOOST_TEST(follows(r, kind::list, none)); // it is asked about once
    r.answered(throttled);
    r.forget_answer();
    BOOST_TEST(follows(r, kind::list, none));
    r.answered(lost_connection); // another attempt has its own pauses
    BOOST_TEST(follows(r, kind::list, none));
}

BOOST_AUTO_TEST_CASE(requests_from_which_nothing_follows_are_none)
{
    repetition r{true};
    r.answered(throttled);
    BOOST_TEST(follows(r, kind::read_directory, none));
    BOOST_TEST(follows(r, kind::watch_newcomers, none));
    BOOST_TEST(follows(r, kind::list, refusal)); // they are not what follows
}

BOOST_AUTO_TEST_CASE(in_a_queue_each_further_create_is_one)
{
    repetition r{true};
    BOOST_TEST(follows(r, kind::create, none));
    BOOST_TEST(follows(r, kind::create, refusal));
    BOOST_TEST(follows(r, kind::make_directory, refusal));
    BOOST_TEST(follows(r, kind::create, none)); // the directory was made for it
    BOOST_TEST(follows(r, kind::create, refusal));
}

BOOST_AUTO_TEST_CASE(without_a_queue_a_create_is_none)
{
    repetition r{false};
    BOOST_TEST(follows(r, kind::create, none));
    BOOST_TEST(follows(r, kind::create, none));
}

BOOST_AUTO_TEST_CASE(who_stands_by_lists_after_a_pause)
{
    repetition r{true};
    BOOST_TEST(follows(r, kind::list_again, refusal));
    BOOST_TEST(follows(r, kind::list_again, refusal));
}

BOOST_AUTO_TEST_CASE(in_a_queue_a_node_that_is_missing_twice_is_one)
{
    repetition r{true};
    r.blocked_by(2);
    for (int i = 0; i != 2; ++i) {
        BOOST_TEST(!r.watched(no_node, 0));
        BOOST_TEST(follows(r, kind::list, none));
    }
    r.blocked_by(2); // no node comes back
    BOOST_TEST(!r.watched(no_node, 0));
    BOOST_TEST(follows(r, kind::list, refusal));
    BOOST_TEST(!r.watched({}, 7));
}

BOOST_AUTO_TEST_CASE(without_a_queue_a_node_that_is_missing_is_one)
{
    repetition r{false};
    BOOST_TEST(!r.watched(no_node, 0));
    BOOST_TEST(follows(r, kind::create, event)); // others are quicker
    BOOST_TEST(r.watched({}, 7));                // another client holds the lock: pauses begin anew
    BOOST_TEST(!r.watched({}, 7));
    BOOST_TEST(r.watched({}, 8));
    BOOST_TEST(!r.watched({}, 0)); // the own one
}

BOOST_AUTO_TEST_CASE(what_follows_from_a_change_of_a_node_is_one)
{
    for (const bool has_queue : {true, false}) {
        repetition r{has_queue};
        r.blocked_by(5);
        r.fired(false);
        BOOST_TEST(follows(r, kind::watch, event));
        BOOST_TEST(follows(r, kind::watch, none)); // it is asked about once
        r.fired(false);
        r.forget_answer();
        BOOST_TEST(follows(r, kind::watch, none));
    }
}

BOOST_AUTO_TEST_CASE(in_a_queue_as_many_nodes_may_go_as_were_there)
{
    repetition r{true};
    for (int node = 0; node != 2; ++node) {
        BOOST_TEST((r.is_repetition(kind::create) == (node == 0 ? none : refusal)));
        r.fired(true); // the own one
        BOOST_TEST(follows(r, kind::list, event));
        r.blocked_by(0);
        r.blocked_by(3);
        for (int i = 0; i != 3; ++i) {
            r.fired(true);
            BOOST_TEST(follows(r, kind::list, none));
            r.blocked_by(3);
        }
        r.fired(true);
        BOOST_TEST(follows(r, kind::list, event));
    }
}

BOOST_AUTO_TEST_CASE(without_a_queue_the_end_of_a_node_is_none_once)
{
    repetition r{false};
    for (int czxid = 7; czxid != 10; ++czxid) {
        BOOST_TEST(r.watched({}, czxid));
        r.fired(true);
        BOOST_TEST(follows(r, kind::create, none));
        BOOST_TEST(!r.watched({}, czxid));
        r.fired(true);
        BOOST_TEST(follows(r, kind::create, event));
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::repetition_test
