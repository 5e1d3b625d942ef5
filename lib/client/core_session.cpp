// The session: connecting, reconnecting, closing.
#include "core.hpp"
#include "protocol/names/path.hpp"

#include <algorithm>
#include <utility>

namespace colock::detail {

using std::chrono::milliseconds;

// ---- connecting

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
    for (const auto& c : options_.credentials) {
        if (c.scheme.empty()) {
            return fail(errc::invalid_option, "a credential has no scheme; use \"digest\"");
        }
        constexpr std::size_t fixed_fields = 20;
        if (c.scheme.size() + c.secret.size() + fixed_fields > options_.max_request_size) {
            return fail(errc::request_too_large, "a credential is larger than max_request_size");
        }
        if (c.scheme == "digest" && c.secret.find(':') == std::string::npos) {
            return fail(errc::invalid_option,
                        "the secret of a digest credential has no colon; write \"user:password\"");
        }
    }
    addresses_->assign(std::move(parsed.hosts));
    return {};
}

void client_core::connect(operation_ptr<error_code> op)
{
    if (closing_ || state_ == connection_state::closed) {
        op.complete(errc::client_closed);
        return;
    }
    if (state_ == connection_state::connected) {
        op.complete({});
        return;
    }
    const bool idle = state_ == connection_state::idle;
    if (idle) {
        if (const auto ec = check_options(); ec) {
            op.complete(ec);
            return;
        }
    }
    const bool first = connecting_.empty();
    const auto at = connecting_.insert(connecting_.end(), std::move(op));
    if (const auto& link = at->cancellation()) {
        link->bind([this, at](asio::cancellation_type) {
            auto cancelled = std::move(*at);
            connecting_.erase(at);
            cancelled.complete(asio::error::operation_aborted);
            if (connecting_.empty() && state_ == connection_state::connecting) {
                give_up(errc::not_connected);
            }
        });
    }
    if (connecting_.empty()) {
        return; // cancelled before it could begin
    }
    if (first && options_.connect_timeout != milliseconds::max()) {
        deadline_timer_->expires_after(options_.connect_timeout);
        deadline_timer_->async_wait(
            [self = shared_from_this(), use = ++deadline_timer_use_](const error_code& ec) {
                if (!ec && use == self->deadline_timer_use_) {
                    self->connect_deadline_reached();
                }
            });
    }
    if (idle) {
        last_failure_ = errc::connect_timeout;
        last_failure_detail_ = "hosts " + options_.hosts + ": no answer in time";
        set_state(connection_state::connecting);
        backoff_.reset();
        start_pass();
    }
}

void client_core::connect_deadline_reached()
{
    note_error(last_failure_detail_);
    if (state_ == connection_state::connecting) {
        log(log_level::error, "giving up to connect: " + last_failure_detail_);
        give_up(last_failure_);
        return;
    }
    for (auto& op : std::exchange(connecting_, {})) {
        op.complete(last_failure_);
    }
}

// `paused`: the pause before its first attempt is over.
void client_core::start_pass(bool paused)
{
    addresses_->refresh([weak = weak_from_this()] {
        // An answer while nothing is being tried: the pass had no address to begin with.
        if (const auto self = weak.lock(); self && !self->connection_ && self->pass_size_ == 0 &&
                                           !self->closing_ && !self->is_connected() &&
                                           self->state_ != connection_state::idle) {
            self->choose_addresses();
            if (self->pass_size_ != 0) {
                self->next_attempt();
            } else if (!self->addresses_->pending()) {
                self->attempt_failed(errc::unknown_host, self->addresses_->last_failure());
            }
        }
    });
    choose_addresses();
    if (untried_.empty() && pass_size_ != 0) {
        backoff_.next_pass();
        next_attempt();
    } else if (pass_size_ != 0) {
        paused ? attempt() : next_attempt();
    }
}

