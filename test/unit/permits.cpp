// What an acquisition of permits says to each input. That it is right in every order of events is the business of
// test/model.

#include "permit_play.hpp"
#include "recipes/semaphore/numbers.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace colock::test::permit_play {

using namespace colock::protocol::permits;

namespace {

const error_code no_node = zookeeper_errc::no_node;
const error_code lost_connection = zookeeper_errc::connection_loss;
const error_code no_auth = zookeeper_errc::no_auth;
const error_code throttled = zookeeper_errc::throttled_op;
const std::string other_lock = "_c_00000000-0000-0000-0000-000000000000-latch-0000000001";

std::string with(const std::string& what, errc why)
{
    return what + ' ' + std::to_string(static_cast<int>(why));
}
std::string with(const std::string& what, const error_code& why)
{
    return what + ' ' + why.message();
}

settings with_counter()
{
    settings s;
    s.permits.reset();
    return s;
}

} // namespace

BOOST_AUTO_TEST_SUITE(permits)

BOOST_AUTO_TEST_CASE(two_round_trips)
{
    play p;
    BOOST_TEST(p.begin() == "lock queue, list");
    BOOST_TEST(p.queue_locked() == "");
    BOOST_TEST(p.listed(0) == "create");
    BOOST_TEST(p.prefix == "_c_00000000-0000-0000-0000-000000000000-lease-");
    BOOST_TEST(p.created() == "release queue, granted, gone");
}

BOOST_AUTO_TEST_CASE(a_listing_older_than_the_grant_does_not_count)
{
    play p;
    p.begin();
    BOOST_TEST(p.listed(0) == "");
    BOOST_TEST(p.queue_locked() == "list");
    BOOST_TEST(p.listed(0) == "create");
}

BOOST_AUTO_TEST_CASE(it_waits_with_the_lock_of_the_queue)
{
    play p{{.wanted = 2, .permits = 2}};
    BOOST_TEST(p.counted(1) == "list and watch"); // it may have changed before it is watched
    BOOST_TEST(p.listed(1) == "wait");
    BOOST_TEST(p.changed() == "list");
    BOOST_TEST(p.listed(1) == "list and watch");
    BOOST_TEST(p.listed(0) == "create");
    BOOST_TEST(p.created() == "release queue, granted, gone");
}

BOOST_AUTO_TEST_CASE(a_try_finds_too_few)
{
    play p{{.try_only = true}};
    BOOST_TEST(p.begin() == "list");
    BOOST_TEST(p.listed(1) == "busy, gone");

    play q{{.try_only = true}}; // they are taken meanwhile
    q.begin();
    BOOST_TEST(q.listed(0) == "lock queue, list");
    q.queue_locked();
    BOOST_TEST(q.listed(1) == "list and watch");
    BOOST_TEST(q.listed(1) == "release queue, busy, gone");

    play r{{.try_only = true}}; // somebody stands in the queue
    r.begin();
    r.listed(0);
    r.listed(0);
    BOOST_TEST(r.queue_locked(false) == "busy, gone");
}

BOOST_AUTO_TEST_CASE(a_try_does_not_wait_for_a_connection)
{
    play p{{.try_only = true}};
    p.begin();
    BOOST_TEST(p.suspended() == with("failed", errc::disconnected) + ", cut short");
    BOOST_TEST(p.not_listed(lost_connection) == "gone");

    play q;
    q.begin();
    BOOST_TEST(q.suspended() == "");
}

BOOST_AUTO_TEST_CASE(a_counter_says_how_many_there_are)
{
    play p{with_counter()};
    BOOST_TEST(p.counted(1) == "read limit");
    BOOST_TEST(p.limit_read('\1') == "list and watch");
    BOOST_TEST(p.listed(1) == "wait");
    BOOST_TEST(p.changed() == "read limit");
    BOOST_TEST(p.limit_read('\2') == "list");
    BOOST_TEST(p.listed(1) == "create");
    BOOST_TEST(p.created() == "release queue, granted, gone");
}

// The create may have waited for a connection while the number of permits fell.
BOOST_AUTO_TEST_CASE(G1_permits_are_created_only_under_the_limit_that_was_read)
{
    play p{with_counter()};
    p.counted(1);
    BOOST_TEST(p.limit_read('\2', 7) == "create (7)");
    BOOST_TEST(p.not_created(zookeeper_errc::bad_version) == "pause");
    BOOST_TEST(p.paused() == "read limit");
    BOOST_TEST(p.limit_read('\1', 8) == "list");
    BOOST_TEST(p.listed(1) == "list and watch");
}

