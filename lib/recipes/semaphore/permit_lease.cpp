#include "recipes/semaphore/permit_lease.hpp"

#include "lock/waiting_words.hpp"
#include "session/on_cancel.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace colock::detail {

permit_lease::permit_lease(std::shared_ptr<const semaphore_state> of,
                           const std::vector<std::string>& nodes)
    : strand_object{of->of.core}, of_{std::move(of)}, lease_{*core_, of_->of.options.safety_margin}
{
    for (const auto& each : nodes) {
        nodes_.emplace(each, node{nodes_.size()});
    }
    left_.reserve(nodes.size());
}

void permit_lease::begin()
{
    const auto self = shared_from_this();
    lease_.begin(self);
    core_->add(self);
    update_heartbeat_need();
    core_->schedule_own_watch(*this);
}

permit_lease::node* permit_lease::holding(const std::string& path)
{
    const auto at = nodes_.find(path);
    return !over_ && at != nodes_.end() && !at->second.leaving ? &at->second : nullptr;
}

bool permit_lease::all_left() const noexcept
{
    return std::ranges::all_of(nodes_,
                               [](const auto& each) { return each.second.leaving != nullptr; });
}

// Whether somebody waits for the end of a release.
bool permit_lease::is_awaited() const noexcept
{
    return std::ranges::any_of(
        nodes_, [](const auto& each) { return each.second.leaving && each.second.leaving->op; });
}

// ---- the session

void permit_lease::expired()
{
    const auto self = shared_from_this();
    // They go with the session. A leader that was deposed and does not know it may say that a session has ended which
    // lives on for a while, so this does not confirm a release.
    lose(errc::session_expired);
    for (auto at = nodes_.begin(); at != nodes_.end();) {
        const auto& each = (at++)->second; // which goes with its removal
        if (each.removal != nullptr) {
            core_->abandon(*each.removal, errc::session_expired);
        }
    }
    nodes_.clear();
    end();
}

// The client has answered the removals that wait, and answers those under way.
void permit_lease::closed(const error_code&)
{
    const auto self = shared_from_this();
    lose(errc::client_closed);
    over_ = true;
    update_heartbeat_need();
}

void permit_lease::discarded() noexcept
{
    over_ = true;
    lease_.note_loss(errc::client_closed);
    lease_.discard();
    end_hold(lease_.why());
    nodes_.clear(); // and with it the operations that wait for their end
}

// ---- watching

// The client calls this ten milliseconds after begin(). A permit that is released earlier costs no watch.
void permit_lease::own_watch_due()
{
    for (const auto& [path, each] : nodes_) {
        look(path);
    }
}

void permit_lease::look(const std::string& path)
{
    if (holding(path) == nullptr) {
        return;
    }
    client_->async_watch(
        path, on_strand<watched<get_result>>([this, path](const error_code& ec, auto&& found) {
            auto* const held = holding(path);
            if (held != nullptr && ec == zookeeper_errc::no_node) {
                lose(errc::node_deleted);
            } else if (held != nullptr && !ec) {
                held->changes = std::move(found.changes);
                held->changes.async_wait(on_strand<watch_event>(
                    [this, path](const error_code& failed, const watch_event& event) {
                        if (failed || holding(path) == nullptr) {
                            return;
                        }
                        if (event.type == watch_event_type::deleted) {
                            lose(errc::node_deleted);
                        } else {
                            pace_.after_event(
                                *core_, [self = shared_from_this(), path] { self->look(path); });
                        }
                    }));
            }
        }));
}

// ---- releasing

void permit_lease::leave(std::vector<std::string>&& nodes) noexcept
{
    if (core_->is_inherited()) {
        return;
    }
    {
        const std::lock_guard lock{mutex_};
        std::ranges::move(nodes, std::back_inserter(left_));
    }
    if (!core_->try_dispatch([self = shared_from_this()] { self->catch_up(); })) {
        core_->catch_up_later();
    }
}

void permit_lease::catch_up()
{
    check();
    std::vector<std::string> left;
    {
        const std::lock_guard lock{mutex_};
        std::ranges::move(left_, std::back_inserter(left));
        left_.clear();
    }
    if (!left.empty()) {
        release(left, {});
    }
}