// The session is not offered where a server may still have requests of an earlier connection to read, or to pass on to
// the leader. An attempt that the client gives up there is read by that server all the same. It makes the server the
// owner of the session again, and the leader then accepts the old requests, behind all that the client has done
// meanwhile at another server.
// There are two exceptions. With one address only, there is no other server. And when the client has been without a
// connection for a whole time-out and a tick, the session has ended, unless the leader was away, too: the leader ends
// sessions at ticks of its own.
void client_core::choose_addresses()
{
    untried_ = addresses_->addresses();
    pass_size_ = untried_.size();
    // The last one is tried first.
    if (const auto at = std::ranges::find(untried_, last_lost_); at != untried_.end()) {
        std::rotate(untried_.begin(), at, at + 1);
    }
    const auto over = lost_at_ + session_timeout_ + options_.tick;
    if (session_.id != 0 && pass_size_ > 1 && boot_clock::now() < over) {
        std::erase_if(untried_, [this](const std::string& address) {
            return old_sockets_.contains(address);
        });
        // A client whose connections all break again and again has to go on somewhere.
        const auto passes_on = [this](const std::string& address) {
            return old_sockets_.may_pass_on(address);
        };
        if (!std::ranges::all_of(untried_, passes_on)) {
            std::erase_if(untried_, passes_on);
        }
    }
}

void client_core::left_behind(const std::string& address,
                              std::shared_ptr<zk::old_socket> socket) noexcept
{
    if (context_gone_ || closing_ || session_.id == 0) {
        return;
    }
    // The leader gives up a follower that it does not hear of, after five ticks unless it is told otherwise (syncLimit).
    constexpr int sync_limit = 10; // ticks: amply
    const bool lost_write = lost_write_ || std::ranges::any_of(sent_, [](const request& r) {
                                return r.call.is_write();
                            });
    last_lost_ = address;
    lost_at_ = boot_clock::now();
    old_sockets_.add(address, std::move(socket),
                     lost_write ? sync_limit * options_.tick : std::chrono::milliseconds{0});
}

void client_core::next_attempt()
{
    const auto delay = backoff_.delay(clock::now().time_since_epoch(), pass_size_);
    attempt_timer_->expires_after(delay);
    attempt_timer_->async_wait(
        [self = shared_from_this(), use = ++attempt_timer_use_](const error_code& ec) {
            if (!ec && use == self->attempt_timer_use_) {
                self->untried_.empty() ? self->start_pass(true) : self->attempt();
            }
        });
}

void client_core::attempt()
{
    attempting_ = std::move(untried_.back());
    untried_.pop_back();
    backoff_.attempt(clock::now().time_since_epoch());
    attempt_began_ = boot_clock::now();
    barrier_refused_ = false; // nothing of the previous connection is answered any more
    count.connect_attempts.fetch_add(1, std::memory_order_relaxed);
    log(log_level::debug, "connecting to " + attempting_);

    connection_ = zk::make_connection(*strand_, shared_from_this(), *this, count.wakeups);
    const auto wanted = session_.id != 0 ? session_timeout_ : options_.session_timeout;
    if (!connection_->open(attempting_, options_.chroot, wanted, session_, options_.credentials,
                           *this)) {
        connection_.reset();
        attempt_failed(errc::no_server,
                       "server " + attempting_ + ": the C client refuses the address");
        return;
    }
    // A server that does not even answer must not use up the session's time alone. At first it gets
    // a second only: one that is just starting forgets those that come too early (3.8.0 fails to
    // close them), and answers the next attempt at once.
    const auto limit =
        std::max(milliseconds{1000}, wanted / static_cast<milliseconds::rep>(2 * pass_size_));
    const auto patience = std::min(limit, milliseconds{1000 << std::min(unanswered_, 10U)});
    attempt_timer_->expires_after(patience);
    attempt_timer_->async_wait(
        [self = shared_from_this(), use = ++attempt_timer_use_](const error_code& ec) {
            if (!ec && use == self->attempt_timer_use_) {
                self->attempt_timed_out();
            }
        });
}

void client_core::attempt_timed_out()
{
    ++unanswered_;
    drop_connection();
    attempt_failed(errc::connect_timeout, "server " + attempting_ + " did not answer in time");
}

void client_core::attempt_failed(const error_code& ec, std::string detail)
{
    log(log_level::info, detail);
    last_failure_ = ec;
    last_failure_detail_ = std::move(detail);
    note_error(last_failure_detail_);
    if (untried_.empty()) {
        backoff_.next_pass();
        pass_size_ = std::max<std::size_t>(pass_size_, 1);
    }
    next_attempt();
}

void client_core::drop_connection(bool last_words)
{
    if (connection_id_ != 0) {
        connection_id_ = 0;
        public_connection_id_ = 0;
        watches_.clear();
        heartbeat_.disconnected();
    }
    if (const auto connection = std::exchange(connection_, nullptr)) {
        connection->close(last_words);
    }
    end_rest();
}

