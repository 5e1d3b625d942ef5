#include "session_tracker.hpp"

namespace colock::simulated {

session_tracker::session_tracker(std::chrono::milliseconds tick, std::chrono::milliseconds now)
    : tick_{tick}, next_{round_up(now)}
{
}

std::chrono::milliseconds session_tracker::round_up(std::chrono::milliseconds t) const noexcept
{
    return (t / tick_ + 1) * tick_;
}

void session_tracker::update(std::int64_t session, entry& e, std::chrono::milliseconds expires)
{
    if (e.expires == expires) {
        return;
    }
    if (const auto old = buckets_.find(e.expires); old != buckets_.end()) {
        old->second.erase(session);
    }
    e.expires = expires;
    buckets_[expires].insert(session);
}

void session_tracker::track(std::int64_t session, std::chrono::milliseconds timeout,
                            std::chrono::milliseconds now)
{
    update(session, sessions_[session], round_up(now + timeout));
}

bool session_tracker::touch(std::int64_t session, std::chrono::milliseconds timeout,
                            std::chrono::milliseconds now)
{
    const auto at = sessions_.find(session);
    if (at == sessions_.end() || at->second.closing) {
        return false;
    }
    update(session, at->second, round_up(now + timeout));
    return true;
}

void session_tracker::set_owner(std::int64_t session, owner who)
{
    if (const auto at = sessions_.find(session); at != sessions_.end() && !at->second.closing) {
        at->second.who = who;
        at->second.owned = true;
    }
}

status session_tracker::check(std::int64_t session, owner who)
{
    const auto at = sessions_.find(session);
    if (at == sessions_.end() || at->second.closing) {
        return colock::zookeeper_errc::session_expired;
    }
    auto& e = at->second;
    if (!e.owned) {
        e.who = who;
        e.owned = true;
    }
    return e.who == who ? status{} : colock::zookeeper_errc::session_moved;
}

void session_tracker::set_closing(std::int64_t session)
{
    if (const auto at = sessions_.find(session); at != sessions_.end()) {
        at->second.closing = true;
    }
}

void session_tracker::remove(std::int64_t session)
{
    if (const auto at = sessions_.find(session); at != sessions_.end()) {
        if (const auto bucket = buckets_.find(at->second.expires); bucket != buckets_.end()) {
            bucket->second.erase(session);
        }
        sessions_.erase(at);
    }
}

std::vector<std::int64_t> session_tracker::expire(std::chrono::milliseconds now)
{
    std::vector<std::int64_t> over;
    for (; next_ <= now; next_ += tick_) {
        if (const auto bucket = buckets_.find(next_); bucket != buckets_.end()) {
            for (const auto session : bucket->second) {
                sessions_[session].closing = true;
                over.push_back(session);
            }
            buckets_.erase(bucket);
        }
    }
    return over;
}

} // namespace colock::simulated