void permit_lease::release(const std::vector<std::string>& nodes, operation_ptr<error_code> op)
{
    const auto self = shared_from_this();
    check();
    const auto why = lease_.lost();
    if (op && (why || over_)) { // what is left goes in the background, or has gone
        std::exchange(op, {}).complete(why);
    }
    if (over_) {
        return;
    }
    const auto of = std::make_shared<departure>(departure{nodes.size(), {}, std::move(op)});
    if (of->op) {
        // The nodes keep it alive. The link must not: the operation owns the link.
        on_cancel(of->op, [this, weak = std::weak_ptr{of}] {
            if (const auto it = weak.lock(); it && it->op) {
                answer(*it, asio::error::operation_aborted);
            }
        });
    }
    if (!why && core_->logs(log_level::debug)) {
        core_->add_line(log_level::debug,
                        "released " + counted_words(nodes.size(), "permit") + " of " + what());
        core_->send_lines();
    }
    const client_core::batch together{*core_};
    for (const auto& path : nodes) {
        auto& each = nodes_.at(path);
        each.leaving = of;
        each.changes = {};
        lease_.end_turn(each.number);
        remove(path, each);
    }
    if (all_left() && !lease_.is_told()) {
        core_->count.locks_released.fetch_add(1, std::memory_order_relaxed);
        end_hold({});
    }
    update_heartbeat_need();
}

// Until a server confirms that it is gone, or the session is over.
void permit_lease::remove(const std::string& path, node& of)
{
    auto own =
        make_request({.op = zk::opcode::remove, .path = path}, on_loss::repeat,
                     [self = shared_from_this(), path, on = core_->connection_id()](zk::reply&& r) {
                         if (r.error == zookeeper_errc::no_node && on != 0 &&
                             on == self->core_->connection_id()) {
                             // It was sent once, so another client deleted the node, and before a watch told of it. The
                             // log hears of it also where nobody waits for the release.
                             self->lose(errc::node_deleted);
                             if (self->lease_.begin_telling()) {
                                 self->lease_.tell_waiters(self->what());
                             }
                         }
                         self->removed(path, r);
                     });
    own->of_lock = true;
    of.removal = own.get();
    core_->submit(std::move(own));
}

void permit_lease::removed(const std::string& path, const zk::reply& r)
{
    const auto of = nodes_.extract(path).mapped().leaving;
    if (r.error && r.error != zookeeper_errc::no_node) {
        of->result = r.error;
        if (r.error.category() == zookeeper_category()) { // else the session ends
            const auto why = what() + ": a node may remain until the session ends: " + r.detail;
            if (of->op) {
                of->op->explain(r.error, why);
            }
            core_->log(log_level::error, why);
        }
    }
    if (--of->left == 0 && of->op) {
        answer(*of, of->result);
    }
    if (nodes_.empty()) {
        end();
    }
}

// The caller of a release.
void permit_lease::answer(departure& of, const error_code& ec)
{
    std::exchange(of.op, {}).complete(ec);
    update_heartbeat_need();
}

void permit_lease::end_hold(const error_code& loss) noexcept
{
    if (const auto h = std::exchange(hold_, {}); h.id != 0) {
        const auto now = boot_clock::now();
        const auto& observed = *of_->of.observed;
        observed.to.end_hold(observed, false, h, now, loss, lease_.remaining(now));
    }
}

void permit_lease::end()
{
    if (!std::exchange(over_, true)) {
        update_heartbeat_need();
        core_->remove(*this);
    }
}

// ---- losing

void permit_lease::wait_lost(operation_ptr<error_code, error_code> op, const std::string& of)
{
    check();
    const auto* const held = holding(of);
    lease_.wait(std::move(op), held != nullptr, held != nullptr ? held->number : 0);
}

void permit_lease::check()
{
    if (!over_ && lease_.lost()) {
        lose(errc::safe_until_passed);
    }
}

// Whether the client shall tell when the bound passes: there are callers who have to be told then.
void permit_lease::update_heartbeat_need()
{
    lease_.ask_for_check(!over_ && !lease_.is_told() && (!all_left() || is_awaited()));
}

void permit_lease::lose(errc why)
{
    lease_.note_loss(why);
    const bool held = !all_left(); // else they were released before
    if (over_ || !(held || is_awaited()) || !lease_.begin_telling()) {
        return;
    }
    const auto self = shared_from_this();
    if (held) {
        core_->count_losses(lease_.why(), 1);
        end_hold(lease_.why());
    }
    for (const auto& [path, each] : nodes_) {
        if (each.leaving && each.leaving->op) { // the release goes on in the background
            answer(*each.leaving, lease_.why());
        }
    }
    update_heartbeat_need();
    lease_.tell_waiters(what());
}

} // namespace colock::detail
