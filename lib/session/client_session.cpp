#include "session/client_session.hpp"

#include "report/boot_clock.hpp"
#include "session/faults.hpp"

#include <utility>

namespace colock::detail {

namespace session = protocol::session;

namespace {

session::reconnect::settings session_settings(const client_options& o)
{
    return {.hosts = o.hosts,
            .chroot = o.chroot,
            .tries_options = !o.chroot.empty() || !o.credentials.empty(),
            .tls = o.tls != nullptr,
            .sasl = !o.sasl.mechanism.empty(),
            .session_timeout = o.session_timeout,
            .connect_timeout = o.connect_timeout,
            .close_timeout = o.close_timeout,
            .backoff_min = o.backoff_min,
            .backoff_max = o.backoff_max,
            .tick = o.tick};
}

constexpr const char* unconfirmed = "no server has confirmed the end of the session";

session::instant now()
{
    return {std::chrono::steady_clock::now().time_since_epoch(), boot_clock::now()};
}

} // namespace

client_session::client_session(client_basics& basics, request_queue& requests, listeners& listening,
                               liveness& alive, zk::watch_registry& watches, delayed_calls& later,
                               reminders& reminding)
    : basics_{basics}, requests_{requests},
      listeners_{listening}, liveness_{alive}, watches_{watches}, delayed_{later},
      reminders_{reminding}, machine_{session_settings(basics.options), zk::random_seed()}
{
}

// ---- inputs, and what is decided

template <class Input>
void client_session::decide(const Input& input)
{
    const auto alive = basics_.strand.client().lock();
    input(machine_, runner_.decided());
    runner_.run([this](const session::command& c) { carry_out(c); });
}

void client_session::carry_out(const session::command& c)
{
    using kind = session::command::kind;
    switch (c.type) {
    case kind::look_up: look_up(); break;
    case kind::open: open(c.text, c.time); break;
    case kind::try_options: requests_.send(trial_of_options()); break;
    case kind::send_barrier: requests_.send(barrier()); break;
    case kind::hold:
        requests_.hold();
        report_quiet();
        break;
    case kind::break_off: break_later(); break;
    case kind::drop: drop_connection(false); break;
    case kind::take_leave: drop_connection(true); break;
    case kind::end_session: end_session(); break;
    case kind::start_timer:
        attempt_timer_.start(
            c.time, [this] { decide([](auto& r, auto& out) { r.timer_due(now(), out); }); });
        break;
    case kind::stop_timer: attempt_timer_.stop(); break;
    case kind::start_deadline:
        deadline_timer_.start(c.time,
                              [this] { decide([](auto& r, auto& out) { r.deadline_due(out); }); });
        break;
    case kind::stop_deadline: deadline_timer_.stop(); break;
    case kind::session_begun: take_session(c.text, false); break;
    case kind::session_resumed: take_session(c.text, true); break;
    case kind::connecting: basics_.session.set(connection_state::connecting); break;
    case kind::connected: become_connected(); break;
    case kind::writable: requests_.begin_to_write(); break;
    case kind::suspended: become_suspended(); break;
    case kind::expired: expire_session(); break;
    case kind::given_up: give_up(c.error); break;
    case kind::closing: take_leave_of_users(c.error); break;
    case kind::closed: closed(c.error); break;
    case kind::answer: answer_callers(c.error); break;
    case kind::hosts_in_use: changing_hosts_.complete_all(c.error, words_for(c.error)); break;
    case kind::note: basics_.log.note_error(c.text); break;
    case kind::log_info: basics_.log.write(log_level::info, c.text); break;
    case kind::log_warning: basics_.log.write(log_level::warning, c.text); break;
    case kind::log_error: basics_.log.write(log_level::error, c.text); break;
    }
}

void client_session::stop_timers()
{
    liveness_.stop();
    attempt_timer_.stop();
    deadline_timer_.stop();
    link_.stop();
}

// ---- connecting

void client_session::connect(operation_ptr<error_code> op)
{
    if (machine_.is_idle()) {
        if (const auto f = fault_of(basics_.options); f.error) {
            basics_.log.note_error(f.detail);
            op->explain(f.error, basics_.log.last_error());
            op.complete(f.error);
            return;
        }
        if (link_.tls()) {
            auto material = guarding::material_for(basics_.options, *link_.tls());
            if (!material.fault.empty()) {
                basics_.log.note_error("session_guard: the TLS context cannot be handed over: " +
                                       material.fault);
                op->explain(errc::invalid_option, basics_.log.last_error());
                op.complete(errc::invalid_option);
                return;
            }
            guard_.use_tls(std::move(material));
        }
        link_.read_hosts();
    }
    connecting_.add(std::move(op), [this] {
        if (connecting_.empty()) {
            decide([](auto& r, auto& out) { r.nobody_waits(out); });
        }
    });
    if (!connecting_.empty()) { // else it was cancelled before it could begin
        decide([](auto& r, auto& out) { r.connect(out); });
    }
}

void client_session::answer_callers(const error_code& ec)
{
    connecting_.complete_all(ec, words_for(ec));
}

std::string client_session::words_for(const error_code& ec) const
{
    return ec == errc::client_closed ? ec.message() : basics_.log.last_error();
}

void client_session::set_hosts(std::string hosts, operation_ptr<error_code> op)
{
    if (const auto parsed = zk::parse_hosts(hosts); parsed.error) {
        basics_.log.note_error(parsed.detail);
        op->explain(parsed.error, parsed.detail);
        op.complete(parsed.error);
        return;
    }
    basics_.log.write(log_level::info, "the hosts are " + hosts + " from now on");
    basics_.options.hosts = hosts;
    link_.read_hosts();
    tell_guard();
    changing_hosts_.add(std::move(op));
    decide([&](auto& r, auto& out) { r.hosts_changed(std::move(hosts), out); });
}

void client_session::look_up()
{
    link_.look_up([client = basics_.strand.client(), this] {
        if (const auto alive = client.lock()) {
            report_addresses();
        }
    });
    report_addresses();
}

void client_session::report_addresses()
{
    if (machine_.is_looking_up()) {
        const auto all = link_.addresses();
        decide([&](auto& r, auto& out) {
            r.resolved(all, link_.looks_up(), link_.last_failure(), now(), out);
        });
    }
}

void client_session::open(const std::string& address, std::chrono::nanoseconds timeout)
{
    if (const auto fault = link_.open(address, timeout, credentials_.open(), *this, *this)) {
        decide([&fault](auto& r, auto& out) {
            fault->lacks_descriptors
                ? r.broken(session::loss::no_descriptors, "", false, now(), out)
                : r.not_opened(now(), out);
        });
    } else {
        requests_.open(link_.connection());
    }
}

void client_session::established()
{
    // One look at the socket, at the end: it may show that the connection is gone again.
    const request_queue::batch together{requests_};
    link_.established();
    tell_credentials(); // before any request
    decide([this](auto& r, auto& out) {
        const auto& c = *link_.connection();
        r.established(c.session().id, c.session_timeout(), out);
    });
}

void client_session::take_session(const std::string& address, bool resumed)
{
    basics_.session.assign(link_.connection()->session(), machine_.session_timeout());
    basics_.count.connections.fetch_add(1, std::memory_order_relaxed);
    if (!resumed) {
        basics_.count.sessions.fetch_add(1, std::memory_order_relaxed);
    }
    basics_.log.write(log_level::info,
                      (resumed ? "connected again to " : "connected with a new session to ") +
                          address);
    tell_guard();
}

void client_session::tell_guard()
{
    if (basics_.session.id() != 0) {
        guard_.session(basics_.session.identity(), machine_.session_timeout(), credentials_.all());
    }
}

void client_session::use_tls(std::shared_ptr<asio::ssl::context> context,
                             guard::tls_material&& for_guard)
{
    guard_.use_tls(std::move(for_guard));
    link_.use_tls(std::move(context));
    tell_guard();
}

// The credentials are sent before this, and answered before it.
request_ptr client_session::trial_of_options()
{
    return make_request({.op = zk::opcode::exists, .path = "/"}, on_loss::fail,
                        [this](zk::reply&& r) {
                            if (r.error == zookeeper_errc::throttled_op) {
                                requests_.repeat(trial_of_options());
                            } else if (!is_loss(r.error)) {
                                decide([&](auto& m, auto& out) { m.options_tried(r.error, out); });
                            } // else broken() comes
                        });
}

request_ptr client_session::barrier()
{
    return make_request(
        {.op = zk::opcode::multi, .ops = {check_op("/")}}, on_loss::fail, [this](zk::reply&& r) {
            if (!is_loss(r.error)) {
                decide([&](auto& m, auto& out) { m.barrier_answered(r.error, out); });
            } // else broken() comes
        });
}

template <class Call>
void client_session::tell(const Call& call)
{
    const request_queue::batch together{requests_};
    listeners_.tell(call);
}

void client_session::become_connected()
{
    basics_.session.connected();
    liveness_.connected(link_.began(), machine_.session_timeout());
    basics_.session.set(connection_state::connected);
    const request_queue::batch together{requests_};
    tell([this](session_listener& l) { l.connected(basics_.session.id()); });
    requests_.connected();
}

void client_session::add_credentials(zk::secret_credential c, operation_ptr<error_code> op)
{
    if (auto trial = credentials_.add(std::move(c), std::move(op))) {
        const request_queue::batch together{requests_};
        tell_credentials();
        requests_.submit(std::move(trial));
    }
    tell_guard();
}

void client_session::tell_credentials()
{
    if (link_.is_established() && !credentials_.tell()) {
        break_later();
    }
}

// ---- what the connection brings

void request::answered(zk::reply&& r) noexcept
{
    session_->answered(*this, std::move(r));
}

void client_session::answered(request& r, zk::reply&& reply) noexcept
{
    auto own = requests_.take(r);
    if (basics_.strand.is_gone()) {
        return;
    }
    if (machine_.is_distrusted()) {
        reply = {.error = zookeeper_errc::connection_loss};
    }
    if (credentials_.are_on() && reply.error == zookeeper_errc::auth_failed) {
        reply.error = zookeeper_errc::connection_loss; // only those are refused: see broken()
    }
    const bool loss = is_loss(reply.error);
    requests_.settle(r, reply);
    if (reply.error) {
        take_note_of_error(r, reply.error, loss);
    }
    if (!loss) {
        basics_.count.replies.fetch_add(1, std::memory_order_relaxed);
        liveness_.answered(r, reply);
    }
    requests_.finish(std::move(own), std::move(reply));
    liveness_.tell_proof();
    report_quiet();
}

void client_session::watch_fired(watch_event&& event) noexcept
{
    if (!basics_.strand.is_gone()) {
        basics_.count.watch_events.fetch_add(1, std::memory_order_relaxed);
        if (event.type == watch_event_type::deleted) {
            requests_.nodes().gone(event.path);
        }
        watches_.fired(event);
    }
}

// ---- losing the connection, or the session

void client_session::take_note_of_error(const request& r, const error_code& ec, bool loss)
{
    if (loss && r.call.is_write()) {
        link_.note_lost_write();
    }
    if (!link_.is_established()) {
        return;
    }
    if (ec == zookeeper_errc::session_expired || ec == zookeeper_errc::session_moved) {
        // A server may say so in answer to one request, and leave the connection as it is. What it says to
        // the next connection counts.
        break_later();
    }
    if (ec == zookeeper_errc::session_closed_require_sasl_auth) {
        // The server closes the connection after this answer. The next one would be answered alike.
        link_.note_demand_for_identity();
        break_later();
    }
}

// From where the C client is on the stack, which has more answers to deliver.
void client_session::break_later()
{
    basics_.strand.post(
        [alive = basics_.strand.client().lock(), this, which = std::weak_ptr{link_.connection()}] {
            if (const auto still = which.lock(); still && still == link_.connection()) {
                broken(zk::handle::status::broken);
            }
        });
}

void client_session::broken(zk::handle::status why)
{
    const auto alive = basics_.strand.client().lock();
    using status = zk::handle::status;
    bool refused = why == status::auth_failed;
    if (refused && credentials_.are_on()) {
        credentials_.refuse(); // the others were accepted before
        tell_guard();
        refused = false;
    }
    const auto how = link_.loss_of(why, refused);
    const auto fault = link_.fault().text;
    const bool write_lost = link_.has_lost_write() || requests_.owes_write();
    if (why == status::expired && !machine_.is_closing()) {
        basics_.count.expirations.fetch_add(1, std::memory_order_relaxed);
    }
    decide([&](auto& r, auto& out) { r.broken(how, fault, write_lost, now(), out); });
}

void client_session::drop_connection(bool last_words)
{
    if (basics_.session.is_connected()) {
        basics_.session.disconnected();
        watches_.clear();
        liveness_.disconnected();
    }
    requests_.detach();
    link_.close(last_words);
    requests_.disconnected();
}

void client_session::left_behind(const std::string& address,
                                 std::shared_ptr<zk::old_socket> socket) noexcept
{
    if (!basics_.strand.is_gone() && !machine_.is_closing()) {
        link_.left_behind(address, std::move(socket));
    }
}

void client_session::become_suspended()
{
    basics_.session.set(connection_state::suspended);
    tell([](session_listener& l) { l.suspended(); });
}

void client_session::forget_session()
{
    requests_.nodes().session_over();
    link_.forget_session();
    basics_.session.assign({}, machine_.session_timeout());
}

void client_session::expire_session()
{
    guard_.session_ended();
    forget_session();
    tell([](session_listener& l) { l.expired(); });
    liveness_.ended(); // after the contenders that rely on it, which have to know first
}

// Answers the present callers, and none that a listener adds.
void client_session::give_up(const error_code& ec)
{
    auto callers = std::exchange(connecting_, {});
    const auto why =
        basics_.log.last_error(); // of the attempt: a listener may note another failure
    drop_connection(true);
    guard_.session_left();
    forget_session();
    stop_timers();
    basics_.session.set(connection_state::idle);
    requests_.fail_waiting(ec);
    changing_hosts_.complete_all(ec, why);
    tell([&ec](session_listener& l) { l.given_up(ec); });
    reminders_.end(); // after those who fail the waiters
    callers.complete_all(ec, why);
}

// ---- closing

void client_session::release()
{
    const auto alive = basics_.strand.client().lock();
    const error_code aborted = asio::error::operation_aborted;
    if (basics_.session.get() == connection_state::closed) {
        return;
    }
    closing_.complete_all(aborted);
    begin_close(aborted);
    // The answers of those that were sent are awaited, so that the session can be ended properly.
    requests_.abandon_sent(aborted);
}

void client_session::close(operation_ptr<error_code> op)
{
    if (basics_.session.get() == connection_state::closed) {
        op->explain(end_, unconfirmed);
        op.complete(end_);
        return;
    }
    closing_.add(std::move(op), [this] {
        begin_close(errc::client_closed); // else it was cancelled before it could begin
        decide([](auto& r, auto& out) { r.abandon_close(out); });
    });
    begin_close(errc::client_closed);
}

void client_session::begin_close(const error_code& why)
{
    if (machine_.is_closing()) {
        return;
    }
    const auto alive = basics_.strand.client().lock();
    requests_.close();
    decide([&why](auto& r, auto& out) { r.close(why, out); });
    report_quiet();
}

void client_session::report_quiet()
{
    if (machine_.awaits_quiet() && !requests_.has_sent()) {
        decide([](auto& r, auto& out) { r.quiet(out); });
    }
}

void client_session::take_leave_of_users(const error_code& why)
{
    stop_timers();
    answer_callers(why);
    changing_hosts_.complete_all(why, why.message());
    requests_.fail_waiting(why);
    // The connection lives on for a while and may bring events, which nobody is to hear any more: the
    // listeners drop their watches without a word.
    watches_.clear();
    tell([&why](session_listener& l) { l.closed(why); });
    delayed_.end();
    listeners_.dismiss([](session_listener&) {});
    reminders_.end(); // after those who fail the waiters
}

void client_session::end_session()
{
    link_.connection()->end_session([alive = basics_.strand.client().lock(), this](bool confirmed) {
        requests_.detach();
        link_.release();
        decide([confirmed](auto& r, auto& out) { r.ended(confirmed, out); });
    });
}

void client_session::closed(const error_code& ec)
{
    end_ = ec;
    basics_.session.disconnected();
    ec ? guard_.session_left() : guard_.session_ended();
    forget_session();
    liveness_.ended(); // those who rely on it have heard closed()
    stop_timers();
    basics_.log.write(log_level::info, ec ? "closed; the session ends by its time-out" : "closed");
    basics_.session.set(connection_state::closed);
    closing_.complete_all(ec, unconfirmed);
}

void client_session::drop() noexcept
{
    const bool last_words = !requests_.has_sent();
    requests_.detach();
    link_.discard(last_words);
}

void client_session::discard() noexcept
{
    guard_.session_left();
    guard_.discard();
    credentials_.discard();
    attempt_timer_.discard();
    deadline_timer_.discard();
    connecting_.discard();
    closing_.discard();
    changing_hosts_.discard();
}

} // namespace colock::detail
