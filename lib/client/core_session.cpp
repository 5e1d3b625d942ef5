// The session: carries out what protocol::session::reconnect decides, and reports to it.
#include "core.hpp"
#include "protocol/names/path.hpp"

#include <algorithm>
#include <utility>

namespace colock::detail {

namespace session = protocol::session;
using std::chrono::milliseconds;

namespace {

session::instant now()
{
    return {std::chrono::steady_clock::now().time_since_epoch(), boot_clock::now()};
}

void answer(std::list<operation_ptr<error_code>> all, const error_code& ec, const std::string& why)
{
    for (auto& op : all) {
        op->explain(ec, why);
        op.complete(ec);
    }
}

} // namespace

error_code client_core::check_options()
{
    const auto fail = [this](errc e, std::string detail) -> error_code {
        note_error(std::move(detail));
        return e;
    };
    auto parsed = zk::parse_hosts(options_.hosts);
    if (parsed.error) {
        note_error(parsed.detail);
        return parsed.error;
    }
    if (!options_.chroot.empty()) {
        if (auto what = protocol::path_fault(options_.chroot); !what.empty()) {
            return fail(errc::invalid_path, "chroot \"" + options_.chroot + "\" " + what);
        }
    }
    const bool endless = options_.connect_timeout == milliseconds::max();
    const std::pair<const char*, milliseconds> times[] = {
        {"session_timeout", options_.session_timeout},
        {"connect_timeout", endless ? longest_time : options_.connect_timeout},
        {"close_timeout", options_.close_timeout},
        {"backoff_min", options_.backoff_min},
        {"backoff_max", options_.backoff_max},
        {"tick", options_.tick}};
    for (const auto& [name, value] : times) {
        if (value <= milliseconds{0} || value > longest_time) {
            return fail(errc::invalid_option, std::string{name} + " is " +
                                                  std::to_string(value.count()) +
                                                  " ms; it must be positive and below 25 days");
        }
    }
    // The protocol counts bytes in 32 bits.
    constexpr std::size_t largest_request = 0x7fffffff;
    if (options_.max_request_size > largest_request) {
        return fail(errc::invalid_option,
                    "max_request_size is " + std::to_string(options_.max_request_size) +
                        " bytes; it must be at most " + std::to_string(largest_request));
    }
    if (options_.tls && !zk::speaks_tls()) {
        return fail(errc::invalid_option,
                    "tls is set, and this library was built without TLS (COLOCK_TLS)");
    }
    if (!options_.tls &&
        (!options_.tls_server_name.empty() || options_.tls_verify != tls_verification::full)) {
        return fail(
            errc::invalid_option,
            "tls_server_name or tls_verify is set, and tls is not: the client would speak plain "
            "TCP");
    }
    if (!options_.tls_server_name.empty() && !zk::is_host(options_.tls_server_name)) {
        return fail(errc::invalid_option, "tls_server_name \"" + options_.tls_server_name +
                                              "\" is neither a host name nor an address");
    }
    for (const auto& c : options_.credentials) {
        if (auto f = fault_of(c, options_.max_request_size); f.error) {
            note_error(std::move(f.detail));
            return f.error;
        }
    }
    addresses_->assign(std::move(parsed.hosts));
    return {};
}

// ---- inputs, and what is decided

// What comes while commands are carried out, of them or of a listener that is told, is decided at once. Its commands are
// carried out behind those at hand.
template <class Input>
void client_core::decide(Input&& input)
{
    input(reconnect_, decided_);
    if (std::exchange(carrying_out_, true)) {
        return;
    }
    const auto self = shared_from_this();
    for (std::size_t i = 0; i != decided_.size(); ++i) {
        const auto next = std::move(decided_[i]);
        carry_out(next);
    }
    decided_.clear();
    carrying_out_ = false;
}

void client_core::carry_out(const session::command& c)
{
    using kind = session::command::kind;
    switch (c.type) {
    case kind::look_up: look_up(); break;
    case kind::open: open(c.text, c.time); break;
    case kind::try_options: send(trial_of_options()); break;
    case kind::send_barrier: send(barrier()); break;
    case kind::break_off: break_later(); break;
    case kind::drop: drop_connection(); break;
    case kind::take_leave: drop_connection(true); break;
    case kind::end_session: end_session(); break;
    case kind::start_timer:
        start(*attempt_timer_, attempt_timer_use_, c.time,
              [](auto& r, auto now, auto& out) { r.timer_due(now, out); });
        break;
    case kind::stop_timer: stop(*attempt_timer_, attempt_timer_use_); break;
    case kind::start_deadline:
        start(*deadline_timer_, deadline_timer_use_, c.time,
              [](auto& r, auto, auto& out) { r.deadline_due(out); });
        break;
    case kind::stop_deadline: stop(*deadline_timer_, deadline_timer_use_); break;
    case kind::session_begun: take_session(c.text, false); break;
    case kind::session_resumed: take_session(c.text, true); break;
    case kind::connecting: set_state(connection_state::connecting); break;
    case kind::connected: become_connected(); break;
    case kind::writable: begin_to_write(); break;
    case kind::suspended: become_suspended(); break;
    case kind::expired: expire_session(); break;
    case kind::given_up: give_up(c.error); break;
    case kind::closing: take_leave_of_users(c.error); break;
    case kind::closed: closed(c.error); break;
    case kind::answer: answer_callers(c.error); break;
    case kind::note: note_error(c.text); break;
    case kind::log_info: log(log_level::info, c.text); break;
    case kind::log_warning: log(log_level::warning, c.text); break;
    case kind::log_error: log(log_level::error, c.text); break;
    }
}

template <class Input>
void client_core::start(zk::timer& timer, std::size_t& use, std::chrono::nanoseconds time,
                        Input due)
{
    timer.expires_after(time);
    timer.async_wait([self = shared_from_this(), &use, mine = ++use, due](const error_code& ec) {
        if (!ec && mine == use) {
            self->decide([due](auto& r, auto& out) { due(r, now(), out); });
        }
    });
}

void client_core::stop(zk::timer& timer, std::size_t& use)
{
    timer.cancel();
    ++use;
}

void client_core::cancel_timers()
{
    beat_timer_->cancel();
    beat_at_ = std::chrono::nanoseconds::max();
    stop(*attempt_timer_, attempt_timer_use_);
    stop(*deadline_timer_, deadline_timer_use_);
}

// ---- connecting

void client_core::connect(operation_ptr<error_code> op)
{
    if (reconnect_.is_idle()) {
        if (const auto ec = check_options(); ec) {
            op->explain(ec, last_error_detail());
            op.complete(ec);
            return;
        }
    }
    const auto at = connecting_.insert(connecting_.end(), std::move(op));
    if (const auto& link = at->cancellation()) {
        link->bind([this, at](asio::cancellation_type) {
            auto cancelled = std::move(*at);
            connecting_.erase(at);
            cancelled.complete(asio::error::operation_aborted);
            if (connecting_.empty()) {
                decide([](auto& r, auto& out) { r.nobody_waits(out); });
            }
        });
    }
    if (!connecting_.empty()) { // else it was cancelled before it could begin
        decide([](auto& r, auto& out) { r.connect(out); });
    }
}

void client_core::answer_callers(const error_code& ec)
{
    answer(std::exchange(connecting_, {}), ec,
           ec == errc::client_closed ? ec.message() : last_error_detail());
}

void client_core::look_up()
{
    addresses_->refresh([weak = weak_from_this()] {
        if (const auto self = weak.lock()) {
            self->report_addresses();
        }
    });
    report_addresses();
}

void client_core::report_addresses()
{
    if (!reconnect_.is_looking_up()) {
        return;
    }
    std::vector<session::address> all;
    for (auto& each : addresses_->addresses()) {
        const bool unread = old_sockets_.is_open(each);
        all.push_back({std::move(each), unread});
    }
    decide([&](auto& r, auto& out) {
        r.resolved(all, addresses_->pending(), addresses_->last_failure(), now(), out);
    });
}

zk::server client_core::server_at(const std::string& address) const
{
    zk::server to{.address = address};
    if (tls_) {
        to.tls = {.context = tls_,
                  .names = options_.tls_server_name.empty()
                               ? addresses_->names_of(address)
                               : std::vector<std::string>{options_.tls_server_name},
                  .checks_certificate = options_.tls_verify != tls_verification::off,
                  .checks_name = options_.tls_verify == tls_verification::full};
    }
    return to;
}

void client_core::open(const std::string& address, std::chrono::nanoseconds timeout)
{
    attempt_began_ = boot_clock::now();
    count.connect_attempts.fetch_add(1, std::memory_order_relaxed);
    log(log_level::debug, "connecting to " + address);
    connection_ = zk::make_connection(*strand_, shared_from_this(), *this, count.wakeups);
    credentials_.open();
    if (!connection_->open(server_at(address), options_.chroot,
                           std::chrono::duration_cast<milliseconds>(timeout), session_,
                           credentials_.all(), *this)) {
        connection_.reset();
        decide([](auto& r, auto& out) { r.not_opened(now(), out); });
    }
}

void client_core::established()
{
    // One look at the socket, at the end: it may show that the connection is gone again.
    const batch together{*this};
    lost_write_ = false;
    established_ = true;
    tell_credentials(); // before any request
    decide([this](auto& r, auto& out) {
        r.established(connection_->session().id, connection_->session_timeout(), out);
    });
}

void client_core::take_session(const std::string& address, bool resumed)
{
    session_ = connection_->session();
    publish_session();
    count.connections.fetch_add(1, std::memory_order_relaxed);
    if (!resumed) {
        count.sessions.fetch_add(1, std::memory_order_relaxed);
    }
    log(log_level::info,
        (resumed ? "connected again to " : "connected with a new session to ") + address);
}

// The credentials are sent before this, and answered before it.
request_ptr client_core::trial_of_options()
{
    return make_request({.op = zk::opcode::exists, .path = "/"}, on_loss::fail,
                        [this](zk::reply&& r) {
                            if (r.error == zookeeper_errc::throttled_op) {
                                repeat(trial_of_options());
                            } else if (!is_loss(r.error)) {
                                decide([&](auto& m, auto& out) { m.options_tried(r.error, out); });
                            } // else broken() comes
                        });
}

request_ptr client_core::barrier()
{
    return make_request(
        {.op = zk::opcode::multi, .ops = {check_op("/")}}, on_loss::fail, [this](zk::reply&& r) {
            if (!is_loss(r.error)) {
                decide([&](auto& m, auto& out) { m.barrier_answered(r.error, out); });
            } // else broken() comes
        });
}

// From where the C client is on the stack, which has more answers to deliver.
void client_core::break_later()
{
    asio::post(*strand_, [self = shared_from_this(), id = connection_id_] {
        if (self->connection_id_ == id) {
            self->broken(zk::handle::status::broken);
        }
    });
}

void client_core::become_connected()
{
    connection_id_ = ++connections_made_;
    public_connection_id_ = connection_id_;
    heartbeat_.connected(attempt_began_, reconnect_.session_timeout());
    publish_bound(); // earlier than before when the time-out has shrunk
    set_state(connection_state::connected);
    const batch together{*this};
    notify([this](session_listener& l) { l.connected(session_.id); });
    flush_waiting();
    wait_to_beat();
}

// ---- losing the connection, or the session

void client_core::broken(zk::handle::status why)
{
    const auto self = shared_from_this();
    using status = zk::handle::status;
    bool refused = why == status::auth_failed;
    if (refused && credentials_.has_on_trial()) {
        refuse_credentials(); // the others were accepted before
        refused = false;
    }
    const auto fault = connection_ ? connection_->fault() : zk::connection::fault_report{};
    const auto how = why == status::expired ? session::loss::expired
                     : refused              ? session::loss::credentials_refused
                     : fault.of_tls         ? session::loss::tls_failed
                                            : session::loss::broken;
    const bool write_lost = lost_write_ || std::ranges::any_of(sent_, [](const request& r) {
                                return r.call.is_write();
                            });
    if (why == status::expired && !is_closing()) {
        count.expirations.fetch_add(1, std::memory_order_relaxed);
    }
    decide([&](auto& r, auto& out) { r.broken(how, fault.text, write_lost, now(), out); });
}

void client_core::drop_connection(bool last_words)
{
    if (connection_id_ != 0) {
        connection_id_ = 0;
        public_connection_id_ = 0;
        watches_.clear();
        heartbeat_.disconnected();
    }
    established_ = false;
    if (const auto connection = std::exchange(connection_, nullptr)) {
        connection->close(last_words);
    }
    end_turns();
    end_rest();
}

void client_core::left_behind(const std::string& address,
                              std::shared_ptr<zk::old_socket> socket) noexcept
{
    if (!context_gone_ && !is_closing()) {
        old_sockets_.add(address, std::move(socket));
    }
}

void client_core::become_suspended()
{
    set_state(connection_state::suspended);
    notify([](session_listener& l) { l.suspended(); });
}

void client_core::forget_session()
{
    session_ = {};
    old_sockets_.clear(); // what is carried out now is refused
    publish_session();
}

void client_core::expire_session()
{
    forget_session();
    directories_.clear(); // the servers may be others, that count from the beginning
    notify([](session_listener& l) { l.expired(); });
    heartbeat_.ended(); // after the contenders that rely on it, which have to know first
    publish_bound();
}

// The callers of now are answered, and none that a listener adds.
void client_core::give_up(const error_code& ec)
{
    auto callers = std::exchange(connecting_, {});
    const auto why = last_error_detail(); // of the attempt: a listener may note another failure
    drop_connection(true);
    forget_session();
    cancel_timers();
    addresses_->cancel();
    set_state(connection_state::idle);
    fail_waiting(ec);
    notify([&ec](session_listener& l) { l.given_up(ec); });
    end_reminders();
    answer(std::move(callers), ec, why);
}

// ---- closing

void client_core::close(operation_ptr<error_code> op)
{
    if (state_ == connection_state::closed) {
        op.complete({});
        return;
    }
    const auto at = closing_ops_.insert(closing_ops_.end(), std::move(op));
    if (!is_closing()) {
        begin_close(errc::client_closed);
    }
    if (state_ == connection_state::closed) {
        return;
    }
    if (const auto& link = at->cancellation()) {
        link->bind([this, at](asio::cancellation_type) {
            auto cancelled = std::move(*at);
            closing_ops_.erase(at);
            cancelled.complete(asio::error::operation_aborted);
            decide([](auto& r, auto& out) { r.abandon_close(out); });
        });
    }
}

void client_core::begin_close(const error_code& why)
{
    const auto self = shared_from_this();
    decide([&why](auto& r, auto& out) { r.close(why, out); });
    report_quiet();
}

void client_core::report_quiet()
{
    if (is_closing() && sent_.empty()) {
        decide([](auto& r, auto& out) { r.quiet(out); });
    }
}

void client_core::take_leave_of_users(const error_code& why)
{
    cancel_timers();
    addresses_->cancel();
    answer_callers(why);
    fail_waiting(why);
    // The connection lives on for a while and may bring events, which nobody is to hear any more: the
    // listeners drop their watches without a word.
    watches_.clear();
    notify([&why](session_listener& l) { l.closed(why); });
    for (const auto& each : listeners()) {
        remove(*each);
    }
    end_reminders();
}

// Behind those who fail the waiters.
void client_core::end_reminders()
{
    if (reminders_) {
        reminders_->end();
    }
}

void client_core::end_session()
{
    connection_->end_session([self = shared_from_this()](bool confirmed) {
        self->connection_.reset();
        self->decide([confirmed](auto& r, auto& out) { r.ended(confirmed, out); });
    });
}

void client_core::closed(const error_code& ec)
{
    connection_id_ = 0;
    public_connection_id_ = 0;
    watches_.clear();
    forget_session();
    cancel_timers();
    log(log_level::info, ec ? "closed; the session ends by its time-out" : "closed");
    set_state(connection_state::closed);
    answer(std::exchange(closing_ops_, {}), ec, ec.message());
}

} // namespace colock::detail