BOOST_AUTO_TEST_CASE(a_try_reads_the_counter_once_more)
{
    auto s = with_counter();
    s.try_only = true;
    play p{s};
    p.begin();
    BOOST_TEST(p.listed(1) == "read limit");
    BOOST_TEST(p.limit_read('\1') == "busy, gone");
}

BOOST_AUTO_TEST_CASE(a_counter_that_says_nothing)
{
    play p{with_counter()};
    p.counted(0);
    BOOST_TEST(p.limit_read("three") == "unlock queue");
    BOOST_TEST(p.queue_unlocked() == with("failed", errc::invalid_counter) + " (5), gone");

    play q{with_counter()};
    q.counted(0);
    BOOST_TEST(q.limit_read("\xff\xff\xff\xff") == "unlock queue");

    play r{with_counter()};
    r.counted(0);
    BOOST_TEST(r.limit_not_read(no_node) == "unlock queue");
    BOOST_TEST(r.queue_unlocked() == with("failed", no_node) + ", gone");
}

BOOST_AUTO_TEST_CASE(the_first_one_compares)
{
    play p;
    p.now.compared = false;
    p.assume(p.now);
    BOOST_TEST(p.begin() == "lock queue, list, ask others");
    p.queue_locked();
    p.listed(0);
    BOOST_TEST(p.maximum_read("permits=1") == "");
    BOOST_TEST(p.siblings_listed() == "agreed, create");
}

// Others may come before the directory is there, and see nothing of the semaphore.
BOOST_AUTO_TEST_CASE(without_a_directory_it_is_made_and_then_compared)
{
    for (const bool alone : {true, false}) {
        play p;
        p.now.compared = false;
        p.assume(p.now);
        p.begin();
        p.queue_locked();
        p.not_listed(no_node);
        p.no_maximum();
        BOOST_TEST(p.siblings_listed({"locks"}) == "make directory");
        BOOST_TEST(p.directory_made() == "pause");
        BOOST_TEST(p.paused() == "ask others");
        p.maximum_read("permits=1");
        if (alone) {
            BOOST_TEST(p.siblings_listed() == "agreed, list");
            BOOST_TEST(p.listed(0) == "create");
        } else {
            BOOST_TEST(p.siblings_listed({"leases", "locks", other_lock}) ==
                       "remove directory, unlock queue");
            BOOST_TEST(p.queue_unlocked() == with("failed", errc::conflicting_kind) + ", gone");
        }
    }
}

// Whoever may not read it goes on.
BOOST_AUTO_TEST_CASE(a_directory_that_cannot_be_read_is_not_compared)
{
    play p;
    p.now.compared = false;
    p.assume(p.now);
    p.begin();
    p.queue_locked();
    p.listed(0);
    p.maximum_not_read(no_auth);
    BOOST_TEST(p.siblings_listed() == "create");
}

BOOST_AUTO_TEST_CASE(others_have_another_number)
{
    play p;
    p.now.compared = false;
    p.assume(p.now);
    p.begin();
    p.queue_locked();
    p.listed(1);
    p.maximum_read("permits=7");
    BOOST_TEST(p.siblings_listed() == "unlock queue");
    BOOST_TEST(p.queue_unlocked() == with("failed", errc::conflicting_maximum) + " (7), gone");
}

BOOST_AUTO_TEST_CASE(the_number_of_others_is_replaced_once_while_they_have_no_permits)
{
    for (const bool replaced : {true, false}) {
        play p;
        p.now.compared = false;
        p.assume(p.now);
        p.begin();
        p.queue_locked();
        p.listed(0);
        p.maximum_read("permits=7");
        BOOST_TEST(p.siblings_listed() == "remove directory, make directory");
        BOOST_TEST(p.directory_made() == "pause");
        BOOST_TEST(p.paused() == "ask others");
        p.maximum_read(replaced ? "permits=1" : "permits=7");
        if (replaced) {
            BOOST_TEST(p.siblings_listed() == "agreed, list");
            p.now.compared = true;
            p.assume(p.now);
            BOOST_TEST(p.listed(0) == "create");
        } else {
            BOOST_TEST(p.siblings_listed() == "remove directory, unlock queue");
            BOOST_TEST(p.queue_unlocked() ==
                       with("failed", errc::conflicting_maximum) + " (7), gone");
        }
    }
}

// It was compared before, and deleted since.
BOOST_AUTO_TEST_CASE(another_directory_is_compared_anew)
{
    play p;
    p.begin();
    p.queue_locked();
    p.now.compared = false;
    p.assume(p.now);
    BOOST_TEST(p.listed(0) == "ask others");
    p.maximum_read("permits=1");
    BOOST_TEST(p.siblings_listed() == "agreed, list");
    BOOST_TEST(p.listed(0) == "create");
}

