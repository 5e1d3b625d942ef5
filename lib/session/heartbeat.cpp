#include "session/heartbeat.hpp"

#include <algorithm>

namespace colock::protocol {

void heartbeat::connected(time_point began, duration timeout)
{
    validity_.connected(began, timeout);
    period_ = std::max(validity::contact_period(timeout), validity::spacing(tick_));
    connected_ = true;
    reading_ = writing_ = false;
    not_before_ = time_point::min();
    checked_ = time_point::min(); // a shorter time-out moves the bound back
}

void heartbeat::disconnected()
{
    validity_.disconnected();
    connected_ = reading_ = writing_ = false;
}

void heartbeat::ended()
{
    validity_.ended();
    last_proof_ = {};
    checked_ = time_point::min();
}

bool heartbeat::answered(time_point sent, time_point now, bool write)
{
    if (!connected_) {
        return false;
    }
    validity_.answered(sent, now);
    if (!write || !validity_.acknowledged(sent, now)) {
        return false;
    }
    last_proof_ = sent;
    return std::exchange(awaited_, false);
}

void heartbeat::read_answered(bool refused, time_point now)
{
    reading_ = false;
    note_answer(refused, now);
}

void heartbeat::write_answered(bool refused, time_point now)
{
    writing_ = false;
    note_answer(refused, now);
}

void heartbeat::note_answer(bool refused, time_point now)
{
    if (refused) {
        not_before_ = now + pace_.refused(now);
    }
}

void heartbeat::add_holder(duration margin)
{
    const auto at =
        std::ranges::lower_bound(holders_, margin, {}, &std::pair<duration, std::size_t>::first);
    if (at != holders_.end() && at->first == margin) {
        ++at->second;
    } else {
        holders_.insert(at, {margin, 1});
    }
}

void heartbeat::remove_holder(duration margin)
{
    const auto at = std::ranges::find(holders_, margin, &std::pair<duration, std::size_t>::first);
    if (--at->second == 0) {
        holders_.erase(at);
    }
}

heartbeat::orders heartbeat::due(time_point now)
{
    orders o;
    o.check = overdue(now);
    if (o.check) {
        checked_ = now;
    }
    if (now >= read_due()) {
        o.read = reading_ = true;
    }
    if (now >= write_due()) {
        o.write = writing_ = true;
    }
    return o;
}

heartbeat::time_point heartbeat::next() const noexcept
{
    return std::min({read_due(), write_due(), check_due()});
}

heartbeat::time_point heartbeat::read_due() const noexcept
{
    if (!connected_ || reading_) {
        return time_point::max();
    }
    const auto due = validity_.last_contact() + (awaited_ ? std::min(period_, tick_ / 4) : period_);
    return std::max(due, not_before_);
}

heartbeat::time_point heartbeat::write_due() const noexcept
{
    if (!connected_ || writing_ || (!awaited_ && in_line_ == 0 && holders_.empty())) {
        return time_point::max();
    }
    const auto provable = std::max(validity_.provable_at(), not_before_);
    return awaited_ ? provable : std::max(provable, last_proof_ + period_);
}

heartbeat::time_point heartbeat::check_due() const noexcept
{
    // The longest margin is due first.
    const auto due = [&](const auto& holder) { return safe_until() - holder.first; };
    const auto next = std::find_if(holders_.rbegin(), holders_.rend(),
                                   [&](const auto& holder) { return due(holder) > checked_; });
    return next == holders_.rend() ? time_point::max() : due(*next);
}

} // namespace colock::protocol
