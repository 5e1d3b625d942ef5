#include "watches.hpp"

#include <algorithm>
#include <utility>

namespace colock::simulated {

namespace {

std::string directory_of(const std::string& path)
{
    const auto slash = path.rfind('/');
    return slash == 0 ? "/" : path.substr(0, slash);
}

constexpr std::size_t index(watches::kind k)
{
    return static_cast<std::size_t>(k);
}

} // namespace

void watches::add(kind k, const std::string& path, watcher& w)
{
    if (w.watched_[index(k)].insert(path).second) {
        table_of(k)[path].push_back(&w);
        ++size_;
        bytes_ += path.size();
    }
}

bool watches::remove(kind k, const std::string& path, watcher& w)
{
    if (w.watched_[index(k)].erase(path) == 0) {
        return false;
    }
    const auto at = table_of(k).find(path);
    std::erase(at->second, &w);
    if (at->second.empty()) {
        table_of(k).erase(at);
    }
    --size_;
    bytes_ -= path.size();
    return true;
}

bool watches::contains(kind k, const std::string& path, const watcher& w)
{
    return w.watched_[index(k)].contains(path);
}

void watches::drop(watcher& w)
{
    for (const auto k : kinds) {
        while (!w.watched_[index(k)].empty()) {
            const std::string path = *w.watched_[index(k)].begin();
            remove(k, path, w);
        }
    }
}

watches::watchers watches::take(kind k, const std::string& path)
{
    auto& from = table_of(k);
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
    bytes_ -= taken.size() * path.size();
    return taken;
}

void watches::add_others(watchers& to, const watchers& others)
{
    for (auto* w : others) {
        if (std::ranges::find(to, w) == to.end()) {
            to.push_back(w);
        }
    }
}

void watches::add_lasting(watchers& to, const std::string& path, colock::watch_event_type type)
{
    if (const auto at = table_of(kind::lasting).find(path); at != table_of(kind::lasting).end()) {
        add_others(to, at->second);
    }
    const auto& all = table_of(kind::recursive);
    if (all.empty() || type == colock::watch_event_type::children_changed) {
        return;
    }
    for (auto above = path;; above = directory_of(above)) {
        if (const auto at = all.find(above); at != all.end()) {
            add_others(to, at->second);
        }
        if (above == "/") {
            return;
        }
    }
}

void watches::trigger(kind k, const std::string& path, colock::watch_event_type type,
                      const colock::access_control_list& acl)
{
    auto told = take(k, path);
    add_lasting(told, path, type);
    for (auto* w : told) {
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
    // A connection that waits for several of these is told once.
    auto told = take(kind::data, path);
    add_others(told, take(kind::children, path));
    add_lasting(told, path, colock::watch_event_type::deleted);
    for (auto* w : told) {
        w->notify(colock::watch_event_type::deleted, path, own);
    }
    trigger(kind::children, directory_of(path), colock::watch_event_type::children_changed, parent);
}

void watches::changed(const std::string& path, const colock::access_control_list& own)
{
    trigger(kind::data, path, colock::watch_event_type::changed, own);
}

} // namespace colock::simulated
