// Where a session is offered, where it is not, and for how long: a server that stalls may carry out an old write later.
#include "reconnect_play.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace colock::test::reconnect_play {

namespace {

// What the machine says to begin it.
std::string next_attempt(play& p)
{
    const auto said = p.timer();
    return said == "look up" ? p.resolved() : said;
}

} // namespace

BOOST_AUTO_TEST_SUITE(session_offers)

BOOST_AUTO_TEST_CASE(the_server_that_was_lost_last_is_tried_last)
{
    play p;
    p.come_online().broken();
    BOOST_TEST(p.tries() == "ba");
}

BOOST_AUTO_TEST_CASE(a_session_is_not_offered_where_an_old_connection_is_not_closed)
{
    play p;
    p.come_online().broken();
    p.addresses = {{"b"}, {"a", true}};
    BOOST_TEST(p.tries() == "b");
    p.addresses = {{"b", true}, {"a", true}};
    BOOST_TEST(p.tries() == "");
    p.pass(32s); // the time-out and a tick: the session has ended
    BOOST_TEST(p.tries() == "ba");
}

BOOST_AUTO_TEST_CASE(a_pass_that_leaves_all_servers_out_is_followed_by_a_pause)
{
    play p;
    p.come_online().broken();
    p.addresses = {{"b", true}, {"a", true}};
    BOOST_TEST(p.resolved() == "pause");
    BOOST_TEST(p.timer() == "look up");
    BOOST_TEST(p.resolved() == "pause");
}

BOOST_AUTO_TEST_CASE(a_failure_before_the_last_connection_is_no_answer_after_it)
{
    play p;
    p.connect();
    p.resolved();
    p.timer();
    p.broken();
    p.timer();
    p.established();
    p.broken();
    p.connect();
    BOOST_TEST(p.deadline() == "note 'hosts a,b: no answer in time', answer: " +
                                   error_code{errc::connect_timeout}.message());
    p.resolved();
    p.timer();
    p.broken();
    p.connect(); // in the same outage
    BOOST_TEST(p.deadline() == "note 'server a refuses connections', answer: " +
                                   error_code{errc::no_server}.message());
}

BOOST_AUTO_TEST_CASE(a_session_is_not_offered_where_a_write_was_lost_for_ten_ticks)
{
    play p;
    p.come_online().broken(loss::broken, true);
    BOOST_TEST(p.tries() == "b");
    p.pass(14s);
    BOOST_TEST(p.tries() == "b"); // and that takes two seconds
    p.pass(2s);
    BOOST_TEST(p.tries() == "ba");
}

// A write is lost at b, and another one at a, `between` later.
static void lose_writes_everywhere(play& p, std::chrono::seconds between)
{
    p.addresses = {{"a"}, {"b"}};
    p.come_online().broken(loss::broken, true);
    p.addresses = {{"b"}, {"a"}};
    p.resume();
    p.barrier_answered();
    p.pass(between);
    p.broken(loss::broken, true);
}

BOOST_AUTO_TEST_CASE(where_a_write_was_lost_everywhere_the_session_is_offered_to_the_latest_server)
{
    play p;
    lose_writes_everywhere(p, 0s);
    BOOST_TEST(p.tries() == "a");
}

// The server of that connection may have put off what came on the one before it.
BOOST_AUTO_TEST_CASE(a_connection_without_an_answer_says_nothing_of_the_writes_before_it)
{
    play p;
    lose_writes_everywhere(p, 10s);
    p.resume(); // where the last connection was
    p.broken();
    p.pass(11s);
    BOOST_TEST(p.tries() == "a");
}

// The server may read the attempt when it has been given up, in front of the write that was lost there.
BOOST_AUTO_TEST_CASE(behind_an_attempt_where_a_write_was_lost_the_session_is_offered_nowhere_else)
{
    play p;
    lose_writes_everywhere(p, 10s);
    p.resolved();
    BOOST_TEST(p.timer().starts_with("open a"));
    p.offered();
    p.timer(); // no answer
    BOOST_TEST(p.timer() == "look up");
    p.pass(11s); // more than ten ticks behind the write that was lost at b
    BOOST_TEST(p.tries() == "a");
    p.pass(9s);
    BOOST_TEST(p.tries() == "ba");
}

