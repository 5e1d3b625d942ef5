// Requests: sent, kept for the next connection, answered. And the watches that they leave.
#include "core.hpp"
#include "protocol/access/missing_permission.hpp"
#include "protocol/names/path.hpp"
#include "protocol/names/shown.hpp"
#include "zk/frame_guard.hpp"
#include "zk/request_size.hpp"

#include <algorithm>
#include <utility>

namespace colock::detail {

namespace {

using std::chrono::milliseconds;

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
    return {errc::invalid_path, "path \"" + protocol::shown(path, 200) + "\" " + what};
}

// The C client aborts the program at what would be found here in a transaction.
fault content_fault_of(const zk::call& c, bool has_chroot)
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
        if (creates && op.create.parents) {
            return {errc::invalid_option,
                    "path \"" + op.path + "\": a transaction cannot create missing parents"};
        }
    }
    return {};
}

// The step of a transaction that failed. The steps before it have no error, and those behind it a general one.
std::size_t failed_step(const zk::call& c, const zk::reply& r)
{
    std::size_t i = 0;
    while (i < r.results.size() && i < c.ops.size() && !r.results[i].error) {
        ++i;
    }
    return i;
}

// What an error of the servers is about.
std::string subject_of(const zk::call& c, const zk::reply& r)
{
    const auto i = failed_step(c, r);
    return "path " + (i < c.ops.size() ? c.ops[i].path : c.path);
}

std::optional<protocol::deed> deed_of(zk::opcode op) noexcept
{
    using protocol::deed;
    switch (op) {
    case zk::opcode::create: return deed::create;
    case zk::opcode::remove: return deed::remove;
    case zk::opcode::exists: return deed::exists;
    case zk::opcode::get: return deed::get;
    case zk::opcode::set: return deed::set;
    case zk::opcode::children: return deed::children;
    case zk::opcode::get_acl: return deed::get_acl;
    case zk::opcode::set_acl: return deed::set_acl;
    case zk::opcode::sync:
    case zk::opcode::multi:
    case zk::opcode::forget_watches: break;
    }
    return {};
}

protocol::deed deed_of(transaction_op::kind step) noexcept
{
    using protocol::deed;
    switch (step) {
    case transaction_op::kind::create: return deed::create;
    case transaction_op::kind::set: return deed::set;
    case transaction_op::kind::remove: return deed::remove;
    case transaction_op::kind::check: break;
    }
    return deed::check;
}

// The error in words. A refusal names the permission that is missing, and the node.
std::string error_words(const zk::call& c, const zk::reply& r)
{
    if (r.error == zookeeper_errc::no_auth) {
        if (const auto i = failed_step(c, r); i < c.ops.size()) {
            return protocol::missing_permission_words(deed_of(c.ops[i].type), c.ops[i].path);
        }
        if (const auto what = deed_of(c.op)) {
            return protocol::missing_permission_words(*what, c.path);
        }
    }
    return r.error.message();
}

// A list with too many names for the C client: frame_guard has cut it off.
bool is_cut_off(const request& r, const zk::reply& reply)
{
    return reply.error == zookeeper_errc::marshalling_error && r.call.op == zk::opcode::children;
}

fault fault_of(const request& r, std::size_t chroot, std::size_t most)
{
    const auto& c = r.call;
    auto found = r.path_is_valid ? fault{} : content_fault_of(c, chroot != 0);
    if (const auto size = zk::request_size(c, chroot); !found.error && size > most) {
        found = {errc::request_too_large, subject_of(c, {}) + ": the request has " +
                                              std::to_string(size) + " bytes, and the limit is " +
                                              std::to_string(most)};
    }
    return found;
}

} // namespace

void request::answered(zk::reply&& r) noexcept
{
    core_->answered(*this, std::move(r));
}

