#include "simulated_handle.hpp"

#include "../process.hpp"
#include "translation.hpp"

#include <algorithm>
#include <utility>

namespace colock::simulated {

namespace zk = colock::zk;
using colock::error_code;
using colock::zookeeper_errc;
using std::chrono::milliseconds;

namespace {

// What a server answers that has ended the session a moment ago.
constexpr int unknown_session = -12;

// The C client counts whole milliseconds.
milliseconds since(simulated_handle::clock::time_point then,
                   simulated_handle::clock::time_point now) noexcept
{
    return std::chrono::duration_cast<milliseconds>(now - then);
}

// What the C client makes of an answer: without success there is nothing but the error.
zk::reply shown(zk::opcode op, zk::reply&& r, const chroot& root)
{
    if (r.error.value() == unknown_session) {
        r.error = zookeeper_errc::session_expired;
    }
    if (op == zk::opcode::multi) {
        if (colock::outcome_unknown(r.error)) {
            r.results.clear();
        }
        for (auto& result : r.results) {
            if (r.error) {
                result = {result.error, {}, {}};
            }
            root.strip(result.path);
        }
        return {.error = r.error, .results = std::move(r.results)};
    }
    if (r.error) {
        return {.error = r.error};
    }
    if (op == zk::opcode::create) {
        root.strip(r.text);
    }
    if (op == zk::opcode::remove || op == zk::opcode::sync || op == zk::opcode::set_acl ||
        op == zk::opcode::forget_watches) {
        return {};
    }
    return std::move(r);
}

} // namespace

void simulated_handle::open(target to, zk::watch_receiver& watches, events told)
{
    address_ = std::move(to.address);
    root_.assign(to.prefix);
    timeout_ = to.session_timeout;
    session_ = to.session;
    credentials_ = std::move(to.credentials);
    watches_ = &watches;
    told_ = std::move(told);
}

void simulated_handle::connect()
{
    auto& here = process::current();
    stream_ = here.net().connect(here.on(), address_,
                                 {.connected = told_.connected,
                                  .received =
                                      [this](message&& m) {
                                          arrived_.push(std::move(m));
                                          told_.readable();
                                      },
                                  .ended =
                                      [this] {
                                          end_arrived_ = true;
                                          told_.readable();
                                      }});
    last_received_ = last_sent_ = clock::now();
}

void simulated_handle::offer()
{
    last_sent_ = clock::now();
    stream_->send(connect_request{to_servers(session_), timeout_});
}

void simulated_handle::break_off(status s, const error_code& why, std::string fault)
{
    state_ = s;
    fault_ = std::move(fault);
    while (!outstanding_.empty()) {
        outstanding_.pop().to->answered({.error = why});
    }
}

bool simulated_handle::process_read()
{
    if (!arrived_.empty()) {
        last_received_ = clock::now();
        understand(arrived_.pop());
        return is_readable();
    }
    if (end_arrived_) {
        break_off(status::broken, zookeeper_errc::connection_loss, "");
    }
    return false;
}

void simulated_handle::understand(message&& m)
{
    if (auto* answer = std::get_if<reply>(&m)) {
        if (outstanding_.empty() || outstanding_.front().number != answer->number) {
            break_off(status::broken, zookeeper_errc::runtime_inconsistency,
                      "the server sent the reply to another request than the first outstanding "
                      "one");
            return;
        }
        unanswered_since_ = clock::now();
        const auto to = outstanding_.pop();
        to.to->answered(shown(to.op, to_library(std::move(answer->body)), root_));
    } else if (auto* fired = std::get_if<event>(&m)) {
        root_.strip(fired->what.path);
        watches_->watch_fired(std::move(fired->what));
    } else if (const auto* accepted = std::get_if<connect_reply>(&m)) {
        if (accepted->session.id == 0 && session_.id != 0) {
            break_off(status::expired, zookeeper_errc::session_expired, "");
            return;
        }
        // As zk::frame_guard has it.
        if (session_.id != 0 && session_.id != accepted->session.id) {
            break_off(status::broken, zookeeper_errc::connection_loss,
                      "the server sent the session under another number");
            return;
        }
        session_ = to_library(accepted->session);
        timeout_ = accepted->timeout;
        state_ = status::connected;
        for (auto& c : credentials_) {
            last_sent_ = clock::now();
            stream_->send(to_servers(std::move(c)));
        }
    } else if (const auto* checked = std::get_if<auth_reply>(&m); checked && checked->error) {
        break_off(status::auth_failed, zookeeper_errc::auth_failed, "");
    }
}

simulated_handle::clock::duration simulated_handle::next_interest()
{
    if (!stream_) {
        connect();
    }
    const auto now = clock::now();
    const auto receive = timeout_ * 2 / 3 - since(last_received_, now);
    if (receive <= milliseconds{0}) {
        break_off(status::broken, zookeeper_errc::operation_timeout, "the server is silent");
        return {};
    }
    auto send = timeout_ / 3;
    if (state_ == status::connected && send <= since(last_sent_, now)) {
        if (outstanding_.empty()) {
            stream_->send(ping_request{});
            last_sent_ = now;
        }
    } else if (state_ == status::connected) {
        send -= since(last_sent_, now);
    }
    clock::duration next = std::min(receive, send);
    if (!outstanding_.empty() && state_ == status::connected) {
        const auto patience = timeout_ * 2 / 3;
        auto left = unanswered_since_ + patience - now;
        if (left <= clock::duration{}) {
            if (left <= -patience || (arrived_.empty() && !end_arrived_)) {
                break_off(status::broken, zookeeper_errc::connection_loss,
                          "the server has answered no request for " +
                              std::to_string(patience.count()) + " ms");
                return {};
            }
            left = {};
        }
        next = std::min(next, left);
    }
    return next;
}

error_code simulated_handle::send(const zk::call& c, zk::receiver& to)
{
    if (state_ == status::expired || state_ == status::auth_failed) {
        return zookeeper_errc::invalid_state;
    }
    if (outstanding_.empty()) {
        unanswered_since_ = clock::now();
    }
    outstanding_.push({++numbers_, c.op, &to});
    held_back_.push_back(request{numbers_, to_servers(root_.whole(c))});
    last_sent_ = clock::now();
    return {};
}

void simulated_handle::authenticate(const colock::credential& c)
{
    held_back_.push_back(to_servers(c));
    last_sent_ = clock::now();
}

void simulated_handle::flush()
{
    if (stream_) {
        for (auto& m : held_back_) {
            stream_->send(std::move(m));
        }
        held_back_.clear();
    }
}

void simulated_handle::end_session()
{
    flush();
    stream_->send(close_request{});
}

bool simulated_handle::read_confirmation()
{
    bool confirmed = false;
    while (!arrived_.empty()) {
        confirmed = std::holds_alternative<close_reply>(arrived_.pop()) || confirmed;
    }
    return confirmed;
}

std::shared_ptr<stream> simulated_handle::leave()
{
    if (stream_) {
        stream_->handle({});
        flush();
    }
    return std::exchange(stream_, nullptr);
}

} // namespace colock::simulated
