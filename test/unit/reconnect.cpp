// What the state machine of a session says to each input. test/model/session.cpp walks every order of events.
#include "reconnect_play.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace colock::test::reconnect_play {

BOOST_AUTO_TEST_SUITE(session_machine)

// ---- another list

BOOST_AUTO_TEST_CASE(a_connection_to_a_server_of_the_other_list_stays)
{
    play p;
    BOOST_TEST(p.hosts_changed() == "hosts in use: ok"); // nobody has connected
    p.come_online();
    p.addresses = {{"c"}, {"a"}};
    BOOST_TEST(p.hosts_changed() == "look up");
    BOOST_TEST(p.resolved(true) == "hosts in use: ok");
    BOOST_TEST(p.resolved() == "");
}

BOOST_AUTO_TEST_CASE(a_server_that_is_not_in_the_other_list_is_left_when_all_is_answered)
{
    play p;
    p.come_online();
    p.addresses = {{"c"}};
    p.hosts_changed();
    BOOST_TEST(p.quiet() == "");
    BOOST_TEST(p.resolved(true) == ""); // a name may still stand for it
    BOOST_TEST(p.resolved() == "info, limit 1000 ms, hold");
    BOOST_TEST(p.quiet() == "break off");
    BOOST_TEST(p.broken() == "drop, stop timer, info, suspended, look up");
    p.resolved();
    BOOST_TEST(p.timer() == "open c for 30 s, limit 1000 ms");
    BOOST_TEST(p.established() ==
               "old session at c, stop timer, barrier, connected, hosts in use: ok");
}

BOOST_AUTO_TEST_CASE(a_server_that_stalls_is_left_all_the_same)
{
    play p;
    p.come_online();
    p.addresses = {{"c"}};
    p.hosts_changed();
    p.resolved();
    BOOST_TEST(p.timer() == "break off");
}

BOOST_AUTO_TEST_CASE(a_list_of_unknown_names_leaves_the_connection_alone)
{
    play p;
    p.come_online();
    p.addresses = {};
    p.hosts_changed();
    BOOST_TEST(p.resolved(true) == "");
    BOOST_TEST(p.resolved() ==
               "note 'host a: no such host', hosts in use: no host name of client_options::hosts "
               "could be resolved; check the names and the name service");
}

BOOST_AUTO_TEST_CASE(another_list_replaces_the_rest_of_a_pass)
{
    play p;
    p.connect();
    p.resolved();
    p.timer();
    p.addresses = {{"c"}};
    BOOST_TEST(p.hosts_changed() == "");
    BOOST_TEST(p.broken().ends_with("pause")); // the attempt at a
    BOOST_TEST(p.timer() == "look up");
    BOOST_TEST(p.resolved() == "open c for 30 s, limit 1000 ms");
    BOOST_TEST(p.established().ends_with("answer: ok, hosts in use: ok"));
}

BOOST_AUTO_TEST_CASE(an_attempt_that_began_before_may_reach_a_server_of_the_other_list)
{
    play p;
    p.connect();
    p.resolved();
    p.timer();
    p.hosts_changed();
    BOOST_TEST(p.established().ends_with("answer: ok, look up"));
    BOOST_TEST(p.resolved() == "hosts in use: ok");
}

// ---- connecting

BOOST_AUTO_TEST_CASE(the_first_server_answers)
{
    play p;
    BOOST_TEST((*p).is_idle());
    BOOST_TEST(p.connect() == "deadline 20000 ms, connecting, look up");
    BOOST_TEST(p.resolved() == "at once");
    BOOST_TEST(p.timer() == "open a for 30 s, limit 1000 ms");
    BOOST_TEST(p.established() ==
               "new session at a, stop timer, writable, stop deadline, connected, answer: ok");
    BOOST_TEST(p.connect() == "answer: ok");
}

