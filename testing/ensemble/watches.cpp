#include "watches.hpp"

#include <algorithm>
#include <utility>

namespace world {

namespace {

std::string directory_of(const std::string& path)
{
    const auto slash = path.rfind('/');
    return slash == 0 ? "/" : path.substr(0, slash);
}

constexpr std::size_t index(watches::kind k)
{
    return k == watches::kind::data ? 0 : 1;
}

} // namespace

void watches::add(kind k, const std::string& path, watcher& w)
{
    if (w.watched_[index(k)].insert(path).second) {
        tables_[index(k)][path].push_back(&w);
        ++size_;
    }
}

bool watches::remove(kind k, const std::string& path, watcher& w)
{
    if (w.watched_[index(k)].erase(path) == 0) {
        return false;
    }
    const auto at = tables_[index(k)].find(path);
    std::erase(at->second, &w);
    if (at->second.empty()) {
        tables_[index(k)].erase(at);
    }
    --size_;
    return true;
}

void watches::drop(watcher& w)
{
    for (const auto k : {kind::data, kind::children}) {
        while (!w.watched_[index(k)].empty()) {
            const std::string path = *w.watched_[index(k)].begin();
            remove(k, path, w);
        }
    }
}

watches::watchers watches::take(kind k, const std::string& path)
{
    auto& from = tables_[index(k)];
    const auto at = from.find(path);
    if (at == from.end()) {
        return {};
    }
    auto taken = std::move(at->second);
    from.erase(at);
    for (auto* w : taken) {
        w->watched_[index(k)].erase(path);
    }
    size_ -= taken.size();
    return taken;
}

void watches::trigger(kind k, const std::string& path, colock::watch_event_type type,
                      const colock::access_control_list& acl)
{
    for (auto* w : take(k, path)) {
        w->notify(type, path, acl);
    }
}

void watches::created(const std::string& path, const colock::access_control_list& own,
                      const colock::access_control_list& parent)
{
    trigger(kind::data, path, colock::watch_event_type::created, own);
    trigger(kind::children, directory_of(path), colock::watch_event_type::children_changed, parent);
}

void watches::removed(const std::string& path, const colock::access_control_list& own,
                      const colock::access_control_list& parent)
{
    const auto told = take(kind::data, path);
    for (auto* w : told) {
        w->notify(colock::watch_event_type::deleted, path, own);
    }
    // A connection that waits for both is told once.
    for (auto* w : take(kind::children, path)) {
        if (std::ranges::find(told, w) == told.end()) {
            w->notify(colock::watch_event_type::deleted, path, own);
        }
    }
    trigger(kind::children, directory_of(path), colock::watch_event_type::children_changed, parent);
}

void watches::changed(const std::string& path, const colock::access_control_list& own)
{
    trigger(kind::data, path, colock::watch_event_type::changed, own);
}

} // namespace world
