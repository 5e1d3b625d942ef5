#include "session/request_queue.hpp"

#include "report/boot_clock.hpp"
#include "session/faults.hpp"
#include "session/request_words.hpp"
#include "session/room_of_request.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace colock::detail {

namespace {

using place = request::place;

std::chrono::nanoseconds awake_now()
{
    return std::chrono::steady_clock::now().time_since_epoch();
}

// The connection was broken already when the request was about to be sent.
bool is_unsent(const error_code& ec) noexcept
{
    return ec == zookeeper_errc::connection_loss || ec == zookeeper_errc::invalid_state;
}

} // namespace

request_queue::request_queue(client_session* session, client_basics& basics,
                             zk::watch_registry& watches)
    : session_{session}, basics_{basics}, watches_{watches}, lists_{basics.count},
      nodes_{basics.options.max_session_size, basics.chroot_size()}, rest_timer_{basics.strand}
{
}

// ---- requests

error_code request_queue::unavailable() const noexcept
{
    return closing_                                          ? error_code{errc::client_closed}
           : basics_.session.get() == connection_state::idle ? error_code{errc::not_connected}
                                                             : error_code{};
}

void request_queue::submit(request_ptr r)
{
    error_code refused = unavailable();
    std::string why;
    if (auto f = fault_of(*r, basics_.chroot_size(), basics_.options.max_request_size); f.error) {
        why = std::move(f.detail);
        refused = f.error;
    } else if (refused && r->policy != on_loss::fail) {
        why = subject_of(r->call, {}) + ": " + refused.message();
    }
    if (!why.empty()) {
        basics_.log.note_error(why);
    }
    const bool connected = basics_.session.is_connected();
    if (!refused && r->policy == on_loss::fail && !connected) {
        refused = zookeeper_errc::connection_loss;
    }
    const bool nothing_to_do =
        r->call.op == zk::opcode::multi && r->call.ops.empty() && r->room_kept == 0;
    if (refused ||
        nothing_to_do) { // an empty transaction would make the C client abort the program
        r->done({.error = refused, .detail = std::move(why)});
    } else if (connected && !holding_) {
        send_in_turn(std::move(r));
    } else {
        lists_.put(place::waiting, std::move(r));
    }
}

void request_queue::send_in_turn(request_ptr r)
{
    const bool in_turn = !lists_.has(place::held) || (writable_ && is_release(*r));
    const bool may_be_sent = in_turn && (writable_ || !r->call.is_write());
    if (may_be_sent && !has_to_ask(*r)) {
        send_if_room(std::move(r));
    } else {
        lists_.put(place::held, std::move(r));
        send_turns();
    }
}

void request_queue::send_turns()
{
    const batch together{*this};
    auto& held = lists_.at(place::held);
    while (writable_ && !holding_ && basics_.session.is_connected() && !held.empty()) {
        if (has_to_ask(held.front())) {
            ask_about_nodes();
            if (nodes_.is_asking()) {
                break; // the last answer goes on
            }
        }
        send_if_room(lists_.take(held.front()));
    }
}

void request_queue::send(request_ptr r)
{
    r->session_ = session_;
    r->sent_at_ = boot_clock::now();
    r->claimed_ = room_for(*r, nodes_);
    nodes_.claim(r->claimed_);
    if (r->call.watch) {
        watches_.announce(r->call.path, r->call.kind);
    }
    auto& sent = *r;
    lists_.put(place::sent, std::move(r));
    if (const auto ec = connection_->send(sent.call, sent); ec) {
        auto back = lists_.take(sent);
        nodes_.give_back(back->claimed_);
        if (back->call.watch) {
            watches_.withdraw(back->call.path, back->call.kind);
        }
        if (!is_unsent(ec)) {
            auto why = subject_of(back->call, {}) + ": " + ec.message();
            basics_.log.note_error(why);
            back->done({.error = ec, .detail = std::move(why)});
        } else if (back->policy == on_loss::fail) {
            back->done({.error = zookeeper_errc::connection_loss});
        } else {
            lists_.put(place::waiting, std::move(back));
        }
    } else {
        basics_.count.requests.fetch_add(1, std::memory_order_relaxed);
    }
    const batch together{*this};
    unflushed_ = true;
}