error_code client_core::unavailable() const noexcept
{
    if (is_closing()) {
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
    std::string why;
    const auto chroot = options_.chroot.size() > 1 ? options_.chroot.size() : 0;
    if (auto f = fault_of(*r, chroot, options_.max_request_size); f.error) {
        why = std::move(f.detail);
        refused = f.error;
    } else if (refused && r->policy != on_loss::fail) {
        why = subject_of(r->call, {}) + ": " + refused.message();
    }
    if (!why.empty()) {
        note_error(why);
    }
    if (!refused && r->policy == on_loss::fail && !is_connected()) {
        refused = zookeeper_errc::connection_loss;
    }
    const bool nothing_to_do = r->call.op == zk::opcode::multi && r->call.ops.empty();
    if (refused ||
        nothing_to_do) { // an empty transaction would make the C client abort the program
        r->done({.error = refused, .detail = std::move(why)});
    } else if (is_connected()) {
        send_in_turn(std::move(r));
    } else {
        ++count.waiting;
        link(waiting_, std::move(r));
    }
}

// No write, and nothing that follows one, is sent while the barrier is not answered.
void client_core::send_in_turn(request_ptr r)
{
    if (writable_ || (behind_barrier_.empty() && !r->call.is_write())) {
        send(std::move(r));
    } else {
        ++count.waiting;
        link(behind_barrier_, std::move(r));
    }
}

void client_core::begin_to_write()
{
    const batch together{*this};
    writable_ = true;
    while (writable_ && !behind_barrier_.empty()) {
        --count.waiting;
        send(unlink(behind_barrier_.front()));
    }
}

// The connection is gone. What has waited for its barrier waits for the next connection.
void client_core::end_turns()
{
    writable_ = false;
    for (auto at = behind_barrier_.end(); at != behind_barrier_.begin();) {
        if (auto& r = *--at; r.policy != on_loss::fail) {
            at = behind_barrier_.erase(at);
            r.list_ = &waiting_;
            waiting_.push_front(r);
        }
    }
    while (!behind_barrier_.empty()) {
        --count.waiting;
        unlink(behind_barrier_.front())->done({.error = zookeeper_errc::connection_loss});
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
            auto why = subject_of(back->call, {}) + ": " + ec.message();
            note_error(why);
            back->done({.error = ec, .detail = std::move(why)});
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
    if (reconnect_.is_distrusted()) {
        reply = {.error = zookeeper_errc::connection_loss};
    }
    if (credentials_.has_on_trial() && reply.error == zookeeper_errc::auth_failed) {
        reply.error = zookeeper_errc::connection_loss; // only those are refused: see broken()
    }
    const bool loss = is_loss(reply.error);
    if (reply.error) {
        take_note_of_error(r, reply, loss);
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
    const bool again =
        r.policy == on_loss::repeat && (loss || reply.error == zookeeper_errc::throttled_op);
    if (r.abandoned_) {
        // done() was called before.
    } else if (again && !is_closing()) {
        if (loss || !is_connected()) {
            ++count.waiting;
            link(lost_, std::move(own));
        } else {
            repeat(std::move(own));
        }
    } else {
        if (again) {
            reply.error = errc::client_closed;
        }
        if (reply.error) {
            put_into_words(r, reply);
        }
        r.done(std::move(reply));
    }
    if (std::exchange(proof_has_come_, false)) {
        notify([](session_listener& l) { l.proved(); });
    }
    report_quiet();
}

void client_core::take_note_of_error(const request& r, zk::reply& reply, bool loss)
{
    lost_write_ |= loss && r.call.is_write();
    if ((reply.error == zookeeper_errc::session_expired ||
         reply.error == zookeeper_errc::session_moved) &&
        is_connected()) {
        // A server may say so in answer to one request, and leave the connection as it is. What it says to
        // the next connection counts.
        break_later();
    }
    if (is_cut_off(r, reply)) {
        reply.detail = "path " + r.call.path + ": it has more than " +
                       std::to_string(zk::frame_guard::most_names) +
                       " children, too many for one list; remove some, or spread them over "
                       "several directories";
        note_error(reply.detail);
        log(log_level::error, reply.detail);
    }
}

// What the request's owner is told of its error.
void client_core::put_into_words(const request& r, zk::reply& reply)
{
    if (reply.error == zookeeper_errc::closing ||
        reply.error == zookeeper_errc::operation_timeout ||
        reply.error == zookeeper_errc::runtime_inconsistency) {
        // However the C client came to know: the handle of the broken connection was closed, the
        // server has been silent for too long, what it sent makes no sense.
        reply.error = zookeeper_errc::connection_loss;
    }
    const bool expected = r.call.op == zk::opcode::exists && reply.error == zookeeper_errc::no_node;
    if (r.policy == on_loss::fail) {
        if (reply.error == zookeeper_errc::no_auth) {
            reply.detail = error_words(r.call, reply); // a lock says what it is about
        }
    } else if (!expected && !is_cut_off(r, reply)) {
        reply.detail = subject_of(r.call, reply) + ": " + error_words(r.call, reply);
        note_error(reply.detail);
    }
}

void client_core::repeat(request_ptr r)
{
    if (is_closing() || !connection_) {
        r->done({.error = is_closing() ? error_code{errc::client_closed}
                                       : error_code{zookeeper_errc::connection_loss}});
        return;
    }
    const bool alone = resting_.empty(); // the others' pause is this one's, too
    ++count.waiting;
    link(resting_, std::move(r));
    if (!alone) {
        return;
    }
    const auto pause = repetitions_.repeat(clock::now().time_since_epoch());
    if (pause == pause.zero()) {
        send_resting();
        return;
    }
    rest_timer_->expires_after(pause);
    rest_timer_->async_wait(
        [weak = weak_from_this(), use = ++rest_timer_use_](const error_code& ec) {
            if (const auto self = weak.lock(); self && !ec && use == self->rest_timer_use_) {
                self->send_resting();
            }
        });
}

// Ends the pause.
request_list client_core::take_resting()
{
    if (!resting_.empty()) {
        rest_timer_->cancel();
        ++rest_timer_use_;
    }
    request_list all;
    all.swap(resting_);
    count.waiting -= all.size();
    return all;
}

void client_core::send_resting()
{
    const batch together{*this};
    auto all = take_resting();
    while (!all.empty()) {
        request_ptr r{&all.front()};
        all.pop_front();
        send(std::move(r));
    }
}

// The connection is gone.
void client_core::end_rest()
{
    auto all = take_resting();
    while (!all.empty()) {
        request_ptr r{&all.front()};
        all.pop_front();
        if (r->policy == on_loss::repeat && !is_closing()) {
            ++count.waiting;
            link(lost_, std::move(r));
        } else {
            r->done({.error = zookeeper_errc::connection_loss});
        }
    }
}

void client_core::abandon(request& r, const error_code& why)
{
    if (is_waiting(r)) {
        --count.waiting;
        const auto own = unlink(r);
        if (resting_.empty()) {
            rest_timer_->cancel();
            ++rest_timer_use_;
        }
        own->done({.error = why});
    } else if (!std::exchange(r.abandoned_, true)) {
        r.done({.error = why});
    }
}

void client_core::flush_waiting()
{
    request_list all;
    all.swap(lost_);
    all.splice(all.end(), waiting_);
    count.waiting -= all.size();
    while (!all.empty()) {
        request_ptr r{&all.front()};
        all.pop_front();
        send_in_turn(std::move(r));
    }
}

void client_core::fail_waiting(const error_code& ec)
{
    auto all = take_resting();
    all.splice(all.end(), lost_);
    all.splice(all.end(), behind_barrier_);
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

} // namespace colock::detail