BOOST_AUTO_TEST_CASE(a_lock_of_another_kind)
{
    for (const std::string name : {"-lock-0000000001", "-__WRIT__0000000001", "-__READ__0000000001",
                                   "-latch-0000000001", "__lock__0000000001"}) {
        play p;
        p.now.compared = false;
        p.assume(p.now);
        p.begin();
        p.queue_locked(false);
        p.listed(0);
        p.no_maximum();
        BOOST_TEST(p.siblings_listed({"_c_00000000-0000-0000-0000-000000000000" + name}) ==
                   with("failed", errc::conflicting_kind) + ", gone");
    }
}

BOOST_AUTO_TEST_CASE(the_lock_of_the_queue_is_refused)
{
    play p;
    p.begin();
    p.listed(0);
    BOOST_TEST(p.queue_refused(no_auth) == with("failed", no_auth) + ", gone");
}

BOOST_AUTO_TEST_CASE(the_answer_to_a_create_is_lost)
{
    play p;
    p.counted(0);
    BOOST_TEST(p.not_created(lost_connection) == "list");
    BOOST_TEST(p.listed_own(p.prefix) == "release queue, granted, gone");
}

BOOST_AUTO_TEST_CASE(a_create_that_was_lost_is_repeated_with_another_guid)
{
    play p;
    p.counted(0);
    p.not_created(lost_connection);
    BOOST_TEST(p.listed(0) == "pause");
    BOOST_TEST(p.paused() == "list");
    BOOST_TEST(p.listed(0) == "create");
    BOOST_TEST(p.prefix == "_c_00000000-0000-0000-0000-000000000001-lease-");
}

BOOST_AUTO_TEST_CASE(leases_of_an_earlier_session_are_not_taken)
{
    play p;
    p.counted(0);
    p.not_created(lost_connection);
    p.session(2);
    BOOST_TEST(p.listed_own(p.prefix) == "pause");
}

BOOST_AUTO_TEST_CASE(there_is_no_directory)
{
    play p;
    p.counted(0);
    BOOST_TEST(p.not_created(no_node) == "make directory");
    BOOST_TEST(p.directory_made() == "pause");
    BOOST_TEST(p.paused() == "ask others"); // others may have come meanwhile
    p.maximum_read("permits=1");
    BOOST_TEST(p.siblings_listed() == "agreed, list");

    play q{with_counter()}; // to wait for a higher limit there has to be one, too
    q.begin();
    q.queue_locked();
    q.not_listed(no_node);
    BOOST_TEST(q.limit_read('\0') == "list and watch");
    BOOST_TEST(q.not_listed(no_node) == "make directory");
    BOOST_TEST(q.directory_made(zookeeper_errc::node_exists) == "pause");
    BOOST_TEST(q.paused() == "ask others");
    q.maximum_read("");
    BOOST_TEST(q.siblings_listed() == "agreed, read limit");
    BOOST_TEST(q.limit_read('\0') == "list");
    BOOST_TEST(q.listed(0) == "list and watch");
    BOOST_TEST(q.listed(0) == "wait");
}

BOOST_AUTO_TEST_CASE(errors_that_only_a_person_can_mend)
{
    play p;
    p.counted(0);
    BOOST_TEST(p.not_created(no_auth) == "unlock queue");
    BOOST_TEST(p.queue_unlocked() == with("failed", no_auth) + ", gone");

    play q;
    q.begin();
    q.listed(0);
    q.queue_locked();
    BOOST_TEST(q.not_listed(no_auth) == "unlock queue");

    play r;
    r.counted(0);
    r.not_created(no_node);
    BOOST_TEST(r.directory_made(no_auth) == "unlock queue");

    play s{{.try_only = true}};
    s.begin();
    BOOST_TEST(s.not_listed(no_auth) == with("failed", no_auth) + ", gone");
}

BOOST_AUTO_TEST_CASE(a_busy_server_is_asked_again_after_a_pause)
{
    play p;
    p.counted(0);
    BOOST_TEST(p.not_created(throttled) == "pause");
    BOOST_TEST(p.paused() == "list");
}

