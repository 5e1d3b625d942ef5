#include "core.hpp"

#include "context_service.hpp"
#include "protocol/path.hpp"

#include <boost/asio/query.hpp>
#include <boost/asio/system_executor.hpp>

#include <algorithm>
#include <utility>

namespace colock::detail {

namespace {

using std::chrono::milliseconds;

// The request was sent, and no answer came, or only the word that the session or the server has changed.
bool is_loss(const error_code& ec) noexcept
{
    return ec.category() == zookeeper_category() &&
           ((outcome_unknown(ec) && ec != zookeeper_errc::auth_failed) ||
            ec == zookeeper_errc::session_moved);
}

// The connection was broken already when the request was about to be sent.
bool is_unsent(const error_code& ec) noexcept
{
    return ec == zookeeper_errc::connection_loss || ec == zookeeper_errc::invalid_state;
}

bool is_sequential(create_mode mode) noexcept
{
    return mode == create_mode::persistent_sequential ||
           mode == create_mode::ephemeral_sequential ||
           mode == create_mode::persistent_sequential_with_ttl;
}

bool has_ttl(create_mode mode) noexcept
{
    return mode == create_mode::persistent_with_ttl ||
           mode == create_mode::persistent_sequential_with_ttl;
}

struct fault {
    error_code error;
    std::string detail;
};

// `mode` is that of the node to be created, if any.
fault path_fault_of(std::string_view path, std::optional<create_mode> mode, bool has_chroot)
{
    const bool sequential = mode && is_sequential(*mode);
    auto what = protocol::path_fault(path, sequential);
    if (what.empty() && sequential && has_chroot && path == "/") {
        // The C client would append the number to the chroot's own name.
        what = "has no name before the number, which a chroot does not allow";
    }
    if (what.empty()) {
        return {};
    }
    auto shown = std::string{path.substr(0, 200)};
    std::ranges::replace(shown, '\0', '?');
    return {errc::invalid_path, "path \"" + shown + "\" " + what};
}

// The C client aborts the program at what would be found here in a transaction.
fault fault_of(const zk::call& c, bool has_chroot)
{
    if (c.op != zk::opcode::multi) {
        const bool creates = c.op == zk::opcode::create;
        if (auto f =
                path_fault_of(c.path, creates ? std::optional{c.mode} : std::nullopt, has_chroot);
            f.error) {
            return f;
        }
        constexpr milliseconds longest_ttl{0xff'ffff'ffff}; // as ZooKeeper has it
        if (creates && has_ttl(c.mode) && (c.ttl <= milliseconds{0} || c.ttl > longest_ttl)) {
            return {errc::invalid_option, "path \"" + c.path + "\": the time to live is " +
                                              std::to_string(c.ttl.count()) +
                                              " ms; it must be positive"};
        }
        return {};
    }
    for (const auto& op : c.ops) {
        const bool creates = op.type == transaction_op::kind::create;
        if (auto f = path_fault_of(op.path, creates ? std::optional{op.create.mode} : std::nullopt,
                                   has_chroot);
            f.error) {
            return f;
        }
        if (creates && (has_ttl(op.create.mode) || op.create.mode == create_mode::container)) {
            return {
                errc::invalid_option,
                "path \"" + op.path +
                    "\": a transaction cannot create a container or a node with a time to live"};
        }
    }
    return {};
}

// What an error of the servers is about. In a transaction, the steps before the one that failed have no
// error, and those behind it a general one.
std::string subject_of(const zk::call& c, const zk::reply& r)
{
    std::size_t i = 0;
    while (i < r.results.size() && i < c.ops.size() && !r.results[i].error) {
        ++i;
    }
    return "path " + (i < c.ops.size() ? c.ops[i].path : c.path);
}

} // namespace

const asio::any_io_executor& executor_of(const std::shared_ptr<client_core>& core) noexcept
{
    static const asio::any_io_executor of_the_system{asio::system_executor{}};
    return core ? core->executor() : of_the_system;
}

// ---- life

void request::answered(zk::reply&& r) noexcept
{
    core_->answered(*this, std::move(r));
}

client_core::client_core(asio::any_io_executor executor, client_options options)
    : executor_{std::move(executor)}, options_{std::move(options)}, strand_{executor_},
      addresses_{std::make_shared<zk::address_book>(*strand_)}, backoff_{options_.backoff_min,
                                                                         options_.backoff_max},
      attempt_timer_{*strand_}, deadline_timer_{*strand_}, reminder_timer_{*strand_},
      beat_timer_{*strand_}, heartbeat_{std::clamp(options_.tick, milliseconds{0}, longest_time)},
      watches_{[this](const std::string& path, zk::watch_kind kind) {
          if (is_connected()) {
              submit(make_request({.op = zk::opcode::forget_watches, .path = path, .kind = kind},
                                  on_loss::fail, [](zk::reply&&) {}));
          }
      }}
{
}

client_core::~client_core()
{
    if (!context_gone_) {
        auto& context = asio::query(executor_, asio::execution::context);
        asio::use_service<context_service>(context).remove(*this);
    }
}

void client_core::attach()
{
    // Those of the descriptor come before ours.
    auto& context = asio::query(executor_, asio::execution::context);
    const asio::posix::stream_descriptor unused{executor_};
    asio::use_service<context_service>(context).add(shared_from_this());
}

void client_core::context_gone() noexcept
{
    context_gone_ = true;
    // Handlers are destroyed here, and with them whatever they own: first moved out, then destroyed.
    const auto connection = std::move(connection_);
    if (connection) {
        connection->close(sent_.empty());
    }
    const auto dispose = [](request* r) { delete r; };
    request_list waiting;
    waiting.swap(waiting_);
    request_list lost;
    lost.swap(lost_);
    const auto connecting = std::move(connecting_);
    const auto closing = std::move(closing_ops_);
    const auto waiters = std::move(state_waiters_);
    const auto listeners = std::move(listeners_);
    for (const auto& [key, each] : listeners) {
        each.listener->discarded();
    }
    std::vector<std::shared_ptr<path_entry>> paths;
    {
        const std::lock_guard lock{paths_mutex_};
        for (const auto& [path, entry] : paths_) {
            paths.push_back(entry.lock());
        }
    }
    for (const auto& path : paths) {
        if (path) {
            path->discarded();
        }
    }
    watches_.clear();
    waiting.clear_and_dispose(dispose);
    lost.clear_and_dispose(dispose);
    addresses_.reset();
    attempt_timer_.reset();
    deadline_timer_.reset();
    reminder_timer_.reset();
    beat_timer_.reset();
    strand_.reset();
}

void client_core::release()
{
    const auto self = shared_from_this();
    const error_code aborted = asio::error::operation_aborted;
    for (auto& waiter : std::exchange(state_waiters_, {})) {
        waiter.op.complete(aborted, state_);
    }
    if (state_ == connection_state::closed) {
        return;
    }
    for (auto& op : std::exchange(closing_ops_, {})) {
        op.complete(aborted);
    }
    if (!closing_) {
        begin_close(aborted);
    }
    // The answers of those that were sent are awaited, so that the session can be ended properly.
    std::vector<request*> sent;
    for (auto& r : sent_) {
        if (!r.abandoned_ && r.policy != on_loss::fail) {
            sent.push_back(&r);
        }
    }
    for (auto* r : sent) {
        abandon(*r, aborted);
    }
}

// ---- requests

error_code client_core::unavailable() const noexcept
{
    if (closing_ || state_ == connection_state::closed) {
        return errc::client_closed;
    }
    if (state_ == connection_state::idle) {
        return errc::not_connected;
    }
    return {};
}

void client_core::link(request_list& list, request_ptr r)
{
    r->list_ = &list;
    list.push_back(*r.release());
}

request_ptr client_core::unlink(request& r)
{
    auto& list = *std::exchange(r.list_, nullptr);
    list.erase(list.iterator_to(r));
    return request_ptr{&r};
}

void client_core::submit(request_ptr r)
{
    error_code refused = unavailable();
    if (auto f = fault_of(r->call, options_.chroot.size() > 1); f.error) {
        note_error(f.detail);
        refused = f.error;
    } else if (refused && r->policy != on_loss::fail) {
        note_error(subject_of(r->call, {}) + ": " + refused.message());
    }
    if (!refused && r->policy == on_loss::fail && !is_connected()) {
        refused = zookeeper_errc::connection_loss;
    }
    const bool nothing_to_do = r->call.op == zk::opcode::multi && r->call.ops.empty();
    if (refused ||
        nothing_to_do) { // an empty transaction would make the C client abort the program
        r->done({.error = refused});
    } else if (is_connected()) {
        send(std::move(r));
    } else {
        ++count.waiting;
        link(waiting_, std::move(r));
    }
}

void client_core::send(request_ptr r)
{
    r->core_ = this;
    r->sent_at_ = boot_clock::now();
    if (r->call.watch) {
        watches_.announce(r->call.path, r->call.kind);
    }
    auto& sent = *r;
    link(sent_, std::move(r));
    if (const auto ec = connection_->send(sent.call, sent); ec) {
        auto back = unlink(sent);
        if (back->call.watch) {
            watches_.withdraw(back->call.path, back->call.kind);
        }
        if (!is_unsent(ec)) {
            note_error(subject_of(back->call, {}) + ": " + ec.message());
            back->done({.error = ec});
        } else if (back->policy == on_loss::fail) {
            back->done({.error = zookeeper_errc::connection_loss});
        } else {
            ++count.waiting;
            link(waiting_, std::move(back));
        }
    } else {
        count.requests.fetch_add(1, std::memory_order_relaxed);
        count.in_flight.store(sent_.size(), std::memory_order_relaxed);
    }
    unflushed_ = true;
    if (batches_ == 0) {
        ++batches_;
        end_batch();
    }
}

void client_core::end_batch()
{
    if (--batches_ == 0 && std::exchange(unflushed_, false) && connection_) {
        const auto connection = connection_; // flush() may drop ours
        connection->flush();
    }
}

void client_core::answered(request& r, zk::reply&& reply) noexcept
{
    auto own = unlink(r);
    if (context_gone_) {
        return;
    }
    const bool loss = is_loss(reply.error);
    if ((reply.error == zookeeper_errc::session_expired ||
         reply.error == zookeeper_errc::session_moved) &&
        is_connected()) {
        // A server may say so in answer to one request, and leave the connection as it is. What it says to
        // the next connection counts.
        asio::post(*strand_, [self = shared_from_this(), id = connection_id_] {
            if (self->connection_id_ == id) {
                self->broken(zk::handle::status::broken);
            }
        });
    }
    count.in_flight.store(sent_.size(), std::memory_order_relaxed);
    if (!loss) {
        count.replies.fetch_add(1, std::memory_order_relaxed);
        take_note(r, reply);
    }
    if (r.call.watch) {
        const bool set = !reply.error || (r.call.op == zk::opcode::exists &&
                                          reply.error == zookeeper_errc::no_node);
        if (set) {
            watches_.subscribe(r.call.path, r.call.kind, r.abandoned_ ? nullptr : r.subscriber);
        } else {
            watches_.withdraw(r.call.path, r.call.kind);
        }
    }
    if (r.abandoned_) {
        // done() was called before.
    } else if (loss && r.policy == on_loss::repeat && !closing_) {
        ++count.waiting;
        link(lost_, std::move(own));
    } else {
        if (loss && r.policy == on_loss::repeat) {
            reply.error = errc::client_closed;
        } else if (reply.error == zookeeper_errc::closing ||
                   reply.error == zookeeper_errc::operation_timeout ||
                   reply.error == zookeeper_errc::runtime_inconsistency) {
            // However the C client came to know: the handle of the broken connection was closed, the
            // server has been silent for too long, what it sent makes no sense.
            reply.error = zookeeper_errc::connection_loss;
        }
        const bool expected =
            r.call.op == zk::opcode::exists && reply.error == zookeeper_errc::no_node;
        if (reply.error && !expected && r.policy != on_loss::fail) {
            note_error(subject_of(r.call, reply) + ": " + reply.error.message());
        }
        r.done(std::move(reply));
    }
    if (std::exchange(proof_has_come_, false)) {
        notify([](session_listener& l) { l.proved(); });
    }
    end_session_when_quiet();
}

void client_core::abandon(request& r, const error_code& why)
{
    if (is_waiting(r)) {
        --count.waiting;
        unlink(r)->done({.error = why});
    } else if (!std::exchange(r.abandoned_, true)) {
        r.done({.error = why});
    }
}

void client_core::flush_waiting()
{
    request_list all;
    all.swap(lost_);
    all.splice(all.end(), waiting_);
    count.waiting = 0;
    while (!all.empty()) {
        request_ptr r{&all.front()};
        all.pop_front();
        send(std::move(r));
    }
}

void client_core::fail_waiting(const error_code& ec)
{
    request_list all;
    all.swap(lost_);
    all.splice(all.end(), waiting_);
    count.waiting = 0;
    while (!all.empty()) {
        const request_ptr r{&all.front()};
        all.pop_front();
        r->done({.error = ec});
    }
}

// ---- watches

void client_core::watch_fired(watch_event&& event) noexcept
{
    if (!context_gone_) {
        count.watch_events.fetch_add(1, std::memory_order_relaxed);
        watches_.fired(event);
    }
}

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
    const std::pair<const char*, milliseconds> times[] = {
        {"session_timeout", options_.session_timeout},
        {"connect_timeout", options_.connect_timeout},
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
    for (const auto& c : options_.credentials) {
        if (c.scheme.empty()) {
            return fail(errc::invalid_option, "a credential has no scheme; use \"digest\"");
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
    if (first) {
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
            self->untried_ = self->addresses_->addresses();
            self->pass_size_ = self->untried_.size();
            if (self->pass_size_ != 0) {
                self->next_attempt();
            } else if (!self->addresses_->pending()) {
                self->attempt_failed(errc::unknown_host, self->addresses_->last_failure());
            }
        }
    });
    untried_ = addresses_->addresses();
    pass_size_ = untried_.size();
    if (pass_size_ != 0) {
        paused ? attempt() : next_attempt();
    }
}

void client_core::next_attempt()
{
    const auto delay = backoff_.delay(clock::now(), pass_size_);
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
    backoff_.attempt(clock::now());
    attempt_began_ = boot_clock::now();
    count.connect_attempts.fetch_add(1, std::memory_order_relaxed);
    log(log_level::debug, "connecting to " + attempting_);

    connection_ = std::make_shared<zk::connection>(
        *strand_, shared_from_this(), static_cast<zk::connection::observer&>(*this), count.wakeups);
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
}

void client_core::established()
{
    // One look at the socket, at the end: it may show that the connection is gone again.
    const batch together{*this};
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
        // The credentials are sent before this, and answered before it.
        send(make_request(
            {.op = zk::opcode::exists, .path = "/"}, on_loss::fail, [this](zk::reply&& r) {
                if (!r.error) {
                    options_accepted_ = true;
                    become_connected();
                } else if (r.error == zookeeper_errc::no_node) {
                    note_error("chroot " + options_.chroot + " does not exist on " + attempting_);
                    give_up(errc::no_chroot);
                } else if (!is_loss(r.error) && r.error != zookeeper_errc::auth_failed) {
                    give_up(r.error);
                } // else broken() comes
            }));
        return;
    }
    if (resumed) {
        // A quorum write, whose answer nobody needs: what is read behind it on this connection is no older
        // than anything that was seen on the previous one, and a create whose answer was lost is either
        // visible or will never be. A transaction that fails is as good as one that succeeds.
        send(make_request({.op = zk::opcode::multi, .ops = {check_op("/")}}, on_loss::fail,
                          [](zk::reply&&) {}));
    }
    become_connected();
}