BOOST_AUTO_TEST_CASE(all_servers_are_tried_in_turn_then_there_is_a_pause)
{
    play p;
    p.connect();
    p.resolved();
    BOOST_TEST(p.timer() == "open a for 30 s, limit 1000 ms");
    BOOST_TEST(p.broken() ==
               "drop, stop timer, info, note 'server a refuses connections', at once");
    BOOST_TEST(p.timer() == "open b for 30 s, limit 1000 ms");
    BOOST_TEST(p.broken(loss::broken, false, "an odd frame") ==
               "drop, stop timer, info, note 'the connection to server b failed: an odd "
               "frame', pause");
    BOOST_TEST(p.timer() == "look up");
    BOOST_TEST(p.resolved() == "open a for 30 s, limit 1000 ms"); // behind the pause, at once
}

BOOST_AUTO_TEST_CASE(a_server_that_closes_a_plain_connection_may_expect_tls)
{
    const auto last_words = [](reconnect::settings s) {
        play p{s};
        p.connect();
        p.resolved();
        p.timer();
        p.offered();
        return p.broken();
    };
    BOOST_TEST(
        last_words(usual()) ==
        "drop, stop timer, info, note 'server a closed this connection before it answered: perhaps "
        "it has no quorum, is read-only, or has too many connections (maxClientCnxns, "
        "throttling), or its port is for TLS', at once");
    auto with_tls = usual();
    with_tls.tls = true;
    BOOST_TEST(last_words(with_tls) == "drop, stop timer, info, note 'server a closed this "
                                       "connection before it answered: perhaps it has no "
                                       "quorum, is read-only, or has too many connections "
                                       "(maxClientCnxns, throttling)', at once");
}

BOOST_AUTO_TEST_CASE(a_client_that_had_a_session_without_tls_does_not_suspect_tls)
{
    play p;
    p.come_online();
    p.broken();
    p.resolved();
    p.timer();
    p.offered();
    BOOST_TEST(p.broken() ==
               "drop, stop timer, info, note 'server b closed this connection before it "
               "answered: perhaps it has no quorum, is read-only, or has too many connections "
               "(maxClientCnxns, throttling)', at once");
}

BOOST_AUTO_TEST_CASE(a_server_that_tls_fails_with_is_left_for_the_next_with_a_warning)
{
    play p;
    p.connect();
    p.resolved();
    p.timer();
    p.securing();
    BOOST_TEST(
        p.broken(loss::tls_failed, false, "TLS: the certificate has expired") ==
        "drop, stop timer, warning 'server a: TLS: the certificate has expired', note 'server a: "
        "TLS: the certificate has expired', at once");
    BOOST_TEST(p.timer() == "open b for 30 s, limit 1000 ms");
    p.securing();
    BOOST_TEST(p.timer() ==
               "drop, info, note 'server b did not finish the TLS handshake in time', pause");
    BOOST_TEST(
        p.deadline() ==
        "note 'server b did not finish the TLS handshake in time', error 'giving up to connect: "
        "server b did not finish the TLS handshake in time', given up: " +
            error_code{errc::connect_timeout}.message());
}

BOOST_AUTO_TEST_CASE(tls_that_breaks_off_later_is_a_lost_connection)
{
    play p;
    p.come_online();
    BOOST_TEST(p.broken(loss::tls_failed, false, "TLS: bad record mac") ==
               "drop, stop timer, warning 'connection to a lost: TLS: bad record mac', suspended, "
               "look up");
}

BOOST_AUTO_TEST_CASE(a_failure_that_repeats_has_a_line_ever_more_seldom)
{
    protocol::session::failure_lines lines;
    std::vector<std::string> a;
    for (auto at = 0s; at != 120s; ++at) {
        if (auto line = lines.line("a", at); !line.empty()) {
            a.push_back(std::to_string(at.count()) + ": " + line);
        }
    }
    BOOST_TEST(a == (std::vector<std::string>{"0: a", "10: a, as 9 times since the last such line",
                                              "30: a, as 19 times since the last such line",
                                              "70: a, as 39 times since the last such line"}),
               boost::test_tools::per_element());
    BOOST_TEST(lines.line("b", 120s) == "b");
    lines.connected();
    BOOST_TEST(lines.line("a", 121s) == "a");
    std::size_t in_a_day = 0;
    for (auto at = 0s; at != 24h; ++at) {
        in_a_day += !lines.line("c", at).empty();
    }
    BOOST_TEST(in_a_day < 160u);
}

