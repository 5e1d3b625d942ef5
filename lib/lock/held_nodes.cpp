#include "held_nodes.hpp"

#include "function_operation.hpp"

#include <algorithm>
#include <utility>

namespace colock::detail {

held_nodes::held_nodes(std::shared_ptr<client_core> core, std::shared_ptr<const void> of,
                       std::string what, std::string path, std::vector<std::string> nodes,
                       std::chrono::nanoseconds lost_lead)
    : core_{std::move(core)}, of_{std::move(of)}, what_{std::move(what)}, path_{std::move(path)},
      lost_lead_{lost_lead}
{
    for (auto& each : nodes) {
        nodes_.emplace(std::move(each), node{nodes_.size()});
    }
}

void held_nodes::begin()
{
    core_->add(shared_from_this());
    core_->hold(lost_lead_);
    relying_ = true;
    core_->remind(weak_from_this());
}

// ---- the session

void held_nodes::connected(std::int64_t)
{
    for (auto& [path, of] : std::exchange(unsettled_, {})) {
        remove(path, of);
    }
}

void held_nodes::expired()
{
    const auto self = shared_from_this();
    lose(errc::session_expired);
    for (auto& [path, of] : std::exchange(unsettled_, {})) {
        removed(path, *of, {}); // it went with the session
    }
    nodes_.clear();
    end();
}

void held_nodes::closed(const error_code& why)
{
    const auto self = shared_from_this();
    lose(errc::client_closed);
    over_ = true;
    for (auto& [path, of] : std::exchange(unsettled_, {})) {
        if (of->op) {
            std::exchange(of->op, {}).complete(why);
        }
    }
}

void held_nodes::discarded() noexcept
{
    over_ = true;
    loss_.conclude(errc::client_closed);
    waiting_for_loss_.discard();
    const auto unsettled = std::move(unsettled_);
}

// Most permits are held for longer than it is worth not to watch their nodes.
void held_nodes::reminded()
{
    for (const auto& [path, each] : nodes_) {
        if (!each.leaving && !over_) {
            watch(path);
        }
    }
}

// Null when it is gone, or is about to go.
held_nodes::node* held_nodes::holding(const std::string& path)
{
    const auto at = nodes_.find(path);
    return at != nodes_.end() && !at->second.leaving ? &at->second : nullptr;
}

bool held_nodes::all_left() const noexcept
{
    return std::ranges::all_of(nodes_, [](const auto& each) { return each.second.leaving; });
}

void held_nodes::watch(const std::string& path)
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

void held_nodes::changed(const watch_event& event)
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

void held_nodes::release(const std::vector<std::string>& nodes, operation_ptr<error_code> op)
{
    const auto self = shared_from_this();
    check();
    const auto of = std::make_shared<departure>(departure{nodes.size(), lost(), std::move(op)});
    if (of->op && of->op.cancellation()) {
        // What is under way keeps it alive. The link must not: the operation owns the link.
        of->op.cancellation()->bind([weak = std::weak_ptr{of}](asio::cancellation_type type) {
            if (const auto it = weak.lock(); it && it->op && ends_at_once(type)) {
                std::exchange(it->op, {}).complete(asio::error::operation_aborted);
            }
        });
    }
    if (over_ || of->left == 0) { // they went with the session, or will
        if (of->op) {
            std::exchange(of->op, {}).complete(of->result);
        }
        return;
    }
    const client_core::batch together{*core_};
    for (const auto& path : nodes) {
        if (auto* const held = holding(path)) {
            held->leaving = true;
            held->watch.reset();
            waiting_for_loss_.complete_tagged(held->number, errc::not_held, {});
        }
        remove(path, of);
    }
}

// Until the server confirms that it is gone, or the session is over.
void held_nodes::remove(const std::string& path, const std::shared_ptr<departure>& of)
{
    if (!core_->is_connected()) {
        unsettled_.emplace_back(path, of);
        return;
    }
    core_->submit(make_request({.op = zk::opcode::remove, .path = path}, on_loss::fail,
                               [self = shared_from_this(), path, of](zk::reply&& r) {
                                   const bool unknown = outcome_unknown(r.error);
                                   if ((unknown || is_retryable(r.error)) && self->over_) {
                                       self->removed(path, *of, errc::client_closed);
                                   } else if (unknown) {
                                       self->unsettled_.emplace_back(path, of);
                                   } else if (is_retryable(r.error)) {
                                       self->remove(path, of);
                                   } else {
                                       self->removed(path, *of, r.error);
                                   }
                               }));
}

void held_nodes::removed(const std::string& path, departure& of, const error_code& ec)
{
    if (ec && ec != zookeeper_errc::no_node) {
        of.result = ec;
        core_->log(log_level::error, what_ + ": a node may remain until the session ends: " + path +
                                         ": " + ec.message());
    }
    nodes_.erase(path);
    if (--of.left == 0 && of.op) {
        std::exchange(of.op, {}).complete(of.result);
    }
    if (nodes_.empty()) {
        end();
    }
}

void held_nodes::end()
{
    if (std::exchange(over_, true)) {
        return;
    }
    let_go();
    if (!loss_told_) {
        core_->count.locks_released.fetch_add(1, std::memory_order_relaxed);
    }
    loss_told_ = true;
    core_->remove(*this);
}

// ---- losing

void held_nodes::wait_lost(operation_ptr<error_code, error_code> op, const std::string& lease)
{
    check();
    if (const auto why = lost(); why) {
        op.complete({}, why);
        return;
    }
    const auto* const held = holding(lease);
    if (over_ || held == nullptr) {
        op.complete(errc::not_held, {});
        return;
    }
    op->tag = held->number;
    waiting_for_loss_.add(std::move(op));
}

void held_nodes::check()
{
    if (!over_ && lost()) {
        lose(errc::safe_until_passed);
    }
}

void held_nodes::lose(errc why)
{
    loss_.conclude(why);
    let_go(); // also when all nodes are leaving: behind the bound there is nothing left to check
    if (over_ || all_left() || std::exchange(loss_told_, true)) {
        return; // released before, or known
    }
    const auto reason = loss_.why();
    core_->count.locks_lost.fetch_add(1, std::memory_order_relaxed);
    core_->note_error(what_ + ": " + reason.message());
    waiting_for_loss_.complete_all({}, reason);
    core_->log(log_level::warning, what_ + ": " + reason.message());
}

void held_nodes::let_go()
{
    if (std::exchange(relying_, false)) {
        core_->let_go(lost_lead_);
    }
}

error_code held_nodes::lost() const noexcept
{
    const bool safe = remaining() > std::chrono::nanoseconds{0};
    if (!safe && loss_.conclude(errc::safe_until_passed)) {
        core_->post(
            [self = std::const_pointer_cast<held_nodes>(shared_from_this())] { self->check(); });
    }
    return loss_.why();
}

std::chrono::nanoseconds held_nodes::remaining() const noexcept
{
    return core_->safe_until() - lost_lead_ - boot_clock::now();
}

} // namespace colock::detail
