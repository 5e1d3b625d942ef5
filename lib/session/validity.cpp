#include "session/validity.hpp"

#include <algorithm>
#include <utility>

namespace colock::protocol {

void validity::connected(time_point began, duration timeout)
{
    if (timeout < timeout_) {
        // The leader counts by the new time-out from now on, also what it heard of before.
        safe_until_ = std::min(safe_until_, began + timeout - rate_margin(timeout));
    }
    timeout_ = timeout;
    // Sessions are made, and taken over, by the leader: it has heard of this one without a ping, and nothing has to
    // settle.
    contacts_ = {{began, began - settling()}};
}

void validity::disconnected()
{
    contacts_.clear();
}

void validity::ended()
{
    contacts_.clear();
    safe_until_ = proved_ = {};
    timeout_ = {};
}

void validity::answered(time_point sent, time_point now)
{
    if (contacts_.empty() || sent - contacts_.back().sent < spacing(tick_)) {
        return;
    }
    contacts_.push_back({sent, now});
    // One that is settled for every write whose answer may still come supersedes those before it.
    const auto settled = now - settling() - tick_ / 2;
    while (contacts_.size() > 1 && contacts_[1].answered <= settled) {
        contacts_.pop_front();
    }
}

bool validity::acknowledged(time_point sent, time_point now)
{
    if (now - sent > tick_ / 2) {
        // Something has stalled until now, and may have held up the leader's pings as well. The leader may hear only
        // from now on of what was answered meanwhile.
        for (auto& c : contacts_) {
            if (c.answered >= c.sent) { // else it is the leader's own
                c.answered = std::max(c.answered, now);
            }
        }
        return false;
    }
    const auto heard_of = std::find_if(contacts_.rbegin(), contacts_.rend(), [&](const contact& c) {
        return c.answered <= sent - settling();
    });
    if (heard_of == contacts_.rend()) {
        return false;
    }
    proved_ = std::max(proved_, heard_of->sent);
    const auto bound = proved_ + timeout_ - rate_margin(timeout_);
    return std::exchange(safe_until_, std::max(safe_until_, bound)) < bound;
}

validity::duration validity::attainable(duration timeout, duration tick) noexcept
{
    // The contact is a period old when it begins to settle, and the next proof comes a period later.
    return timeout - rate_margin(timeout) - 2 * contact_period(timeout) - tick * 3 / 4 - tick / 2;
}

std::chrono::milliseconds validity::shortest_timeout(duration margin, duration tick) noexcept
{
    using std::chrono::milliseconds;
    auto shortest = std::chrono::floor<milliseconds>((margin + tick * 5 / 4) / 197 * 300);
    while (attainable(shortest, tick) <= margin) {
        ++shortest;
    }
    return shortest;
}

validity::time_point validity::provable_at() const noexcept
{
    const auto news =
        std::ranges::find_if(contacts_, [&](const contact& c) { return c.sent > proved_; });
    return news == contacts_.end() ? time_point::max() : news->answered + settling();
}

} // namespace colock::protocol