void request_queue::end_batch()
{
    if (--batches_ == 0 && std::exchange(unflushed_, false) && connection_) {
        const auto connection = connection_; // flush() may drop ours
        connection->flush();
    }
}

void request_queue::repeat(request_ptr r)
{
    if (closing_ || !connection_) {
        r->done({.error = closing_ ? error_code{errc::client_closed}
                                   : error_code{zookeeper_errc::connection_loss}});
        return;
    }
    const bool alone = !lists_.has(place::resting); // the others' pause is this one's, too
    lists_.put(place::resting, std::move(r));
    if (!alone) {
        return;
    }
    const auto pause = repetitions_.refused(awake_now());
    if (pause == pause.zero()) {
        send_resting();
    } else {
        rest_timer_.start(pause, [this] { send_resting(); });
    }
}

void request_queue::send_resting()
{
    if (holding_) {
        return; // they go to the next connection
    }
    const batch together{*this};
    rest_timer_.stop();
    lists_.take_each({place::resting}, [this](request_ptr r) { send(std::move(r)); });
}

void request_queue::abandon(request& r, const error_code& why)
{
    if (is_waiting(r)) {
        const auto own = lists_.take(r);
        if (!lists_.has(place::resting)) {
            rest_timer_.stop();
        }
        own->done({.error = why});
    } else if (!std::exchange(r.abandoned_, true)) {
        r.done({.error = why});
    }
}

void request_queue::abandon_sent(const error_code& why)
{
    std::vector<request*> sent;
    for (auto& r : lists_.at(place::sent)) {
        if (!r.abandoned_ && r.policy != on_loss::fail) {
            sent.push_back(&r);
        }
    }
    for (auto* r : sent) {
        abandon(*r, why);
    }
}

void request_queue::fail_waiting(const error_code& ec)
{
    rest_timer_.stop();
    lists_.take_each({place::resting, place::lost, place::held, place::waiting},
                     [&ec](const request_ptr& r) { r->done({.error = ec}); });
}

void request_queue::discard() noexcept
{
    lists_.take_each({place::waiting, place::held, place::lost, place::resting},
                     [](const request_ptr&) {});
    rest_timer_.discard();
}

// ---- the connection

void request_queue::connected()
{
    lists_.take_each({place::lost, place::waiting},
                     [this](request_ptr r) { send_in_turn(std::move(r)); });
}

void request_queue::begin_to_write()
{
    writable_ = true;
    nodes_.connected();
    send_turns();
}

bool request_queue::authenticate(const credential& c)
{
    if (!connection_->authenticate(c)) {
        return false;
    }
    unflushed_ = true;
    return true;
}

void request_queue::disconnected()
{
    writable_ = holding_ = false;
    std::vector<request_ptr> failed;
    lists_.take_each({place::held, place::waiting}, [&](request_ptr r) {
        r->policy == on_loss::fail ? failed.push_back(std::move(r))
                                   : lists_.put(place::waiting, std::move(r));
    });
    for (const auto& r : failed) {
        r->done({.error = zookeeper_errc::connection_loss});
    }
    rest_timer_.stop();
    lists_.take_each({place::resting}, [this](request_ptr r) {
        if (r->policy == on_loss::repeat && !closing_) {
            lists_.put(place::lost, std::move(r));
        } else {
            r->done({.error = zookeeper_errc::connection_loss});
        }
    });
}

bool request_queue::owes_write()
{
    return std::ranges::any_of(lists_.at(place::sent),
                               [](const request& r) { return r.call.is_write(); });
}

// ---- answers

void request_queue::settle(request& r, zk::reply& reply)
{
    nodes_.give_back(std::exchange(r.claimed_, 0));
    settle_room(r, reply, nodes_);
    if (is_cut_off(r, reply)) {
        reply.detail = too_many_names_words(r);
        basics_.log.note_error(reply.detail);
        basics_.log.write(log_level::error, reply.detail);
    }
}