void client_core::established()
{
    // One look at the socket, at the end: it may show that the connection is gone again.
    const batch together{*this};
    lost_write_ = false;
    const auto session = connection_->session();
    const bool resumed = session_.id != 0 && session.id == session_.id;
    const auto granted = connection_->session_timeout();
    session_timeout_ = resumed ? std::min(session_timeout_, granted) : granted;
    session_ = session;
    publish_session();
    count.connections.fetch_add(1, std::memory_order_relaxed);
    attempt_timer_->cancel();
    ++attempt_timer_use_;
    if (!resumed) {
        count.sessions.fetch_add(1, std::memory_order_relaxed);
    }
    log(log_level::info,
        (resumed ? "connected again to " : "connected with a new session to ") + attempting_);

    if (!options_accepted_ && !(options_.chroot.empty() && options_.credentials.empty())) {
        send(trial_of_options());
        return;
    }
    if (resumed) {
        send_barrier();
    } else {
        backoff_.reset();
    }
    become_connected();
}

// The credentials are sent before this, and answered before it.
request_ptr client_core::trial_of_options()
{
    return make_request(
        {.op = zk::opcode::exists, .path = "/"}, on_loss::fail, [this](zk::reply&& r) {
            if (!r.error) {
                options_accepted_ = true;
                backoff_.reset();
                become_connected();
            } else if (r.error == zookeeper_errc::throttled_op) {
                repeat(trial_of_options());
            } else if (r.error == zookeeper_errc::no_node) {
                note_error("chroot " + options_.chroot + " does not exist on " + attempting_);
                give_up(errc::no_chroot);
            } else if (!is_loss(r.error) && r.error != zookeeper_errc::auth_failed) {
                give_up(r.error);
            } // else broken() comes
        });
}

// A quorum write: what is read behind it on this connection is no older than anything that was seen on the previous
// one. A transaction that fails takes its place in ZooKeeper's order, as one that succeeds does. A create whose answer was
// lost is visible behind it, or will never be carried out: the leader refuses what the previous server forwards later,
// since this one owns the session now, and choose_addresses() keeps the previous one from becoming its owner again.
void client_core::send_barrier()
{
    send(make_request({.op = zk::opcode::multi, .ops = {check_op("/")}}, on_loss::fail,
                      [this](zk::reply&& r) {
                          if (!r.error || r.error == zookeeper_errc::no_node ||
                              r.error == zookeeper_errc::no_auth) {
                              backoff_.reset();
                          } else if (!is_loss(r.error)) {
                              // A server that throttles did not carry it out. What it answers to the requests behind it may be
                              // older than what was seen before: answered() believes none of it.
                              barrier_refused_ = true;
                              log(log_level::warning,
                                  "server " + attempting_ +
                                      " does not carry out the first request on the connection: " +
                                      r.error.message());
                              break_later();
                          } // else broken() comes
                      }));
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
    heartbeat_.connected(attempt_began_, session_timeout_);
    publish_bound(); // earlier than before when the time-out has shrunk
    unanswered_ = 0;
    untried_.clear();
    deadline_timer_->cancel();
    ++deadline_timer_use_;
    set_state(connection_state::connected);
    const batch together{*this};
    notify([this](session_listener& l) { l.connected(session_.id); });
    flush_waiting();
    wait_to_beat();
    for (auto& op : std::exchange(connecting_, {})) {
        op.complete({});
    }
}

void client_core::broken(zk::handle::status why)
{
    const auto self = shared_from_this();
    const bool was_connected = is_connected();
    const auto fault = connection_ ? connection_->fault() : std::string{};
    drop_connection();
    attempt_timer_->cancel();
    ++attempt_timer_use_;
    if (closing_) {
        const bool over = why == zk::handle::status::expired || session_.id == 0;
        closed(over ? error_code{} : errc::disconnected);
        return;
    }
    if (why == zk::handle::status::auth_failed) {
        note_error("server " + attempting_ + " refuses the credentials");
        log(log_level::error, "server " + attempting_ + " refuses the credentials");
        expire_session();
        give_up(zookeeper_errc::auth_failed);
        return;
    }
    if (was_connected) {
        log(log_level::warning,
            "connection to " + attempting_ + " lost" + (fault.empty() ? "" : ": " + fault));
        untried_.clear();
        pass_size_ = 0;
        set_state(connection_state::suspended);
        notify([](session_listener& l) { l.suspended(); });
    }
    if (why == zk::handle::status::expired) {
        log(log_level::warning, "the session has expired");
        count.expirations.fetch_add(1, std::memory_order_relaxed);
        expire_session();
    }
    if (closing_ || connection_) {
        return; // one that was told has closed the client, or connected
    }
    if (was_connected || why == zk::handle::status::expired) {
        // The server is there, or was until now; try all of them at once. But one that refuses the barrier may do
        // so again and again.
        if (barrier_refused_) {
            backoff_.next_pass();
        }
        start_pass();
    } else {
        attempt_failed(errc::no_server,
                       "server " + attempting_ +
                           (fault.empty()
                                ? " refuses connections, or closed this one before it answered"
                                : " broke this connection: " + fault));
    }
}

