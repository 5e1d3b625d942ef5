#include "session/old_connections.hpp"

#include <algorithm>

namespace colock::protocol::session {

namespace {

// The leader gives up a follower that it does not hear of, after `syncLimit` ticks, five in its sample.
constexpr int sync_limit = 10; // ticks: amply

// No ensemble waits so long for a member that has fallen silent.
constexpr std::chrono::minutes longest{10};

} // namespace

void old_connections::lost(const std::string& where, bool write_lost, instant now)
{
    latest_ = where;
    latest_at_ = now.real;
    may_return_.reset();
    std::erase_if(lost_, [&](const lost_connection& each) {
        return each.where == where || each.passed_on_until <= now.awake;
    });
    if (write_lost) {
        lost_.push_back(
            {where, now.awake + std::min<std::chrono::nanoseconds>(sync_limit * tick_, longest)});
    }
}

void old_connections::lost_unused(const std::string& where, instant now)
{
    latest_ = where;
    latest_at_ = now.real;
    attempted(where, now);
}

void old_connections::attempted(const std::string& where, instant now)
{
    const auto* const writes = passes_on(where, now);
    if (writes) {
        may_return_ = *writes;
    }
}

pass old_connections::begin(const std::vector<address>& all) const
{
    pass found{.size = all.size()};
    for (const auto& each : all) {
        found.untried.push_back(each.text);
    }
    // The server whose connection was lost last is tried last.
    const auto at = std::ranges::find(found.untried, latest_);
    if (at != found.untried.end()) {
        std::rotate(found.untried.begin(), at, at + 1);
    }
    return found;
}

// There are two exceptions, without which a client could stay away from its only server. The only server may be tried
// again, if it is the one of the last connection: a name that stands for one server may come to stand for another one.
// And when the client has been without a connection for a whole time-out and a tick, the session has ended, unless the
// leader was away, too: the leader ends sessions at ticks of its own.
pass old_connections::resume(const std::vector<address>& all, std::chrono::milliseconds timeout,
                             instant now) const
{
    auto found = begin(all);
    const bool over = now.real >= latest_at_ + timeout + tick_;
    const bool is_bound = may_return_ && now.awake < may_return_->passed_on_until;
    const auto& home = is_bound ? may_return_->where : latest_;
    if (over || found.untried == std::vector{home}) {
        return found;
    }
    const auto leave_only = [&](const std::string& where) {
        std::erase_if(found.untried, [&](const std::string& text) { return text != where; });
    };
    std::erase_if(found.untried, [&](const std::string& text) {
        const auto at = std::ranges::find(all, text, &address::text);
        return at->is_unread;
    });
    const auto is_late = [&](const std::string& text) { return passes_on(text, now) != nullptr; };
    // A client whose connections all break again and again has to go on somewhere. The server of the last connection handles
    // that connection's writes before those of the next one, and nothing was done at another server meanwhile.
    if (is_bound) {
        leave_only(home);
    } else if (!std::ranges::all_of(found.untried, is_late)) {
        std::erase_if(found.untried, is_late);
    } else {
        leave_only(latest_);
    }
    return found;
}

// The writes of a lost connection that may be on their way to the leader.
const old_connections::lost_connection* old_connections::passes_on(const std::string& where,
                                                                   instant now) const
{
    const auto at = std::ranges::find(lost_, where, &lost_connection::where);
    return at != lost_.end() && now.awake < at->passed_on_until ? &*at : nullptr;
}

} // namespace colock::protocol::session