BOOST_AUTO_TEST_CASE(a_silent_server_gets_a_second_at_first_and_more_each_time)
{
    play p;
    p.addresses = {{"a"}};
    p.connect();
    p.resolved();
    BOOST_TEST(p.timer() == "open a for 30 s, limit 1000 ms");
    std::string line = "info, "; // once
    for (const auto* limit : {"2000", "4000", "8000", "15000", "15000"}) {
        BOOST_TEST(p.timer() == "drop, " + line + "note 'server a did not answer in time', pause");
        line.clear();
        BOOST_TEST(p.timer() == "look up");
        BOOST_TEST(p.resolved() == std::string{"open a for 30 s, limit "} + limit + " ms");
    }
    p.established();
    BOOST_TEST(p.broken() ==
               "drop, stop timer, warning 'connection to a lost', suspended, look up");
    p.resolved();
    BOOST_TEST(p.timer() == "open a for 30 s, limit 1000 ms");
}

BOOST_AUTO_TEST_CASE(there_are_at_most_ten_attempts_in_a_second)
{
    play p;
    p.addresses.assign(25, {"a"});
    p.connect();
    p.resolved();
    int attempts = 0;
    while (p.timer().starts_with("open")) {
        ++attempts;
        const auto next = p.broken();
        if (!next.ends_with("at once")) {
            break;
        }
    }
    BOOST_TEST(attempts == 10);
}

BOOST_AUTO_TEST_CASE(an_address_that_cannot_be_opened_counts_as_tried)
{
    play p;
    p.connect();
    p.resolved();
    p.timer();
    BOOST_TEST(p.not_opened() ==
               "info, note 'server a: the C client refuses the address', at once");
    BOOST_TEST(p.timer() == "open b for 30 s, limit 1000 ms");
}

BOOST_AUTO_TEST_CASE(a_look_up_that_fails_is_repeated_after_a_pause)
{
    play p;
    const auto known = p.addresses;
    p.addresses = {};
    p.connect();
    BOOST_TEST(p.resolved(true) == ""); // one is still to come
    BOOST_TEST(p.resolved() == "info, note 'host a: no such host', pause");
    BOOST_TEST(p.resolved() == "");
    BOOST_TEST(p.timer() == "look up");
    BOOST_TEST(p.resolved(true) == "");
    p.addresses = known;
    BOOST_TEST(p.resolved() == "open a for 30 s, limit 1000 ms");
    BOOST_TEST(p.resolved() == ""); // of another name
}

// ---- callers of connect()

BOOST_AUTO_TEST_CASE(several_callers_have_the_deadline_of_the_first)
{
    play p;
    p.connect();
    BOOST_TEST(p.connect() == "");
    p.resolved();
    p.timer();
    p.broken();
    BOOST_TEST(p.deadline() ==
               "note 'server a refuses connections', error 'giving up to connect: server a refuses "
               "connections', given up: " +
                   error_code{errc::no_server}.message());
    BOOST_TEST(p.timer() == "");
    BOOST_TEST(p.deadline() == "");
    BOOST_TEST(p.connect() == "deadline 20000 ms, connecting, look up");
    BOOST_TEST(p.deadline() == "note 'hosts a,b: no answer in time', error 'giving up to connect: "
                               "hosts a,b: no answer in time', given up: " +
                                   error_code{errc::connect_timeout}.message());
}

BOOST_AUTO_TEST_CASE(a_caller_may_wait_without_a_limit)
{
    auto s = usual();
    s.connect_timeout = milliseconds::max();
    play p{s};
    BOOST_TEST(p.connect() == "connecting, look up");
}

