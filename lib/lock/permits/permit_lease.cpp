#include "lock/permits/permit_lease.hpp"

#include "client/function_operation.hpp"
#include "client/on_cancel.hpp"
#include "lock/local/waiting_words.hpp"

#include <algorithm>
#include <utility>

namespace colock::detail {

permit_lease::permit_lease(std::shared_ptr<client_core> core, std::shared_ptr<const void> of,
                           std::string what, std::string path, std::vector<std::string> nodes,
                           std::chrono::nanoseconds safety_margin)
    : core_{std::move(core)}, of_{std::move(of)}, what_{std::move(what)}, path_{std::move(path)},
      lease_{*core_, safety_margin}
{
    for (auto& each : nodes) {
        nodes_.emplace(std::move(each), node{nodes_.size()});
    }
}

void permit_lease::begin()
{
    const auto self = shared_from_this();
    lease_.begin(self);
    core_->add(self);
    update_heartbeat_need();
    core_->schedule_own_watch(*this);
}

// ---- the session

void permit_lease::connected(std::int64_t)
{
    for (auto& [path, of] : std::exchange(unsettled_, {})) {
        remove(path, of);
    }
}

void permit_lease::expired()
{
    const auto self = shared_from_this();
    // They go with the session. A leader that was deposed and does not know it may say that a session has ended which
    // lives on for a while, so this does not confirm a release.
    for (auto& [path, of] : std::exchange(unsettled_, {})) {
        of->result = errc::session_expired;
        removed(path, *of, {});
    }
    lose(errc::session_expired);
    nodes_.clear();
    end();
}

void permit_lease::closed(const error_code& why)
{
    const auto self = shared_from_this();
    lose(errc::client_closed);
    over_ = true;
    update_heartbeat_need();
    for (auto& [path, of] : std::exchange(unsettled_, {})) {
        if (of->op) {
            answer(*of, why);
        }
    }
}

void permit_lease::discarded() noexcept
{
    over_ = true;
    lease_.note_loss(errc::client_closed);
    lease_.discard();
    end_hold(lease_.why());
    const auto unsettled = std::move(unsettled_);
    const auto awaited = std::move(awaited_);
}

// The client calls this ten milliseconds after begin(). A permit that is released earlier costs no watch.
void permit_lease::own_watch_due()
{
    for (const auto& [path, each] : nodes_) {
        if (!each.leaving && !over_) {
            watch(path);
        }
    }
}

// Null when it is gone, or is about to go.
permit_lease::node* permit_lease::holding(const std::string& path)
{
    const auto at = nodes_.find(path);
    return at != nodes_.end() && !at->second.leaving ? &at->second : nullptr;
}

bool permit_lease::all_left() const noexcept
{
    return std::ranges::all_of(nodes_, [](const auto& each) { return each.second.leaving; });
}

void permit_lease::watch(const std::string& path)
{
    const auto state = std::make_shared<watch_state>(core_, zk::opcode::get, path);
    auto read = make_request(
        {.op = zk::opcode::get, .path = path, .watch = true}, on_loss::repeat,
        [self = shared_from_this(), state, path](zk::reply&& r) {
            auto* const held = self->holding(path);
            if (held == nullptr) {
                if (!r.error) {
                    state->begin(r.stat);
                    state->end(); // nobody wants it any more
                }
            } else if (r.error == zookeeper_errc::no_node) {
                self->lose(errc::node_deleted);
            } else if (!r.error) {
                state->begin(r.stat);
                held->watch = state->make_handle();
                state->wait(function_operation<error_code, watch_event>::make(
                    self->core_, nullptr,
                    [weak = self->weak_from_this()](const error_code& ec, const watch_event& e) {
                        if (const auto holder = weak.lock(); holder && !ec) {
                            holder->changed(e);
                        }
                    }));
            }
        });
    read->subscriber = state.get();
    core_->submit(std::move(read));
}

void permit_lease::changed(const watch_event& event)
{
    if (holding(event.path) == nullptr) {
        return;
    }
    if (event.type == watch_event_type::deleted) {
        lose(errc::node_deleted);
    } else {
        watch(event.path);
    }
}

// ---- letting go

void permit_lease::release(const std::vector<std::string>& nodes, operation_ptr<error_code> op)
{
    const auto self = shared_from_this();
    check();
    const auto why = lost();
    if (op && (why || over_ || nodes.empty())) { // what is left goes in the background, or has gone
        std::exchange(op, {}).complete(why);
    }
    if (over_ || nodes.empty()) {
        return;
    }
    const auto of = std::make_shared<departure>(departure{nodes.size(), {}, std::move(op)});
    if (of->op) {
        awaited_.push_back(of);
        // The requests under way keep it alive. The link must not: the operation owns the link.
        on_cancel(of->op, [this, weak = std::weak_ptr{of}] {
            if (const auto it = weak.lock(); it && it->op) {
                answer(*it, asio::error::operation_aborted);
            }
        });
    }
    if (!why && core_->logs(log_level::debug)) {
        core_->add_line(log_level::debug,
                        "released " + counted_words(nodes.size(), "permit") + " of " + what_);
        core_->send_lines();
    }
    const client_core::batch together{*core_};
    for (const auto& path : nodes) {
        if (auto* const held = holding(path)) {
            held->leaving = true;
            if (all_left() && !lease_.is_told()) {
                core_->count.locks_released.fetch_add(1, std::memory_order_relaxed);
                end_hold({});
            }
            held->watch.reset();
            lease_.end_turn(held->number);
        }
        remove(path, of);
    }
    update_heartbeat_need();
}

// Until the server confirms that it is gone, or the session is over.
void permit_lease::remove(const std::string& path, const std::shared_ptr<departure>& of)
{
    if (!core_->is_connected()) {
        unsettled_.emplace_back(path, of);
        return;
    }
    core_->submit(removal(path, of));
}

request_ptr permit_lease::removal(const std::string& path, const std::shared_ptr<departure>& of)
{
    return make_request({.op = zk::opcode::remove, .path = path}, on_loss::fail,
                        [self = shared_from_this(), path, of](zk::reply&& r) {
                            const bool unknown = outcome_unknown(r.error);
                            if ((unknown || is_retryable(r.error)) && self->over_) {
                                self->removed(path, *of, errc::client_closed);
                            } else if (unknown) {
                                self->unsettled_.emplace_back(path, of);
                            } else if (is_retryable(r.error)) {
                                self->core_->repeat(self->removal(path, of));
                            } else {
                                self->removed(path, *of, r.error, r.detail);
                            }
                        });
}

// `refusal`: the words for it, if the servers have refused to remove the node.
void permit_lease::removed(const std::string& path, departure& of, const error_code& ec,
                           const std::string& refusal)
{
    if (ec && ec != zookeeper_errc::no_node) {
        const auto why = what_ + ": a node may remain until the session ends: " + path + ": " +
                         (refusal.empty() ? ec.message() : refusal);
        of.result = ec;
        if (of.op) {
            of.op->explain(ec, why);
        }
        if (ec != errc::client_closed) { // or the session ends with the client
            core_->log(log_level::error, why);
        }
    }
    nodes_.erase(path);
    if (--of.left == 0 && of.op) {
        answer(of, of.result);
    }
    if (nodes_.empty()) {
        end();
    }
}

// The caller of a release.
void permit_lease::answer(departure& of, const error_code& ec)
{
    std::exchange(of.op, {}).complete(ec);
    std::erase_if(awaited_, [&](const auto& each) { return each.get() == &of; });
    update_heartbeat_need();
}

void permit_lease::end_hold(const error_code& loss) noexcept
{
    if (const auto h = std::exchange(hold_, {}); h.id != 0) {
        const auto now = boot_clock::now();
        observed_->to.end_hold(*observed_, false, h, now, loss, lease_.remaining(now));
    }
}

void permit_lease::end()
{
    if (std::exchange(over_, true)) {
        return;
    }
    update_heartbeat_need();
    core_->remove(*this);
}

// ---- losing

void permit_lease::wait_lost(operation_ptr<error_code, error_code> op, const std::string& of)
{
    check();
    const auto* const held = over_ ? nullptr : holding(of);
    lease_.wait(std::move(op), held != nullptr, held != nullptr ? held->number : 0);
}

void permit_lease::check()
{
    if (over_ || !lost()) {
        return;
    }
    const auto self = shared_from_this();
    lose(errc::safe_until_passed);
    if (!awaited_.empty() && remaining() <= std::chrono::nanoseconds{0}) {
        // No server has confirmed these releases in time. They go on in the background.
        announce_loss();
        while (!awaited_.empty()) {
            const auto of = awaited_.back();
            answer(*of, lease_.why());
        }
    }
}

// Whether the client shall tell when the bound passes: there are callers who have to be told then.
void permit_lease::update_heartbeat_need()
{
    const bool held = !lease_.is_told() && !all_left();
    lease_.ask_for_check(!over_ && (held || !awaited_.empty()));
}

void permit_lease::lose(errc why)
{
    lease_.note_loss(why);
    if (!over_ && !all_left()) { // else they were released before
        announce_loss();
    }
}

void permit_lease::announce_loss()
{
    if (!lease_.begin_telling()) {
        return;
    }
    update_heartbeat_need();
    if (!all_left()) { // else they count as released
        core_->count_losses(lease_.why(), 1);
        end_hold(lease_.why());
    }
    lease_.tell_waiters(what_);
}

} // namespace colock::detail
