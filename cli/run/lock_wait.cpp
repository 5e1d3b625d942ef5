#include "run/lock_wait.hpp"

#include <colock/log.hpp>

#include "connect/awaiting.hpp"
#include "program/failure.hpp"
#include "run/boot_time.hpp"
#include "run/own_ancestor.hpp"
#include "run/tell_risk.hpp"
#include "run/work_switch.hpp"

#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <variant>

namespace colock::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

std::string lock_wait::why_not() const
{
    return why_.empty() ? printable(paths_of(what_.lock)) + " was not granted" : why_;
}

void lock_wait::explain_silence()
{
    if (what_.limit && *what_.limit <= 0ms) {
        throw failure_of(errc::no_answer);
    }
    why_ = "the servers have not answered in time";
}

asio::awaitable<bool> lock_wait::until_switched_on(steady::time_point began)
{
    if (what_.candidate.enabled_by.empty()) {
        co_return true;
    }
    const auto over = what_.limit ? began + *what_.limit : steady::time_point::max();
    // A try, too, waits for an answer.
    const auto first =
        co_await first_of(look_at_switch(zk_, what_.candidate.enabled_by),
                          pause_until(what_.limit ? std::max(over, began + 2s) : over));
    const auto* const found = std::get_if<switch_position>(&first);
    if (!found) {
        explain_silence();
        co_return false;
    }
    if (found->on) {
        co_return true;
    }
    why_ = found->why + ": the command is not started until it is on";
    if (steady::now() >= over) {
        co_return false;
    }
    say_.note("paused", why_, importance::news);
    const auto ended = co_await first_of(wait_until_on(zk_, what_.candidate.enabled_by),
                                         pause_until(over), tell_outages(zk_, say_));
    co_return ended.index() == 0;
}

asio::awaitable<std::optional<acquired>> lock_wait::for_lock(steady::time_point began)
{
    auto limit = what_.limit;
    if (limit && *limit > 0ms) { // without what the switch has taken
        const auto taken =
            std::chrono::duration_cast<std::chrono::milliseconds>(steady::now() - began);
        limit = std::max(*limit - taken, 1ms);
    }
    say_.waits(limit && *limit <= 0ms);
    auto first = co_await first_of(acquire(zk_, what_.lock, limit), until_off(), show_wait(),
                                   tell_new_places(), tell_outages(zk_, say_),
                                   watch_own_ancestor(zk_, what_.lock, outer_));
    if (first.index() == 1) {
        co_return std::nullopt;
    }
    auto& a = std::get<acquired>(first);
    if (a.held &&
        !what_.candidate.enabled_by.empty()) { // it may have been switched off just before
        const auto look =
            co_await first_of(look_at_switch(zk_, what_.candidate.enabled_by), a.held.wait_lost());
        const auto* const found = std::get_if<switch_position>(&look);
        if (found && !found->on) {
            co_await first_of(a.held.release(), pause(what_.release_limit));
            co_return std::nullopt;
        }
    }
    if (a.error == errc::invalid_option && a.why.find("safety_margin") != a.why.npos) {
        throw failure{usage, std::string{failure_of(a.error, a.why).what()} +
                                 "; the margin is --grace and half a second, unless told"};
    }
    const bool is_over = limit && *limit > 0ms && steady::now() - began >= *what_.limit;
    if (is_over && a.error == condition::unavailable) {
        a.error = {}; // the limit has run out in an outage
    }
    if (a.error && a.error != condition::lock_lost) {
        throw failure_of(a.error, a.why);
    }
    why_ = std::move(a.why);
    if (a.held) {
        say_.granted(a.held.node(), a.held.token());
    }
    co_return std::move(a);
}

asio::awaitable<void> lock_wait::until_off()
{
    if (what_.candidate.enabled_by.empty()) {
        co_await wait_for_ever();
    }
    co_await wait_until_off(zk_, what_.candidate.enabled_by);
}

// Never returns.
asio::awaitable<void> lock_wait::show_wait()
{
    for (;;) {
        const auto pause_before = say_.next_look();
        co_await pause(pause_before.value_or(std::chrono::hours{1}));
        if (pause_before && zk_.state() == connection_state::connected) {
            try {
                // The look ends with the connection: when a server answers again, others may hold the lock.
                co_await first_of(
                    show_queue(),
                    zk_.async_wait_state_change(connection_state::connected, asio::use_awaitable));
            } catch (const boost::system::system_error&) {
                // The acquisition itself tells what is wrong.
            }
        }
    }
}

// Of several locks, the first one that somebody else has.
asio::awaitable<void> lock_wait::show_queue()
{
    const auto own = zk_.session_id();
    for (const auto& one : each_of(what_.lock)) {
        const auto queue = co_await view(zk_, one);
        if (!queue.holders().empty() && queue.holders().front().session != own) {
            say_.waiting(queue, own);
            co_return;
        }
    }
}

// Never returns. A place in the queue is one of a session.
asio::awaitable<void> lock_wait::tell_new_places()
{
    auto seen = zk_.state();
    auto since = boot_time();
    for (auto session = zk_.session_id();;) {
        seen = co_await zk_.async_wait_state_change(seen, asio::use_awaitable);
        const auto now = zk_.session_id();
        if (seen == connection_state::connected && std::exchange(session, now) != now) {
            record_.lost_place(boot_time() - std::exchange(since, boot_time()));
            say_.note_of_wait("expired",
                              "the session has ended, and its place in the queue with it; "
                              "this one waits on, with a new place");
        }
    }
}

asio::awaitable<void> lock_wait::name_leader()
{
    if (std::holds_alternative<as_candidate>(what_.lock.kind)) {
        try {
            const auto first = co_await first_of(view(zk_, what_.lock), pause(1s));
            const auto* const queue = std::get_if<queue_view>(&first);
            if (queue && !queue->holders().empty() && !queue->holders().front().unread) {
                why_ = printable(what_.lock.path) + " is led by " +
                       words_on_holder(queue->holders().front());
            }
        } catch (const boost::system::system_error&) { // nothing is known then
        }
    }
}

} // namespace colock::cli