void client_core::expire_session()
{
    if (session_.id == 0) {
        return;
    }
    session_ = {};
    old_sockets_.clear(); // what is carried out now is refused
    publish_session();
    directories_.clear(); // the servers may be others, that count from the beginning
    notify([](session_listener& l) { l.expired(); });
    heartbeat_.ended(); // behind those who have to know first, if they rely on it
    publish_bound();
}

void client_core::give_up(const error_code& ec)
{
    const auto self = shared_from_this();
    // Nothing is known yet of a session but this client.
    drop_connection(true);
    session_ = {};
    old_sockets_.clear();
    publish_session();
    cancel_timers();
    addresses_->cancel();
    untried_.clear();
    set_state(connection_state::idle);
    fail_waiting(ec);
    notify([&ec](session_listener& l) { l.given_up(ec); });
    for (auto& op : std::exchange(connecting_, {})) {
        op.complete(ec);
    }
}

void client_core::cancel_timers()
{
    beat_timer_->cancel();
    beat_at_ = std::chrono::nanoseconds::max();
    attempt_timer_->cancel();
    ++attempt_timer_use_;
    deadline_timer_->cancel();
    ++deadline_timer_use_;
}

// ---- closing

void client_core::close(operation_ptr<error_code> op)
{
    if (state_ == connection_state::closed) {
        op.complete({});
        return;
    }
    const auto at = closing_ops_.insert(closing_ops_.end(), std::move(op));
    if (!closing_) {
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
            drop_connection(true);
            closed(errc::disconnected);
        });
    }
}

void client_core::begin_close(const error_code& why)
{
    const auto self = shared_from_this();
    closing_ = true;
    cancel_timers();
    addresses_->cancel();
    for (auto& op : std::exchange(connecting_, {})) {
        op.complete(why);
    }
    fail_waiting(why);
    // The connection lives on for a while and may bring events, which nobody is to hear any more: the
    // listeners drop their watches without a word.
    watches_.clear();
    notify([&why](session_listener& l) { l.closed(why); });
    for (const auto& each : listeners()) {
        remove(*each);
    }
    if (!is_connected()) {
        const bool session_remains = session_.id != 0;
        drop_connection(true);
        closed(session_remains ? errc::disconnected : error_code{});
        return;
    }
    deadline_timer_->expires_after(options_.close_timeout);
    deadline_timer_->async_wait([self, use = ++deadline_timer_use_](const error_code& ec) {
        if (!ec && use == self->deadline_timer_use_) {
            self->note_error("the server did not confirm the end of the session in time");
            self->drop_connection(true);
            self->closed(errc::disconnected);
        }
    });
    end_session_when_quiet();
}

// An end that is sent while answers are outstanding is carried out just as well, but nobody could tell
// its confirmation from theirs.
void client_core::end_session_when_quiet()
{
    if (!closing_ || ending_ || !sent_.empty() || !connection_) {
        return;
    }
    ending_ = true;
    connection_->end_session([self = shared_from_this()](bool confirmed) {
        self->connection_.reset();
        self->closed(confirmed ? error_code{} : errc::disconnected);
    });
}

void client_core::closed(const error_code& ec)
{
    if (state_ == connection_state::closed) {
        return;
    }
    connection_id_ = 0;
    public_connection_id_ = 0;
    watches_.clear();
    session_ = {};
    old_sockets_.clear();
    publish_session();
    cancel_timers();
    log(log_level::info, ec ? "closed; the session ends by its time-out" : "closed");
    set_state(connection_state::closed);
    for (auto& op : std::exchange(closing_ops_, {})) {
        op.complete(ec);
    }
}

} // namespace colock::detail