BOOST_AUTO_TEST_CASE(without_callers_the_first_connection_is_given_up)
{
    play p;
    p.connect();
    BOOST_TEST(p.nobody_waits() ==
               "stop deadline, given up: " + error_code{errc::not_connected}.message());
    BOOST_TEST(p.resolved() == "");
    BOOST_TEST(p.nobody_waits() == "");
}

BOOST_AUTO_TEST_CASE(a_session_in_use_is_resumed_also_without_callers)
{
    play p;
    p.come_online();
    p.broken();
    BOOST_TEST(p.connect() == "deadline 20000 ms");
    BOOST_TEST(p.deadline() == "note 'hosts a,b: no answer in time', answer: " +
                                   error_code{errc::connect_timeout}.message());
    BOOST_TEST(p.connect() == "deadline 20000 ms");
    BOOST_TEST(p.nobody_waits() == "stop deadline");
    BOOST_TEST(p.resume() == "old session at b, stop timer, barrier, connected");
}

// ---- resuming

BOOST_AUTO_TEST_CASE(a_session_is_resumed_behind_a_barrier)
{
    play p;
    p.come_online();
    BOOST_TEST(p.broken(loss::broken, false, "it is odd") ==
               "drop, stop timer, warning 'connection to a lost: it is odd', suspended, look up");
    BOOST_TEST(p.resume() == "old session at b, stop timer, barrier, connected");
    for (const error_code ec :
         {ok, error_code{zookeeper_errc::no_node}, error_code{zookeeper_errc::no_auth}}) {
        BOOST_TEST(p.barrier_answered(ec) == "writable");
        p.broken();
        p.resume();
    }
    BOOST_TEST(!(*p).is_distrusted());
}

// The server may have taken the answer to an earlier attempt for its own: then its question is still on its way.
BOOST_AUTO_TEST_CASE(no_write_is_sent_before_the_barrier_is_answered)
{
    play p;
    p.come_online().broken();
    BOOST_TEST(p.resume() == "old session at b, stop timer, barrier, connected");
    BOOST_TEST(p.barrier_answered() == "writable");
    play closed;
    closed.come_online().broken();
    closed.resume();
    closed.close();
    BOOST_TEST(closed.barrier_answered() == "");
}

BOOST_AUTO_TEST_CASE(a_server_that_refuses_the_barrier_is_not_believed_and_left_after_a_pause)
{
    play p;
    p.come_online();
    p.broken();
    p.resume();
    BOOST_TEST(p.barrier_answered(zookeeper_errc::throttled_op) ==
               "warning 'server b does not carry out the first request on the connection: " +
                   error_code{zookeeper_errc::throttled_op}.message() + "', break off");
    BOOST_TEST((*p).is_distrusted());
    BOOST_TEST(p.broken() ==
               "drop, stop timer, warning 'connection to b lost', suspended, look up");
    BOOST_TEST(!(*p).is_distrusted());
    BOOST_TEST(p.resolved() == "pause");
    p.timer();
    p.established();
    p.barrier_answered();
    p.broken();
    BOOST_TEST(p.resolved() == "at once");
}

BOOST_AUTO_TEST_CASE(a_server_that_is_not_believed_is_not_believed_when_the_client_is_closed)
{
    play p;
    p.come_online();
    p.broken();
    p.resume();
    p.barrier_answered(zookeeper_errc::throttled_op);
    p.close();
    BOOST_TEST((*p).is_distrusted());
    play late;
    late.come_online();
    late.broken();
    late.resume();
    late.close();
    BOOST_TEST(late.barrier_answered(zookeeper_errc::throttled_op).ends_with("break off"));
    BOOST_TEST((*late).is_distrusted());
}

