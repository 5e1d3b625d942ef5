// Before which commands a contender's driver has to pause.

#include "protocol/repetition.hpp"

#include <boost/test/unit_test.hpp>

using namespace colock;
using colock::protocol::repetition;
using kind = colock::protocol::command::kind;

namespace {

const error_code no_node = zookeeper_errc::no_node;
const error_code throttled = zookeeper_errc::throttled_op;
const error_code lost_connection = zookeeper_errc::connection_loss;

} // namespace

BOOST_AUTO_TEST_SUITE(repeating)

BOOST_AUTO_TEST_CASE(what_a_contender_does_undisturbed_is_no_repetition)
{
    repetition r{true};
    BOOST_TEST(!r.is_repetition(kind::create));
    BOOST_TEST(!r.is_repetition(kind::list));
    (void)r.answered(kind::list, {}, {});
    for (int i = 0; i != 3; ++i) {
        BOOST_TEST(!r.is_repetition(kind::watch));
        BOOST_TEST(!r.is_repetition(kind::list));
        BOOST_TEST(!r.is_repetition(kind::read_directory));
    }
    BOOST_TEST(!r.is_repetition(kind::remove));
}

BOOST_AUTO_TEST_CASE(what_follows_from_a_refusal_is_one)
{
    repetition r{true};
    (void)r.answered(kind::list, {}, throttled);
    BOOST_TEST(r.is_repetition(kind::list));
    BOOST_TEST(!r.is_repetition(kind::list)); // it is asked about once
    (void)r.answered(kind::list, {}, throttled);
    r.forget_answer();
    BOOST_TEST(!r.is_repetition(kind::list));
    (void)r.answered(kind::list, {}, lost_connection); // another attempt has its own pauses
    BOOST_TEST(!r.is_repetition(kind::list));
}

BOOST_AUTO_TEST_CASE(requests_from_which_nothing_follows_are_none)
{
    repetition r{true};
    (void)r.answered(kind::list, {}, throttled);
    BOOST_TEST(!r.is_repetition(kind::identify_directory));
    BOOST_TEST(!r.is_repetition(kind::sign_directory));
    BOOST_TEST(!r.is_repetition(kind::watch_newcomers));
    BOOST_TEST(r.is_repetition(kind::list)); // they are not what follows
}

BOOST_AUTO_TEST_CASE(in_a_queue_each_further_create_is_one)
{
    repetition r{true};
    BOOST_TEST(!r.is_repetition(kind::create));
    BOOST_TEST(r.is_repetition(kind::create));
    BOOST_TEST(r.is_repetition(kind::create_and_count));
    BOOST_TEST(r.is_repetition(kind::make_directory));
    BOOST_TEST(!r.is_repetition(kind::create)); // the directory was made for it
    BOOST_TEST(r.is_repetition(kind::create));
}

BOOST_AUTO_TEST_CASE(without_a_queue_a_create_is_none)
{
    repetition r{false};
    BOOST_TEST(!r.is_repetition(kind::create));
    BOOST_TEST(!r.is_repetition(kind::create));
}

BOOST_AUTO_TEST_CASE(a_directory_that_was_missing_is_read_again_after_a_pause)
{
    repetition r{true};
    (void)r.answered(kind::read_directory, {}, no_node);
    r.forget_answer();
    BOOST_TEST(r.is_repetition(kind::read_directory));
    (void)r.answered(kind::read_directory, {}, {});
    r.forget_answer();
    BOOST_TEST(!r.is_repetition(kind::read_directory));
}

BOOST_AUTO_TEST_CASE(in_a_queue_a_node_that_is_missing_twice_is_one)
{
    repetition r{true};
    BOOST_TEST(!r.answered(kind::watch, "a", no_node));
    BOOST_TEST(!r.is_repetition(kind::list));
    BOOST_TEST(!r.answered(kind::watch, "b", no_node));
    BOOST_TEST(!r.is_repetition(kind::list));
    BOOST_TEST(!r.answered(kind::watch, "b", no_node)); // no node comes back
    BOOST_TEST(r.is_repetition(kind::list));
    BOOST_TEST(!r.answered(kind::watch, "b", {}));
}

BOOST_AUTO_TEST_CASE(without_a_queue_a_node_that_is_missing_is_one)
{
    repetition r{false};
    BOOST_TEST(!r.answered(kind::watch, {}, no_node));
    BOOST_TEST(r.is_repetition(kind::create));
    BOOST_TEST(r.answered(kind::watch, {}, {})); // another client holds the lock: pauses begin anew
}

BOOST_AUTO_TEST_SUITE_END()