void client_core::become_connected()
{
    connection_id_ = ++connections_made_;
    public_connection_id_ = connection_id_;
    heartbeat_.connected(attempt_began_, session_timeout_);
    publish_bound(); // earlier than before when the time-out has shrunk
    backoff_.reset();
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
        log(log_level::warning, "connection to " + attempting_ + " lost");
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
        // The server is there, or was until now; try all of them at once.
        start_pass();
    } else {
        attempt_failed(errc::no_server,
                       "server " + attempting_ +
                           " refuses connections, or closed this one before it answered");
    }
}

void client_core::expire_session()
{
    if (session_.id == 0) {
        return;
    }
    session_ = {};
    publish_session();
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
    listeners_.clear();
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
    publish_session();
    cancel_timers();
    log(log_level::info, ec ? "closed; the session ends by its time-out" : "closed");
    set_state(connection_state::closed);
    for (auto& op : std::exchange(closing_ops_, {})) {
        op.complete(ec);
    }
}

// ---- listeners and state

void client_core::add(std::shared_ptr<session_listener> listener)
{
    auto* key = listener.get();
    listeners_.emplace(key, registration{++registrations_, std::move(listener)});
}

void client_core::remove(session_listener& listener)
{
    listeners_.erase(&listener);
}

// They come and go while they are told.
template <class Call>
void client_core::notify(Call&& call)
{
    std::vector<registration> all;
    all.reserve(listeners_.size());
    for (const auto& [key, each] : listeners_) {
        all.push_back(each);
    }
    std::ranges::sort(all, {}, &registration::number);
    const batch together{*this};
    for (const auto& each : all) {
        if (listeners_.contains(each.listener.get())) {
            call(*each.listener);
        }
    }
}

