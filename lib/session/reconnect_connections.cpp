// The connections of a session: which one is tried, and what becomes of one that is lost.
#include "session/reconnect.hpp"

#include <algorithm>
#include <utility>

namespace colock::protocol::session {

namespace {

using kind = command::kind;
using std::chrono::milliseconds;
using namespace std::chrono_literals;

std::string suffix_of(std::string_view fault)
{
    return fault.empty() ? "" : ": " + std::string{fault};
}

} // namespace

// ---- a pass over the addresses

void reconnect::begin_pass(bool paused, commands& out)
{
    stage_ = looking_up{paused};
    out.push_back({kind::look_up});
}

void reconnect::resolved(const std::vector<address>& all, bool more, std::string_view last_failure,
                         instant now, commands& out)
{
    if (compares_hosts()) {
        compare_hosts(all, more, last_failure, out);
    }
    const auto* at = std::get_if<looking_up>(&stage_);
    if (!at) {
        return;
    }
    if (all.empty()) {
        if (!more) {
            attempt_failed({}, {errc::unknown_host, std::string{last_failure}}, now, out);
        }
        return;
    }
    if (place_ == place::unknown) {
        place_ = place::awaited;
    }
    auto next = session_ != 0 ? old_.resume(all, timeout_, now) : old_.begin(all);
    if (next.untried.empty()) {
        backoff_.next_pass();
        pause(std::move(next), now, out);
    } else if (at && at->paused) {
        attempt(std::move(next), now, out);
    } else {
        pause(std::move(next), now, out);
    }
}

// Requests that were sent are answered before the client leaves, so that none is lost; but not by a server that stalls.
void reconnect::compare_hosts(const std::vector<address>& all, bool more,
                              std::string_view last_failure, commands& out)
{
    auto& at = std::get<online>(stage_);
    if (std::ranges::find(all, at.where, &address::text) != all.end()) {
        place_ = place::listed;
        out.push_back({.type = kind::hosts_in_use});
    } else if (more) {
        return; // it may be one of those that are still to come
    } else if (all.empty()) {
        place_ = place::listed; // none is better known
        out.push_back({.type = kind::note, .text = std::string{last_failure}});
        out.push_back({.type = kind::hosts_in_use, .error = errc::unknown_host});
    } else {
        at.leaving = true;
        out.push_back({.type = kind::log_info,
                       .text = "leaving " + at.where + ", which is not among the hosts any more"});
        out.push_back({.type = kind::start_timer, .time = patience(1)});
        out.push_back({kind::hold});
    }
}

void reconnect::pause(pass rest, instant now, commands& out)
{
    out.push_back({.type = kind::start_timer, .time = backoff_.delay(now.awake, rest.size)});
    stage_ = pausing{std::move(rest)};
}

void reconnect::attempt(pass rest, instant now, commands& out)
{
    auto where = std::move(rest.untried.back());
    rest.untried.pop_back();
    backoff_.attempt(now.awake);
    out.push_back({.type = kind::open, .text = where, .time = wanted_timeout()});
    out.push_back({.type = kind::start_timer, .time = patience(rest.size)});
    stage_ = attempting{std::move(where), std::move(rest)};
}

milliseconds reconnect::wanted_timeout() const noexcept
{
    return session_ != 0 ? timeout_ : settings_.session_timeout;
}

// A server that does not even answer must not use up the session's time alone. At first it gets a second only: one that
// is just starting forgets the clients that come too early (3.8.0 fails to close their connections), and answers the
// next attempt at once. But a server that is there, and only slow, works in vain for each attempt that is given up: it makes
// a session, or lets the old one live on. So the share doubles each time that slow servers have had as much as a session has.
milliseconds reconnect::patience(std::size_t addresses) const
{
    const auto time = std::max(1000ms, wanted_timeout());
    const auto least = std::max(1000ms, time / static_cast<milliseconds::rep>(2 * addresses));
    const auto share = least * (1 << std::min<milliseconds::rep>(timed_out_.slow / time, 10));
    return std::min({time, share, 1000ms * (1 << std::min(timed_out_.attempts, 10U))});
}

void reconnect::attempt_failed(pass rest, failure f, instant now, commands& out)
{
    if (auto line = failure_lines_.line(f.detail, now.awake); !line.empty()) {
        out.push_back({.type = f.error == errc::tls_failed ? kind::log_warning : kind::log_info,
                       .text = std::move(line)});
    }
    out.push_back({.type = kind::note, .text = f.detail});
    last_failure_ = std::move(f);
    if (rest.untried.empty()) {
        backoff_.next_pass();
    }
    pause(std::move(rest), now, out);
}

void reconnect::timer_due(instant now, commands& out)
{
    if (auto* at = std::get_if<pausing>(&stage_)) {
        auto rest = std::move(at->rest);
        rest.untried.empty() ? begin_pass(true, out) : attempt(std::move(rest), now, out);
    } else if (auto* late = std::get_if<attempting>(&stage_)) {
        auto from = std::move(*late);
        const bool was_there = from.reached != attempting::progress::begun;
        if (was_there || settings_.sasl) {
            timed_out_.slow += patience(from.rest.size);
        }
        ++timed_out_.attempts;
        out.push_back({kind::drop});
        if (from.reached == attempting::progress::offered) {
            old_.attempted(from.where, now);
        }
        const char* const what = from.reached == attempting::progress::securing
                                     ? " did not finish the TLS handshake in time"
                                 : settings_.sasl && !was_there
                                     ? " did not answer in time, or SASL has not spoken"
                                     : " did not answer in time";
        attempt_failed(std::move(from.rest), {errc::connect_timeout, "server " + from.where + what},
                       now, out);
    } else if (is_leaving()) {
        out.push_back({kind::break_off});
    }
}

void reconnect::not_opened(instant now, commands& out)
{
    if (auto* at = std::get_if<attempting>(&stage_)) {
        auto from = std::move(*at);
        attempt_failed(
            std::move(from.rest),
            {errc::no_server, "server " + from.where + ": the C client refuses the address"}, now,
            out);
    }
}

void reconnect::securing() noexcept
{
    if (auto* at = std::get_if<attempting>(&stage_)) {
        at->reached = attempting::progress::securing;
    }
}

void reconnect::offered() noexcept
{
    if (auto* at = std::get_if<attempting>(&stage_)) {
        at->reached = attempting::progress::offered;
    }
}

// ---- a connection with a session

void reconnect::established(std::int64_t session, milliseconds timeout, commands& out)
{
    auto* at = std::get_if<attempting>(&stage_);
    if (!at) {
        return;
    }
    auto from = std::move(*at);
    const bool resumed = session_ != 0 && session == session_;
    timeout_ = resumed ? std::min(timeout_, timeout) : timeout;
    session_ = session;
    out.push_back(
        {.type = resumed ? kind::session_resumed : kind::session_begun, .text = from.where});
    out.push_back({kind::stop_timer});
    if (settings_.tries_options && !accepted_) {
        out.push_back({kind::try_options});
        stage_ = trying_options{std::move(from.where), std::move(from.rest), resumed};
        return;
    }
    if (!resumed) {
        backoff_.reset();
    }
    become_connected(std::move(from.where), resumed, out);
}

void reconnect::options_tried(const error_code& ec, commands& out)
{
    auto* at = std::get_if<trying_options>(&stage_);
    if (!at) {
        return;
    }
    // The refusal proves that the server has taken the credentials, and that the chroot exists.
    if (!ec || ec == zookeeper_errc::no_auth) {
        accepted_ = true;
        backoff_.reset();
        become_connected(std::string{at->where}, at->resumed, out);
    } else if (ec == zookeeper_errc::no_node) {
        out.push_back({.type = kind::note,
                       .text = "chroot " + settings_.chroot + " does not exist on " + at->where});
        give_up(errc::no_chroot, out);
    } else if (ec != zookeeper_errc::auth_failed) { // else broken() follows
        give_up(ec, out);
    }
}

// A follower takes the leader's answer for that to its latest question about the session. It may be the answer to the
// question of an attempt that was given up. Then the question of this connection is still on its way, and this server
// becomes the session's owner when the question arrives: perhaps when the client has gone on elsewhere, with all writes
// after it. The answer to the barrier shows that the question has arrived. So no write is sent before.
void reconnect::become_connected(std::string where, bool resumed, commands& out)
{
    failure_lines_.connected();
    last_failure_ = {};
    stage_ = online{std::move(where), !resumed};
    out.push_back({resumed ? kind::send_barrier : kind::writable});
    timed_out_ = {};
    was_connected_ = true;
    if (wanted_) {
        out.push_back({kind::stop_deadline});
    }
    out.push_back({kind::connected});
    if (std::exchange(wanted_, false)) {
        out.push_back({.type = kind::answer});
    }
    if (place_ == place::awaited) {
        place_ = place::listed;
        out.push_back({.type = kind::hosts_in_use});
    } else if (place_ == place::unknown) {
        out.push_back({kind::look_up});
    }
}

// The barrier is a quorum write: what is read after it on this connection is no older than anything that was seen on the
// previous one. A transaction that fails takes its place in ZooKeeper's order, as one that succeeds does. A create whose
// answer was lost is visible after it, or will never be carried out: the leader refuses what the previous server
// forwards later, since this one owns the session now, and `old_connections` keeps the previous one from becoming its
// owner again.
void reconnect::barrier_answered(const error_code& ec, commands& out)
{
    auto* at = std::get_if<online>(&stage_);
    if (auto* end = std::get_if<ending>(&stage_)) {
        at = &end->from;
    }
    if (!at) {
        return;
    }
    if (!ec || ec == zookeeper_errc::no_node || ec == zookeeper_errc::no_auth) {
        backoff_.reset();
        if (!std::exchange(at->writable, true) && holds<online>()) {
            out.push_back({kind::writable});
        }
        return;
    }
    // A server that throttles did not carry it out. What it answers to the requests after it may be older than what was
    // seen before.
    at->distrusted = true;
    out.push_back(
        {.type = kind::log_warning,
         .text = "server " + at->where +
                 " does not carry out the first request on the connection: " + ec.message()});
    out.push_back({kind::break_off});
}

// What has become of the attempt. `fault`: what the server did wrong, "" if nothing is known.
reconnect::failure reconnect::failure_of(const attempting& at, loss why,
                                         std::string_view fault) const
{
    const auto server = "server " + at.where;
    if (why == loss::tls_failed) {
        return {errc::tls_failed, server + ": " + std::string{fault}};
    }
    if (why == loss::expired) {
        return {errc::no_server, server + " ended the session at once"};
    }
    if (why == loss::no_descriptors) {
        return {errc::no_server,
                server + " was not asked: this process has no file descriptors left"};
    }
    if (!fault.empty()) {
        return {errc::no_server, "the connection to " + server + " failed: " + std::string{fault}};
    }
    if (at.reached != attempting::progress::offered) {
        return {errc::no_server, server + " refuses connections"};
    }
    // Servers say nothing when they close a connection. A client that has had a session without TLS knows the right port.
    const bool may_expect_tls = !settings_.tls && timeout_ == timeout_.zero();
    return {errc::no_server,
            server +
                " closed this connection before it answered: perhaps it has no quorum, is "
                "read-only, or has too many connections (maxClientCnxns, throttling)" +
                (may_expect_tls ? ", or its port is for TLS" : "")};
}

void reconnect::broken(loss why, std::string_view fault, bool write_lost, instant now,
                       commands& out)
{
    if (holds<ending>()) {
        out.push_back({kind::drop});
        const bool is_over = why == loss::expired;
        finish(is_over ? error_code{} : errc::disconnected, out);
        return;
    }
    pass rest;
    std::string where;
    const bool was_online = holds<online>();
    const bool leaves = is_leaving();
    failure what;
    const bool refused_barrier = is_distrusted();
    if (auto* attempted = std::get_if<attempting>(&stage_)) {
        what = failure_of(*attempted, why, fault);
        where = std::move(attempted->where);
        rest = std::move(attempted->rest);
        if (attempted->reached == attempting::progress::offered) {
            old_.attempted(where, now);
        }
    } else if (auto* tried = std::get_if<trying_options>(&stage_)) {
        where = std::move(tried->where);
        rest = std::move(tried->rest);
        what = {errc::no_server, "server " + where + " broke this connection" + suffix_of(fault)};
        old_.lost(where, write_lost, now);
    } else if (auto* connected = std::get_if<online>(&stage_)) {
        where = std::move(connected->where);
        if (connected->writable) {
            old_.lost(where, write_lost, now);
        } else {
            old_.lost_unused(where, now);
        }
    } else {
        return;
    }
    out.push_back({kind::drop});
    out.push_back({kind::stop_timer});
    const bool demanded = why == loss::identity_demanded;
    if (demanded || why == loss::credentials_refused) {
        const auto detail = "server " + where +
                            (demanded ? " serves only clients with an identity, and takes none "
                                        "that this client has"
                                      : " refuses the credentials" + suffix_of(fault));
        out.push_back({.type = kind::note, .text = detail});
        out.push_back({.type = kind::log_error, .text = detail});
        accepted_ = demanded && accepted_; // whoever connects again hears whether they are taken
        expire(out);
        give_up(demanded ? zookeeper_errc::session_closed_require_sasl_auth
                         : zookeeper_errc::auth_failed,
                out);
        return;
    }
    if (was_online) {
        out.push_back(
            {.type = leaves ? kind::log_info : kind::log_warning,
             .text = "connection to " + where + (leaves ? " left" : " lost") + suffix_of(fault)});
        out.push_back({kind::suspended});
    }
    // Not a new one, nor one in which nothing could be done: servers may end them again and again.
    const bool has_ended = why == loss::expired && session_ != 0;
    const bool was_of_use = has_ended && (accepted_ || !settings_.tries_options);
    if (has_ended) {
        out.push_back({.type = kind::log_warning, .text = "the session has expired"});
        expire(out);
    }
    if (was_online || was_of_use) {
        // The server is there, or was until now: all of them are tried at once. But one that refuses the barrier may do so
        // again and again.
        if (refused_barrier) {
            backoff_.next_pass();
        } else if (was_of_use) {
            backoff_.reset();
        }
        begin_pass(false, out);
    } else {
        attempt_failed(std::move(rest), std::move(what), now, out);
    }
}

} // namespace colock::protocol::session
