#include "zk/watch_registry.hpp"

#include <algorithm>
#include <utility>

namespace colock::zk {

void watch_registry::announce(const std::string& path, watch_kind kind)
{
    ++of(kind)[path].announced;
}

void watch_registry::subscribe(const std::string& path, watch_kind kind, subscriber* wanted)
{
    const auto at = of(kind).find(path);
    if (at == of(kind).end()) {
        return; // cleared meanwhile
    }
    --at->second.announced;
    at->second.set = true;
    if (wanted != nullptr) {
        at->second.subscribers.push_back(wanted);
    }
    settle(at, kind);
}

void watch_registry::withdraw(const std::string& path, watch_kind kind)
{
    const auto at = of(kind).find(path);
    if (at == of(kind).end()) {
        return; // cleared meanwhile
    }
    --at->second.announced;
    settle(at, kind);
}

void watch_registry::not_forgotten(const std::string& path, watch_kind kind)
{
    if (const auto at = of(kind).find(path); at != of(kind).end()) {
        at->second.set = true; // freed when nobody wants it any more
    } else {
        forget_(path, kind);
    }
}

void watch_registry::unsubscribe(const std::string& path, watch_kind kind, subscriber& unwanted)
{
    std::ranges::replace(firing_, &unwanted, nullptr);
    const auto at = of(kind).find(path);
    if (at != of(kind).end()) {
        std::erase(at->second.subscribers, &unwanted);
        settle(at, kind);
    }
}

void watch_registry::settle(table::iterator at, watch_kind kind)
{
    const auto& e = at->second;
    // A read that is under way sets the watch again, after whatever would be sent now.
    if (e.announced != 0 || !e.subscribers.empty()) {
        return;
    }
    const bool set = e.set;
    const auto gone = of(kind).extract(at);
    if (set) {
        forget_(gone.key(), kind);
    }
}

void watch_registry::take(watch_kind kind, const std::string& path)
{
    const auto at = of(kind).find(path);
    if (at == of(kind).end()) {
        return;
    }
    auto& e = at->second;
    firing_.insert(firing_.end(), e.subscribers.begin(), e.subscribers.end());
    e.subscribers.clear();
    e.set = false; // one-shot
    settle(at, kind);
}

void watch_registry::fired(const watch_event& event)
{
    if (event.type != watch_event_type::children_changed) {
        take(watch_kind::data, event.path);
    }
    if (event.type == watch_event_type::children_changed ||
        event.type == watch_event_type::deleted) {
        take(watch_kind::children, event.path);
    }
    // By index: telling one may unsubscribe another.
    for (std::size_t i = 0; i != firing_.size(); ++i) {
        if (auto* told = std::exchange(firing_[i], nullptr)) {
            told->watch_fired(event);
        }
    }
    firing_.clear();
}

bool watch_registry::is_set(const std::string& path, watch_kind kind) const
{
    return tables_[kind == watch_kind::data ? 0 : 1].contains(path);
}

void watch_registry::clear()
{
    for (auto& t : tables_) {
        t.clear();
    }
    std::ranges::fill(firing_, nullptr);
}

} // namespace colock::zk