// One timer for all of them: a lock that is taken and released costs no call of the system for it.
void client_core::remind(std::weak_ptr<session_listener> listener)
{
    reminders_.emplace_back(clock::now() + milliseconds{10}, std::move(listener));
    if (reminders_.size() == 1) {
        wait_to_remind();
    }
}

void client_core::wait_to_remind()
{
    reminder_timer_->expires_at(reminders_.front().first);
    reminder_timer_->async_wait([weak = weak_from_this()](const error_code& ec) {
        if (const auto self = weak.lock(); self && !ec) {
            self->remind_due();
        }
    });
}

void client_core::remind_due()
{
    const batch together{*this};
    const auto now = clock::now();
    while (!reminders_.empty() && reminders_.front().first <= now) {
        const auto listener = reminders_.front().second.lock();
        reminders_.pop_front();
        if (listener) {
            listener->reminded();
        }
    }
    if (!reminders_.empty()) {
        // Not before the last one at hand is due: one call of the timer serves all of them.
        reminders_.front().first = std::max(reminders_.front().first, now + milliseconds{10});
        wait_to_remind();
    }
}

// ---- proof that the session lives

void client_core::line(bool one_more)
{
    heartbeat_.line(one_more);
    wait_to_beat();
}

void client_core::hold(std::chrono::nanoseconds lead)
{
    heartbeat_.hold(lead);
    wait_to_beat();
}