BOOST_AUTO_TEST_CASE(the_lock_of_the_queue_is_lost)
{
    play p;
    p.counted(1);
    p.listed(1);
    p.queue_lost(errc::node_deleted);
    BOOST_TEST(p.changed() == "release queue, pause");
    BOOST_TEST(p.paused() == "lock queue, list");

    play q; // a create shows it
    q.counted(0);
    BOOST_TEST(q.not_created(no_node, false) == "pause");
    q.queue_lost(errc::session_expired);
    BOOST_TEST(q.paused() == "release queue, pause");

    play r{{.rejoin_on_expiry = false}};
    r.counted(1);
    r.listed(1);
    r.queue_lost(errc::session_expired);
    BOOST_TEST(r.changed() == "unlock queue");
    BOOST_TEST(r.queue_unlocked() == with("failed", errc::session_expired) + ", gone");
}

BOOST_AUTO_TEST_CASE(cancelled_with_no_trace)
{
    play p;
    p.counted(1);
    p.listed(1);
    BOOST_TEST(p.cancel() == "cut short");
    BOOST_TEST(p.changed() == "unlock queue");
    BOOST_TEST(p.queue_unlocked() == "cancelled, gone");

    play q;
    q.begin();
    BOOST_TEST(q.cancel() == "cut short");
    q.not_listed(lost_connection);
    BOOST_TEST(q.queue_locked() == "unlock queue"); // the grant was under way
}

BOOST_AUTO_TEST_CASE(cancelled_at_once)
{
    play p;
    p.begin();
    BOOST_TEST(p.cancel(true) == "cancelled, cut short");
    p.not_listed(lost_connection);
    BOOST_TEST(p.queue_refused(lost_connection) == "gone");
}

BOOST_AUTO_TEST_CASE(cancelled_while_permits_are_created)
{
    play p; // too late, if the caller waits for the end
    p.counted(0);
    BOOST_TEST(p.cancel() == "");
    BOOST_TEST(p.created() == "release queue, granted, gone");

    play q;
    q.counted(0);
    BOOST_TEST(q.cancel(true) == "cancelled");
    BOOST_TEST(q.created() == "release queue, give back, gone");

    play r;
    r.counted(0);
    r.cancel();
    BOOST_TEST(r.not_created(no_node) == "unlock queue");
    BOOST_TEST(r.queue_unlocked() == "cancelled, gone");
}

BOOST_AUTO_TEST_CASE(cancelled_while_the_directory_is_made)
{
    play r;
    r.counted(0);
    BOOST_TEST(r.not_created(no_node) == "make directory");
    BOOST_TEST(r.cancel() == "cut short");
    BOOST_TEST(r.directory_made() == "remove directory, unlock queue");
    BOOST_TEST(r.queue_unlocked() == "cancelled, gone");
}

BOOST_AUTO_TEST_CASE(a_deadline)
{
    play p;
    p.counted(1);
    p.listed(1);
    BOOST_TEST(p.deadline_reached() == "busy, cut short");
    BOOST_TEST(p.changed() == "unlock queue");
    BOOST_TEST(p.queue_unlocked() == "gone");

    play q;
    q.begin();
    BOOST_TEST(q.deadline_reached(errc::disconnected) ==
               with("failed", errc::disconnected) + ", cut short");
}

BOOST_AUTO_TEST_CASE(the_client_is_closed)
{
    play p;
    p.counted(0);
    p.unavailable(errc::client_closed);
    BOOST_TEST(p.created() == "unlock queue"); // they go with the session
    BOOST_TEST(p.queue_unlocked() == with("failed", errc::client_closed) + ", gone");

    play q;
    q.counted(0);
    q.unavailable(errc::client_closed);
    BOOST_TEST(q.not_created(throttled) == "unlock queue");
}

BOOST_AUTO_TEST_CASE(numbers_as_they_are_written)
{
    BOOST_TEST((limit_in(std::string{'\0', '\0', '\1', '\2'}) == 258));
    BOOST_TEST((limit_in(std::string{'\0', '\0', '\0', '\0'}) == 0));
    BOOST_TEST(!limit_in("\xff\xff\xff\xff"));
    BOOST_TEST(!limit_in("12"));
    BOOST_TEST(!limit_in("12345"));
    BOOST_TEST(maximum_text(12) == "permits=12");
    BOOST_TEST((maximum_in("permits=12") == 12));
    BOOST_TEST((maximum_in(maximum_text(INT64_MAX)) == INT64_MAX));
    BOOST_TEST(!maximum_in("permits=9223372036854775808"));
    BOOST_TEST(!maximum_in("permits=-1"));
    BOOST_TEST(!maximum_in("permits=12a"));
    BOOST_TEST(!maximum_in("permits="));
    BOOST_TEST(!maximum_in("10.0.0.1"));
    BOOST_TEST(leases_among({"_c_x-lease-0000000001", "_c_x-lock-0000000002", "x"}) == 1);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::permit_play
