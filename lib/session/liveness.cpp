#include "session/liveness.hpp"

#include "report/boot_clock.hpp"
#include "session/faults.hpp"
#include "zk/entropy.hpp"

#include <algorithm>
#include <utility>

namespace colock::detail {

namespace {

// Of a transaction: it was decided by the leader, and came to nothing.
bool is_ordered_failure(const error_code& ec) noexcept
{
    return ec == zookeeper_errc::no_node || ec == zookeeper_errc::no_auth;
}

} // namespace

liveness::liveness(client_basics& basics, request_queue& requests, listeners& listening)
    : basics_{basics}, requests_{requests}, listeners_{listening},
      heartbeat_{std::clamp(basics.options.tick, std::chrono::milliseconds{0}, longest_time),
                 zk::random_seed()},
      timer_{*basics.strand}
{
}

void liveness::count_next_in_line(bool one_more)
{
    heartbeat_.count_next_in_line(one_more);
    wait();
}

void liveness::add_holder(std::chrono::nanoseconds margin)
{
    heartbeat_.add_holder(margin);
    wait();
}

void liveness::remove_holder(std::chrono::nanoseconds margin)
{
    heartbeat_.remove_holder(margin);
}

void liveness::await_proof()
{
    heartbeat_.await_proof();
    wait();
}

void liveness::connected(std::chrono::nanoseconds began, std::chrono::milliseconds timeout)
{
    heartbeat_.connected(began, timeout);
    publish_bound(); // earlier than before when the time-out has shrunk
    wait();
}

void liveness::ended()
{
    heartbeat_.ended();
    publish_bound();
}

void liveness::answered(const request& r, const zk::reply& reply)
{
    const auto now = boot_clock::now();
    // A transaction whose condition fails has its place in ZooKeeper's order as well.
    const bool multi = r.call.op == zk::opcode::multi;
    const bool write =
        reply.error ? multi && is_ordered_failure(reply.error) : multi || r.call.is_write();
    if (write && heartbeat_.overdue(now)) {
        // Lost is final: holders that are past their bound must know before it moves.
        const request_queue::batch together{requests_};
        listeners_.tell([](session_listener& l) { l.check(); });
    }
    proof_has_come_ |= heartbeat_.answered(r.sent_at_, now, write);
    publish_bound();
    wait();
}

void liveness::tell_proof()
{
    if (std::exchange(proof_has_come_, false)) {
        const request_queue::batch together{requests_};
        listeners_.tell([](session_listener& l) { l.proved(); });
    }
}

void liveness::publish_bound()
{
    bound_.store(heartbeat_.safe_until().count(), std::memory_order_release);
}

void liveness::wait()
{
    const auto next = heartbeat_.next();
    if (next >= set_for_ || requests_.is_closing()) {
        return; // the timer fires early, and is set anew
    }
    set_for_ = next;
    timer_->expires_at(next);
    timer_->async_wait([client = basics_.strand.client(), this](const error_code& ec) {
        if (const auto alive = client.lock(); alive && !ec) {
            set_for_ = std::chrono::nanoseconds::max();
            beat();
        }
    });
}

void liveness::stop()
{
    timer_->cancel();
    set_for_ = std::chrono::nanoseconds::max();
}

void liveness::beat()
{
    if (requests_.is_closing()) {
        return;
    }
    const request_queue::batch together{requests_};
    const auto orders = heartbeat_.due(boot_clock::now());
    if (orders.check) {
        listeners_.tell([](session_listener& l) { l.check(); });
    }
    if (catches_up_.exchange(false)) {
        listeners_.tell([](session_listener& l) { l.catch_up(); });
    }
    const auto sent = boot_clock::now();
    if (orders.read) {
        send(make_request({.op = zk::opcode::exists, .path = "/"}, on_loss::fail,
                          [this, sent](zk::reply&& r) {
                              heartbeat_.read_answered(is_loss(r.error), boot_clock::now());
                              report(r, false, sent);
                              wait();
                          }));
    }
    if (orders.write) {
        send(make_request({.op = zk::opcode::multi, .ops = {check_op("/")}}, on_loss::fail,
                          [this, sent](zk::reply&& r) {
                              heartbeat_.write_answered(r.error && !is_ordered_failure(r.error),
                                                        boot_clock::now());
                              report(r, true, sent);
                              wait();
                          }));
    }
    wait();
}

void liveness::send(request_ptr r)
{
    const std::uint64_t before = basics_.count.requests;
    requests_.send(std::move(r));
    // None when the connection was broken already.
    basics_.count.heartbeats += basics_.count.requests - before;
}

// Not within the answer to a request, which must not run the user's code.
void liveness::report(const zk::reply& r, bool proves, std::chrono::nanoseconds sent) const
{
    auto* const telemetry = basics_.telemetry.get();
    if (telemetry == nullptr || is_loss(r.error)) {
        return;
    }
    const auto now = boot_clock::now();
    basics_.strand.post([client = basics_.strand.client().lock(), telemetry,
                         a = heartbeat_answer{.proves = proves,
                                              .round_trip = now - sent,
                                              .margin = heartbeat_.safe_until() - now}] {
        telemetry->answered(a);
    });
}

} // namespace colock::detail