void client_core::let_go(std::chrono::nanoseconds lead)
{
    heartbeat_.let_go(lead);
}

void client_core::await_proof()
{
    heartbeat_.await_proof();
    wait_to_beat();
}

// Of the answer to a request.
void client_core::take_note(const request& r, const zk::reply& reply)
{
    const auto now = boot_clock::now();
    // A transaction whose condition fails has its place in ZooKeeper's order as well.
    const auto& op = r.call.op;
    const bool write = reply.error
                           ? op == zk::opcode::multi && (reply.error == zookeeper_errc::no_node ||
                                                         reply.error == zookeeper_errc::no_auth)
                           : op == zk::opcode::multi || op == zk::opcode::create ||
                                 op == zk::opcode::remove || op == zk::opcode::set;
    if (write && heartbeat_.overdue(now)) {
        // Lost is final: those who are past their bound must know before it moves.
        notify([](session_listener& l) { l.check(); });
    }
    proof_has_come_ |= heartbeat_.answered(r.sent_at_, now, write);
    publish_bound();
    wait_to_beat();
}

void client_core::publish_bound()
{
    safe_until_.store(heartbeat_.safe_until().count(), std::memory_order_release);
}

void client_core::wait_to_beat()
{
    const auto next = heartbeat_.next();
    if (next >= beat_at_ || closing_) {
        return; // the timer fires early, and is set anew
    }
    beat_at_ = next;
    beat_timer_->expires_after(std::max(next - boot_clock::now(), std::chrono::nanoseconds{0}));
    beat_timer_->async_wait([weak = weak_from_this()](const error_code& ec) {
        if (const auto self = weak.lock(); self && !ec) {
            self->beat_at_ = std::chrono::nanoseconds::max();
            self->beat();
        }
    });
}