// Nobody is there who could read it.
BOOST_AUTO_TEST_CASE(an_attempt_that_has_reached_no_server_binds_to_none)
{
    play p;
    lose_writes_everywhere(p, 10s);
    p.resolved();
    BOOST_TEST(p.timer().starts_with("open a"));
    p.broken();
    BOOST_TEST(p.timer() == "look up");
    p.pass(11s);
    BOOST_TEST(p.tries() == "b");
}

// The name service has replaced the only server, whose old requests may still come.
BOOST_AUTO_TEST_CASE(the_only_server_is_tried_at_once_if_it_is_the_one_of_the_last_connection)
{
    play p;
    p.addresses = {{"a"}};
    p.come_online().broken(loss::broken, true);
    p.resolved();
    BOOST_TEST(p.timer().starts_with("open a"));
    p.offered();
    p.timer(); // no answer
    BOOST_TEST(p.timer() == "look up");
    p.addresses = {{"b"}};
    BOOST_TEST(p.tries() == "");
    p.addresses = {{"a"}};
    BOOST_TEST(p.tries() == "a");
    p.addresses = {{"b"}};
    p.pass(20s);
    BOOST_TEST(p.tries() == "b");
}

BOOST_AUTO_TEST_CASE(an_earlier_server_that_is_the_only_one_again_is_not_tried_at_once)
{
    play p;
    p.addresses = {{"b"}, {"a"}};
    p.come_online().broken(loss::broken, true); // at a
    p.resume();                                 // at b
    p.barrier_answered();
    p.broken();
    p.addresses = {{"a", true}};
    BOOST_TEST(p.tries() == "");
    p.addresses = {{"a"}};
    BOOST_TEST(p.tries() == "");
    p.pass(20s);
    BOOST_TEST(p.tries() == "a");
}

BOOST_AUTO_TEST_CASE(time_in_which_the_machine_sleeps_counts_for_the_session)
{
    play p;
    p.come_online().broken();
    p.addresses = {{"b", true}, {"a", true}};
    p.sleep(32s);
    BOOST_TEST(p.tries() == "ba");
}

BOOST_AUTO_TEST_CASE(a_session_is_offered_to_the_only_server_at_once)
{
    play p;
    p.addresses = {{"a", true}};
    p.come_online().broken(loss::broken, true);
    BOOST_TEST(p.tries() == "a");
}

BOOST_AUTO_TEST_CASE(a_new_session_is_offered_everywhere)
{
    play p;
    p.come_online().broken(loss::broken, true);
    p.resume();
    p.broken(loss::expired, true);
    p.addresses = {{"b", true}, {"a", true}};
    BOOST_TEST(p.tries() == "ab");
}

// Each attempt that it begins to answer, and that is given up, makes a session or lengthens the old one.
BOOST_AUTO_TEST_CASE(slow_servers_get_more_time_once_a_session_has_had_its_own)
{
    auto short_sessions = usual();
    short_sessions.session_timeout = 4s;
    play p{short_sessions};
    p.connect();
    p.resolved();
    for (const auto* const limit : {"1000", "1000", "1000", "1000", "2000", "2000", "4000"}) {
        const auto attempt = next_attempt(p);
        BOOST_TEST(attempt.ends_with(std::string{" for 4 s, limit "} + limit + " ms"), attempt);
        p.offered();
        p.timer(); // gives it up
    }
}

// A server that only hangs does not keep the client from one that comes back within the session's time.
BOOST_AUTO_TEST_CASE(a_server_that_hangs_takes_its_share_and_no_more)
{
    play p;
    p.connect();
    p.resolved();
    for (const auto* const limit :
         {"1000", "2000", "4000", "7500", "7500", "7500", "7500", "15000"}) {
        auto attempt = next_attempt(p);
        if (attempt.starts_with("open b")) {
            p.broken(); // refuses
            attempt = next_attempt(p);
        }
        BOOST_TEST(attempt == std::string{"open a for 30 s, limit "} + limit + " ms");
        p.offered();
        p.timer();
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::reconnect_play