BOOST_AUTO_TEST_CASE(the_smallest_time_out_counts)
{
    play p;
    p.come_online();
    p.broken();
    p.resume(first_session, 10s);
    BOOST_TEST((*p).session_timeout().count() == 10'000);
    p.broken();
    p.resolved();
    BOOST_TEST(p.timer() == "open a for 10 s, limit 1000 ms");
    p.established(first_session, 20s);
    BOOST_TEST((*p).session_timeout().count() == 10'000);
    p.broken();
    p.resume(second_session, 20s);
    BOOST_TEST((*p).session_timeout().count() == 20'000);
}

BOOST_AUTO_TEST_CASE(an_expired_session_is_told_once_and_another_one_begins)
{
    play p;
    p.come_online();
    p.broken();
    p.resolved();
    p.timer();
    BOOST_TEST(p.broken(loss::expired) ==
               "drop, stop timer, warning 'the session has expired', expired, look up");
    p.resolved();
    BOOST_TEST(p.timer() == "open b for 30 s, limit 1000 ms");
    BOOST_TEST(p.established(second_session) ==
               "new session at b, stop timer, writable, connected");
    BOOST_TEST(p.broken(loss::expired) ==
               "drop, stop timer, warning 'connection to b lost', suspended, warning 'the session "
               "has expired', expired, look up");
}

// The server that says so is there. How long the client was away does not count any more.
BOOST_AUTO_TEST_CASE(another_session_is_asked_for_at_once)
{
    play p;
    p.come_online();
    p.broken();
    for (int attempts = 0; attempts != 5; ++attempts) {
        p.resolved();
        p.timer();
        p.broken();
        p.timer();
    }
    BOOST_TEST(p.broken(loss::expired) ==
               "drop, stop timer, warning 'the session has expired', expired, look up");
    BOOST_TEST(p.resolved() == "at once");
}

BOOST_AUTO_TEST_CASE(a_server_that_ends_new_sessions_is_left_after_a_pause)
{
    play p{with_chroot()};
    p.connect();
    p.addresses = {{"a"}};
    p.resolved();
    p.timer();
    BOOST_TEST(p.broken(loss::expired) ==
               "drop, stop timer, info, note 'server a ended the session at once', pause");
    p.timer();
    p.resolved();
    p.established();
    BOOST_TEST(p.broken(loss::expired)
                   .ends_with("expired, info, note 'server a broke this connection', pause"));
}

// ---- chroot and credentials

BOOST_AUTO_TEST_CASE(chroot_and_credentials_are_tried_once)
{
    play p{with_chroot()};
    p.connect();
    p.resolved();
    p.timer();
    BOOST_TEST(p.established() == "new session at a, stop timer, try options");
    BOOST_TEST(p.options_tried() == "writable, stop deadline, connected, answer: ok");
    p.broken();
    BOOST_TEST(p.resume() == "old session at b, stop timer, barrier, connected");
}

BOOST_AUTO_TEST_CASE(a_connection_that_is_lost_while_they_are_tried_has_failed)
{
    play p{with_chroot()};
    p.connect();
    p.resolved();
    p.timer();
    p.established();
    BOOST_TEST(p.broken() ==
               "drop, stop timer, info, note 'server a broke this connection', at once");
    BOOST_TEST(p.timer() == "open b for 30 s, limit 1000 ms");
    BOOST_TEST(p.established() == "old session at b, stop timer, try options");
    BOOST_TEST(p.options_tried() == "barrier, stop deadline, connected, answer: ok");
}

BOOST_AUTO_TEST_CASE(what_the_servers_refuse_for_good_ends_the_attempts)
{
    const auto tried = [](const error_code& ec) {
        play p{with_chroot()};
        p.connect();
        p.resolved();
        p.timer();
        p.established();
        const auto said = p.options_tried(ec);
        BOOST_TEST(p.timer() == "");
        return said;
    };
    BOOST_TEST(tried(zookeeper_errc::no_node) ==
               "note 'chroot /here does not exist on a', given up: " +
                   error_code{errc::no_chroot}.message());
    BOOST_TEST(tried(zookeeper_errc::no_auth) == "writable, stop deadline, connected, answer: ok");
    BOOST_TEST(tried(zookeeper_errc::auth_failed) == ""); // the connection breaks
}

BOOST_AUTO_TEST_CASE(refused_credentials_end_the_session_and_the_attempts)
{
    play p{with_chroot()};
    p.come_online().options_tried();
    BOOST_TEST(p.broken(loss::credentials_refused) ==
               "drop, stop timer, note 'server a refuses the credentials', error 'server a refuses "
               "the credentials', expired, given up: " +
                   error_code{zookeeper_errc::auth_failed}.message());
    BOOST_TEST((*p).is_idle());
    p.connect(); // whether they are accepted by now, the servers have to say
    p.resolved();
    p.timer();
    BOOST_TEST(p.established(second_session) == "new session at b, stop timer, try options");
}

// Each further connection would be answered alike.
BOOST_AUTO_TEST_CASE(a_server_that_demands_an_identity_ends_the_session_and_the_attempts)
{
    play p;
    p.come_online();
    const auto said = p.broken(loss::identity_demanded);
    const std::string words =
        "'server a serves only clients with an identity, and takes none that this client has'";
    BOOST_TEST(said == "drop, stop timer, note " + words + ", error " + words +
                           ", expired, given up: " +
                           error_code{zookeeper_errc::session_closed_require_sasl_auth}.message());
    BOOST_TEST((*p).is_idle());
}

// ---- closing

BOOST_AUTO_TEST_CASE(the_end_of_a_session_is_sent_when_nothing_is_outstanding)
{
    play p;
    p.come_online();
    BOOST_TEST(p.quiet() == "");
    BOOST_TEST(p.close() ==
               "closing: " + error_code{errc::client_closed}.message() + ", deadline 5000 ms");
    BOOST_TEST(p.close() == "");
    BOOST_TEST(p.connect() == "answer: " + error_code{errc::client_closed}.message());
    BOOST_TEST(p.quiet() == "end session");
    BOOST_TEST(p.quiet() == "");
    BOOST_TEST(p.ended(true) == "closed: ok");
    BOOST_TEST(p.ended(true) == "");
    BOOST_TEST(p.close() == "");
    BOOST_TEST(p.connect() == "answer: " + error_code{errc::client_closed}.message());
}

BOOST_AUTO_TEST_CASE(an_end_that_is_not_confirmed_leaves_the_session_to_its_time_out)
{
    const auto lost = "closed: " + error_code{errc::disconnected}.message();
    const auto closing = [](auto then) {
        play p;
        p.come_online();
        p.close();
        return then(p);
    };
    BOOST_TEST(closing([](auto& p) { return p.quiet(), p.ended(false); }) == lost);
    BOOST_TEST(closing([](auto& p) { return p.broken(); }) == "drop, " + lost);
    BOOST_TEST(closing([](auto& p) { return p.broken(loss::expired); }) == "drop, closed: ok");
    BOOST_TEST(closing([](auto& p) { return p.abandon_close(); }) == "take leave, " + lost);
    BOOST_TEST(closing([](auto& p) { return p.deadline(); }) ==
               "note 'the server did not confirm the end of the session in time', take leave, " +
                   lost);
}

BOOST_AUTO_TEST_CASE(a_client_without_a_connection_is_closed_at_once)
{
    const auto closing = "closing: " + error_code{errc::client_closed}.message() + ", take leave, ";
    play idle;
    BOOST_TEST(idle.close() == closing + "closed: ok");
    play connecting;
    connecting.connect();
    BOOST_TEST(connecting.close() == closing + "closed: ok");
    BOOST_TEST(connecting.resolved() == "");
    BOOST_TEST(connecting.deadline() == "");
    BOOST_TEST(connecting.abandon_close() == "");
    play suspended;
    suspended.come_online().broken();
    BOOST_TEST(suspended.close() ==
               closing + "closed: " + error_code{errc::disconnected}.message());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::reconnect_play