void client_core::beat()
{
    if (closing_) {
        return;
    }
    const batch together{*this};
    const auto orders = heartbeat_.due(boot_clock::now());
    if (orders.check) {
        notify([](session_listener& l) { l.check(); });
    }
    if (orders.read) {
        send(make_request({.op = zk::opcode::exists, .path = "/"}, on_loss::fail,
                          [this](zk::reply&&) {
                              heartbeat_.read_answered();
                              wait_to_beat();
                          }));
    }
    if (orders.write) {
        send(make_request({.op = zk::opcode::multi, .ops = {check_op("/")}}, on_loss::fail,
                          [this](zk::reply&&) {
                              heartbeat_.write_answered();
                              wait_to_beat();
                          }));
    }
    wait_to_beat();
}

// ---- paths

std::shared_ptr<path_entry>
client_core::find_path(const std::string& path,
                       const std::function<std::shared_ptr<path_entry>()>& make)
{
    const std::lock_guard lock{paths_mutex_};
    auto& entry = paths_[path];
    auto found = entry.lock();
    if (!found) {
        entry = found = make();
    }
    return found;
}

void client_core::forget_path(const std::string& path) noexcept
{
    const std::lock_guard lock{paths_mutex_};
    const auto at = paths_.find(path);
    if (at != paths_.end() && at->second.expired()) { // not the next one's already
        paths_.erase(at);
    }
}

