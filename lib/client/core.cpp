#include "core.hpp"

#include "context_service.hpp"

#include <boost/asio/query.hpp>
#include <boost/asio/system_executor.hpp>

#include <algorithm>
#include <utility>

namespace colock::detail {

using std::chrono::milliseconds;

const asio::any_io_executor& executor_of(const std::shared_ptr<client_core>& core) noexcept
{
    static const asio::any_io_executor of_the_system{asio::system_executor{}};
    return core ? core->executor() : of_the_system;
}

// ---- life

namespace {

protocol::session::reconnect::settings session_settings(const client_options& o)
{
    return {.hosts = o.hosts,
            .chroot = o.chroot,
            .tries_options = !o.chroot.empty() || !o.credentials.empty(),
            .tls = o.tls != nullptr,
            .session_timeout = o.session_timeout,
            .connect_timeout = o.connect_timeout,
            .close_timeout = o.close_timeout,
            .backoff_min = o.backoff_min,
            .backoff_max = o.backoff_max,
            .tick = o.tick};
}

} // namespace

client_core::client_core(asio::any_io_executor executor, client_options options)
    : executor_{std::move(executor)}, options_{std::move(options)},
      telemetry_{options_.observer || options_.histograms
                     ? std::make_unique<detail::telemetry>(options_.observer, options_.histograms)
                     : nullptr},
      strand_{zk::strand_base{executor_}}, addresses_{std::make_shared<zk::address_book>(*strand_)},
      reconnect_{session_settings(options_), zk::random_seed()}, tls_{options_.tls},
      credentials_{options_.credentials}, attempt_timer_{*strand_}, deadline_timer_{*strand_},
      own_watch_timer_{*strand_}, beat_timer_{*strand_}, heartbeat_{std::clamp(options_.tick,
                                                                               milliseconds{0},
                                                                               longest_time)},
      rest_timer_{*strand_}, watches_{[this](const std::string& path, zk::watch_kind kind) {
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
    zk::wipe(options_.credentials);
    zk::wipe(session_password_);
    zk::wipe(session_);
}

void client_core::attach()
{
    // Behind the services of timers and descriptors, which the members have made.
    auto& context = asio::query(executor_, asio::execution::context);
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
    old_sockets_.clear();
    const auto dispose = [](request* r) { delete r; };
    request_list waiting;
    waiting.swap(waiting_);
    request_list behind_barrier;
    behind_barrier.swap(behind_barrier_);
    request_list lost;
    lost.swap(lost_);
    request_list resting;
    resting.swap(resting_);
    const auto connecting = std::move(connecting_);
    const auto closing = std::move(closing_ops_);
    const auto trials = std::move(trials_);
    const auto waiters = std::move(state_waiters_);
    const auto all = listeners();
    for (const auto& each : all) {
        remove(*each);
        each->discarded();
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
    behind_barrier.clear_and_dispose(dispose);
    lost.clear_and_dispose(dispose);
    resting.clear_and_dispose(dispose);
    addresses_.reset();
    attempt_timer_.reset();
    deadline_timer_.reset();
    own_watch_timer_.reset();
    beat_timer_.reset();
    rest_timer_.reset();
    reminders_.reset();
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
    if (!is_closing()) {
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

// ---- listeners and state

void client_core::add(std::shared_ptr<session_listener> listener)
{
    listeners_.push_back(*listener);
    auto& self = listener->self_;
    self = std::move(listener);
}

void client_core::remove(session_listener& listener)
{
    if (listener.is_linked()) {
        listeners_.erase(listeners_.iterator_to(listener));
        if (listener.own_watch_hook_.is_linked()) {
            own_watches_.erase(own_watches_.iterator_to(listener));
        }
        const auto last = std::move(listener.self_);
    }
}

std::vector<std::shared_ptr<session_listener>> client_core::listeners() const
{
    std::vector<std::shared_ptr<session_listener>> all;
    for (const auto& each : listeners_) {
        all.push_back(each.self_);
    }
    return all;
}

// They come and go while they are told.
void client_core::notify(const std::function<void(session_listener&)>& call)
{
    const auto all = listeners();
    const batch together{*this};
    for (const auto& each : all) {
        if (each->is_linked()) {
            call(*each);
        }
    }
}

// One timer for all of them: a lock that is taken and released costs no call of the system for it.
void client_core::schedule_own_watch(session_listener& listener)
{
    listener.own_watch_at_ = clock::now() + milliseconds{10};
    own_watches_.push_back(listener);
    wait_for_own_watch(listener.own_watch_at_);
}

// Most listeners are gone when their time comes. The timer is left alone then: it goes off once in ten milliseconds.
void client_core::wait_for_own_watch(clock::time_point when)
{
    if (std::exchange(own_watch_timer_runs_, true)) {
        return;
    }
    own_watch_timer_->expires_at(when);
    own_watch_timer_->async_wait([weak = weak_from_this()](const error_code& ec) {
        if (const auto self = weak.lock(); self && !ec) {
            self->own_watch_timer_runs_ = false;
            self->own_watches_due();
        }
    });
}

void client_core::own_watches_due()
{
    const batch together{*this};
    const auto now = clock::now();
    while (!own_watches_.empty() && own_watches_.front().own_watch_at_ <= now) {
        const auto listener = own_watches_.front().self_;
        own_watches_.pop_front();
        listener->own_watch_due();
    }
    if (!own_watches_.empty()) {
        // Not before the last one at hand is due: one call of the timer serves all of them.
        wait_for_own_watch(std::max(own_watches_.front().own_watch_at_, now + milliseconds{10}));
    }
}

// ---- proof that the session lives

void client_core::count_next_in_line(bool one_more)
{
    heartbeat_.count_next_in_line(one_more);
    wait_to_beat();
}

void client_core::add_holder(std::chrono::nanoseconds margin)
{
    heartbeat_.add_holder(margin);
    wait_to_beat();
}

void client_core::remove_holder(std::chrono::nanoseconds margin)
{
    heartbeat_.remove_holder(margin);
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
    const bool multi = r.call.op == zk::opcode::multi;
    const bool write = reply.error ? multi && (reply.error == zookeeper_errc::no_node ||
                                               reply.error == zookeeper_errc::no_auth)
                                   : multi || r.call.is_write();
    if (write && heartbeat_.overdue(now)) {
        // Lost is final: holders that are past their bound must know before it moves.
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
    if (next >= beat_at_ || is_closing()) {
        return; // the timer fires early, and is set anew
    }
    beat_at_ = next;
    beat_timer_->expires_at(next);
    beat_timer_->async_wait([weak = weak_from_this()](const error_code& ec) {
        if (const auto self = weak.lock(); self && !ec) {
            self->beat_at_ = std::chrono::nanoseconds::max();
            self->beat();
        }
    });
}

void client_core::beat()
{
    if (is_closing()) {
        return;
    }
    const batch together{*this};
    const auto orders = heartbeat_.due(boot_clock::now());
    if (orders.check) {
        notify([](session_listener& l) { l.check(); });
    }
    const auto sent = boot_clock::now();
    if (orders.read) {
        send_beat(make_request({.op = zk::opcode::exists, .path = "/"}, on_loss::fail,
                               [this, sent](zk::reply&& r) {
                                   heartbeat_.read_answered();
                                   tell_of_beat(r, false, sent);
                                   wait_to_beat();
                               }));
    }
    if (orders.write) {
        send_beat(make_request({.op = zk::opcode::multi, .ops = {check_op("/")}}, on_loss::fail,
                               [this, sent](zk::reply&& r) {
                                   heartbeat_.write_answered();
                                   tell_of_beat(r, true, sent);
                                   wait_to_beat();
                               }));
    }
    wait_to_beat();
}

void client_core::send_beat(request_ptr r)
{
    const std::uint64_t before = count.requests;
    send(std::move(r));
    count.heartbeats += count.requests - before; // none when the connection was broken already
}

// Not within the answer to a request, which must not run the user's code.
void client_core::tell_of_beat(const zk::reply& r, bool proves, std::chrono::nanoseconds sent)
{
    if (!telemetry_ || is_loss(r.error)) {
        return;
    }
    const auto now = boot_clock::now();
    post(
        [self = shared_from_this(), a = heartbeat_answer{.proves = proves,
                                                         .round_trip = now - sent,
                                                         .margin = heartbeat_.safe_until() - now}] {
            self->telemetry_->answered(a);
        });
}

void client_core::count_losses(const error_code& why, std::uint64_t n) noexcept
{
    auto& reason = why == errc::session_expired ? count.session_expired
                   : why == errc::node_deleted  ? count.node_deleted
                   : why == errc::client_closed ? count.client_closed
                                                : count.safe_until_passed;
    reason.fetch_add(n, std::memory_order_relaxed);
    count.locks_lost.fetch_add(n, std::memory_order_relaxed);
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

std::shared_ptr<protocol::directory_memory> client_core::directory_at(const std::string& path)
{
    constexpr std::size_t most = 10'000; // of some hundred bytes each
    if (directories_.size() == most && !directories_.contains(path)) {
        directories_.clear(); // those in use are kept by the contenders that use them
    }
    auto& found = directories_[path];
    if (!found) {
        found = std::make_shared<protocol::directory_memory>();
    }
    return found;
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
    public_timeout_ = reconnect_.session_timeout().count();
    const std::lock_guard lock{text_mutex_};
    zk::wipe(session_password_);
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
    if (logs(level)) {
        logging_.store(true, std::memory_order_relaxed);
        options_.log(level, printable(message, longest_line));
        logging_.store(false, std::memory_order_relaxed);
    }
}

void client_core::send_lines()
{
    if (lines_.send()) {
        post([self = shared_from_this()] {
            for (const auto& [level, text] : self->lines_.take()) {
                self->log(level, text);
            }
        });
    }
}

void client_core::remind(std::weak_ptr<reminded> who, std::chrono::nanoseconds when)
{
    if (!reminders_) {
        reminders_ = std::make_shared<reminders>(*strand_);
    }
    reminders_->add(std::move(who), when);
}

void client_core::note_error(std::string detail)
{
    const std::lock_guard lock{text_mutex_};
    last_error_detail_ = printable(detail, longest_line);
}

std::string client_core::last_error_detail() const
{
    const std::lock_guard lock{text_mutex_};
    return last_error_detail_;
}

} // namespace colock::detail
