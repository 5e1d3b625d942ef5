// Walks through every order of events in a client's session: what servers, time, look-ups and the user may do.
#include "explore.hpp"
#include "session_events.hpp"

namespace colock::protocol::session {

std::ostream& operator<<(std::ostream& text, const old_connections& c)
{
    for (const auto& each : c.lost_) {
        text << each.where << each.passed_on_until.count() << ' ';
    }
    if (c.may_return_) {
        text << c.may_return_->where << c.may_return_->passed_on_until.count() << ' ';
    }
    return text << c.latest_ << c.latest_at_.count();
}

std::ostream& operator<<(std::ostream& text, const reconnect& r)
{
    const auto print = [&](const pass& p) {
        text << p.size;
        for (const auto& each : p.untried) {
            text << each << ',';
        }
    };
    text << r.stage_.index() << ' ';
    if (const auto* at = std::get_if<reconnect::looking_up>(&r.stage_)) {
        text << at->paused;
    } else if (const auto* pausing_at = std::get_if<reconnect::pausing>(&r.stage_)) {
        print(pausing_at->rest);
    } else if (const auto* attempt = std::get_if<reconnect::attempting>(&r.stage_)) {
        print(attempt->rest);
        text << attempt->where;
    } else if (const auto* trial = std::get_if<reconnect::trying_options>(&r.stage_)) {
        print(trial->rest);
        text << trial->where << trial->resumed;
    } else if (const auto* connected = std::get_if<reconnect::online>(&r.stage_)) {
        text << connected->where << connected->writable << connected->distrusted
             << connected->leaving;
    } else if (const auto* end = std::get_if<reconnect::ending>(&r.stage_)) {
        text << end->from.where << end->from.writable << end->from.distrusted << end->sent;
    }
    return text << ' ' << r.session_ << ' ' << r.timeout_.count() << r.was_connected_ << r.wanted_
                << r.accepted_ << static_cast<int>(r.place_) << ' ' << r.timed_out_.attempts
                << r.last_failure_.error << ' ' << r.old_;
}

} // namespace colock::protocol::session

namespace colock::model::session {

void world::write(std::string& to) const
{
    std::ostringstream text;
    text << machine_ << '|' << int(told_) << timer_ << deadline_ << looking_up_ << resolved_
         << closing_ << session_ << ',' << callers_ << int(reaction_) << int(link_) << where_
         << at_server_ << ',' << trial_ << barrier_ << barrier_sent_ << breaks_off_ << held_
         << changing_ << resumed_ << answered_ << writable_ << outstanding_ << refused_ << accepted_
         << next_session_ << ',' << used_ << ',' << proven_ << ',' << now_.count() << ','
         << lost_at_.count() << latest_ << ',' << smallest_.count() << ',' << eager_;
    for (const auto each : alive_) {
        text << 's' << each;
    }
    for (const auto& each : names_) {
        text << 'n' << each;
    }
    for (const auto& each : unread_) {
        text << 'u' << each;
    }
    for (const auto& each : unsafe_) {
        text << 'x' << each;
    }
    for (const auto& each : may_return_) {
        text << 'r' << each;
    }
    for (const auto& [where, until] : passed_on_until_) {
        text << 'w' << where << until.count();
    }
    for (const int each : {left_.connects,
                           left_.cancels,
                           left_.closes,
                           left_.refusals,
                           left_.silences,
                           left_.breaks,
                           left_.expiries,
                           left_.refused_barriers,
                           left_.refused_options,
                           left_.refused_credentials,
                           left_.failed_look_ups,
                           left_.deadlines,
                           left_.unread,
                           left_.lost_writes,
                           left_.some_times,
                           left_.moves,
                           left_.long_times,
                           left_.reactions,
                           left_.smaller,
                           left_.requests,
                           left_.lists}) {
        text << ' ' << each;
    }
    to += text.view();
}

} // namespace colock::model::session