void client_core::set_state(connection_state state)
{
    if (state_.exchange(state) == state) {
        return;
    }
    for (auto at = state_waiters_.begin(); at != state_waiters_.end();) {
        const auto here = at++;
        if (here->seen != state) {
            auto op = std::move(here->op);
            state_waiters_.erase(here);
            op.complete({}, state);
        }
    }
}

void client_core::wait_state_change(connection_state seen,
                                    operation_ptr<error_code, connection_state> op)
{
    if (state_ != seen) {
        op.complete({}, state_);
        return;
    }
    if (seen == connection_state::closed) {
        op.complete(errc::client_closed, seen); // there is no way out of it
        return;
    }
    const auto at = state_waiters_.insert(state_waiters_.end(), {seen, std::move(op)});
    if (const auto& link = at->op.cancellation()) {
        link->bind([this, at](asio::cancellation_type) {
            auto cancelled = std::move(at->op);
            state_waiters_.erase(at);
            cancelled.complete(asio::error::operation_aborted, state_);
        });
    }
}

void client_core::publish_session()
{
    public_session_id_ = session_.id;
    public_timeout_ = session_timeout_.count();
    const std::lock_guard lock{text_mutex_};
    session_password_ = session_.id != 0
                            ? std::string(session_.password.begin(), session_.password.end())
                            : std::string{};
}

std::string client_core::session_password() const
{
    const std::lock_guard lock{text_mutex_};
    return session_password_;
}

// ---- diagnosis

void client_core::log(log_level level, const std::string& message) const
{
    if (options_.log) {
        logging_.store(true, std::memory_order_relaxed);
        options_.log(level, message);
        logging_.store(false, std::memory_order_relaxed);
    }
}

void client_core::note_error(std::string detail)
{
    const std::lock_guard lock{text_mutex_};
    last_error_detail_ = std::move(detail);
}

std::string client_core::last_error_detail() const
{
    const std::lock_guard lock{text_mutex_};
    return last_error_detail_;
}

} // namespace colock::detail