void request_queue::finish(request_ptr own, zk::reply&& reply)
{
    auto& r = *own;
    if (r.call.watch) {
        const bool set = !reply.error || (r.call.op == zk::opcode::exists &&
                                          reply.error == zookeeper_errc::no_node);
        if (set) {
            watches_.subscribe(r.call.path, r.call.kind, r.abandoned_ ? nullptr : r.subscriber);
        } else {
            watches_.withdraw(r.call.path, r.call.kind);
        }
    }
    const bool loss = is_loss(reply.error);
    const bool again =
        r.policy == on_loss::repeat && (loss || reply.error == zookeeper_errc::throttled_op);
    if (r.abandoned_) {
        // done() was called before.
    } else if (again && !closing_) {
        if (loss || !basics_.session.is_connected()) {
            lists_.put(place::lost, std::move(own));
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
}

// What the request's owner hears of its error.
void request_queue::put_into_words(const request& r, zk::reply& reply)
{
    if (reply.error == zookeeper_errc::closing ||
        reply.error == zookeeper_errc::operation_timeout ||
        reply.error == zookeeper_errc::runtime_inconsistency) {
        // However the C client came to know: the handle of the broken connection was closed, the
        // server has been silent for too long, what it sent makes no sense.
        reply.error = zookeeper_errc::connection_loss;
    }
    const bool expected = reply.error == zookeeper_errc::no_node &&
                          (r.call.op == zk::opcode::exists || is_release(r));
    if (r.policy == on_loss::fail) {
        if (reply.error == zookeeper_errc::no_auth) {
            reply.detail = error_words(r.call, reply); // a lock says what it is about
        }
    } else if (!expected && !is_cut_off(r, reply)) {
        reply.detail = subject_of(r.call, reply) + ": " + error_words(r.call, reply);
        basics_.log.note_error(reply.detail);
    }
}

// ---- room: no request that creates ephemeral nodes is sent unless they fit

// Before it is refused, the client asks about nodes that others may have deleted.
bool request_queue::has_to_ask(const request& r) const
{
    return !nodes_.has_room_for(room_for(r, nodes_)) &&
           (nodes_.is_asking() || nodes_.may_ask(awake_now()));
}

void request_queue::send_if_room(request_ptr r)
{
    const auto bytes = room_for(*r, nodes_);
    if (!nodes_.has_room_for(bytes)) {
        auto why = room_words(nodes_) + ", which leaves no room for " + std::to_string(bytes) +
                   "; hold fewer locks at once, use another client as well, or raise the limit "
                   "together with jute.maxbuffer of all servers";
        if (r->policy != on_loss::fail) { // else it is a lock's, which says what it is about
            const auto& c = r->call;
            why = "path " + (c.ops.empty() ? c.path : c.ops.front().path) + ": " + why;
            basics_.log.note_error(why);
        }
        r->done({.error = errc::session_full, .detail = std::move(why)});
    } else if (r->call.op == zk::opcode::multi && r->call.ops.empty()) {
        nodes_.claim(bytes);
        r->done({});
    } else {
        send(std::move(r));
    }
}

void request_queue::ask_about_nodes()
{
    if (nodes_.is_asking()) {
        return;
    }
    basics_.log.write(log_level::warning, room_words(nodes_) +
                                              ", and more are to come: the client asks "
                                              "whether all of them are still there");
    nodes_.ask(awake_now(), [this](const std::string& path) {
        return watches_.is_set(path, zk::watch_kind::data);
    });
    ask_next();
}

void request_queue::ask_next()
{
    if (std::exchange(asks_, true)) {
        return; // a question that could not be sent is answered at once
    }
    const batch together{*this};
    while (basics_.session.is_connected() && !closing_) {
        auto q = nodes_.next_question();
        if (!q) {
            break;
        }
        send(question(*std::move(q)));
    }
    asks_ = false;
}

request_ptr request_queue::question(protocol::ephemerals::question q)
{
    zk::call call{.op = q.lists ? zk::opcode::children : zk::opcode::exists, .path = q.path};
    return make_request(std::move(call), on_loss::fail, [this, q = std::move(q)](zk::reply&& r) {
        if (is_loss(r.error)) {
            nodes_.unanswered(); // the connection goes; what waits, waits for another one
        } else if (r.error == zookeeper_errc::throttled_op) {
            repeat(question(q));
        } else {
            const bool own = r.stat.ephemeral_owner == basics_.session.id();
            nodes_.answered(q, r.error, own, r.names);
            ask_next();
            send_turns();
        }
    });
}

} // namespace colock::detail