namespace {

using namespace colock::model::session;

void explore(const scenario& s, std::size_t floor)
{
    using walk = colock::model::depth_first_walk<world, laboratory>;
    colock::model::explore_by<walk>(s, floor);
}

BOOST_AUTO_TEST_SUITE(session_walk)

BOOST_AUTO_TEST_CASE(servers_refuse_and_are_silent)
{
    explore({.connects = 2, .closes = 1, .refusals = 5, .silences = 3, .breaks = 1, .deadlines = 2},
            8'000);
}

BOOST_AUTO_TEST_CASE(connections_break_and_sessions_expire)
{
    explore({.connects = 2, .refusals = 2, .breaks = 3, .expiries = 2, .smaller = 2}, 12'000);
}

BOOST_AUTO_TEST_CASE(servers_keep_old_connections)
{
    explore(
        {.refusals = 1, .breaks = 3, .expiries = 1, .unread = 3, .lost_writes = 2, .long_times = 1},
        24'000);
}

// A server where a write was lost reads an attempt late, when the write has come no further.
BOOST_AUTO_TEST_CASE(servers_read_an_attempt_late)
{
    explore({.refusals = 1, .silences = 1, .breaks = 1, .lost_writes = 2, .some_times = 2}, 4'000);
}

BOOST_AUTO_TEST_CASE(the_name_service_drops_servers_that_keep_old_connections)
{
    explore({.refusals = 1,
             .silences = 1,
             .breaks = 2,
             .unread = 1,
             .lost_writes = 2,
             .moves = 2,
             .some_times = 2},
            200'000);
}

BOOST_AUTO_TEST_CASE(the_user_gives_other_lists_while_servers_keep_old_connections)
{
    explore({.refusals = 1,
             .silences = 1,
             .breaks = 1,
             .unread = 1,
             .lost_writes = 1,
             .lists = 2,
             .some_times = 1,
             .requests = 1},
            1'000);
}

BOOST_AUTO_TEST_CASE(the_user_gives_other_lists_of_names_and_closes)
{
    explore({.names = true,
             .tries_options = true,
             .connects = 2,
             .cancels = 1,
             .closes = 1,
             .refusals = 1,
             .expiries = 1,
             .failed_look_ups = 1,
             .lists = 2,
             .requests = 1},
            1'000);
}

BOOST_AUTO_TEST_CASE(the_only_server_keeps_old_connections)
{
    explore({.addresses = 1,
             .refusals = 2,
             .breaks = 2,
             .expiries = 1,
             .unread = 2,
             .lost_writes = 2,
             .long_times = 1},
            3'200);
}

BOOST_AUTO_TEST_CASE(servers_refuse_the_barrier)
{
    explore({.connects = 2, .closes = 1, .breaks = 2, .expiries = 1, .refused_barriers = 4}, 2'000);
}

BOOST_AUTO_TEST_CASE(the_only_server_refuses_the_barrier)
{
    explore({.addresses = 1, .connects = 1, .closes = 1, .breaks = 1, .refused_barriers = 4}, 75);
}

BOOST_AUTO_TEST_CASE(chroot_and_credentials_are_tried)
{
    explore({.tries_options = true,
             .connects = 3,
             .cancels = 1,
             .closes = 1,
             .refusals = 1,
             .breaks = 3,
             .expiries = 1,
             .refused_options = 2,
             .refused_credentials = 2},
            74'000);
}

BOOST_AUTO_TEST_CASE(names_are_looked_up)
{
    explore({.names = true,
             .connects = 2,
             .cancels = 1,
             .closes = 1,
             .refusals = 2,
             .breaks = 1,
             .failed_look_ups = 2,
             .deadlines = 1},
            2'300);
}

BOOST_AUTO_TEST_CASE(callers_come_and_go)
{
    explore(
        {.connects = 4, .cancels = 3, .refusals = 2, .breaks = 2, .expiries = 1, .deadlines = 3},
        13'000);
}

BOOST_AUTO_TEST_CASE(callers_wait_without_a_limit)
{
    explore({.endless = true,
             .connects = 3,
             .cancels = 1,
             .closes = 1,
             .refusals = 3,
             .silences = 2,
             .breaks = 2,
             .expiries = 1},
            53'000);
}

BOOST_AUTO_TEST_CASE(the_client_is_closed)
{
    explore({.connects = 3,
             .closes = 2,
             .refusals = 1,
             .breaks = 2,
             .expiries = 1,
             .deadlines = 2,
             .requests = 2},
            13'000);
}

BOOST_AUTO_TEST_CASE(listeners_connect_and_close)
{
    explore({.connects = 2,
             .cancels = 1,
             .closes = 1,
             .refusals = 1,
             .breaks = 2,
             .expiries = 1,
             .refused_credentials = 1,
             .deadlines = 1,
             .reactions = 3},
            128'000);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
