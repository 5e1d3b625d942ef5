// What clients ask for that is about watches.
#include "front.hpp"

#include <algorithm>

namespace colock::simulated {

using colock::zookeeper_errc;

namespace {

std::vector<watches::kind> kinds_of(watch_kind k)
{
    switch (k) {
    case watch_kind::data: return {watches::kind::data};
    case watch_kind::children: return {watches::kind::children};
    case watch_kind::lasting: return {watches::kind::lasting};
    case watch_kind::recursive: return {watches::kind::recursive};
    case watch_kind::any: break;
    }
    return {watches::kinds.begin(), watches::kinds.end()};
}

} // namespace

status front::about_watches(const operation& call, connection& c)
{
    const auto kinds = kinds_of(call.kind);
    switch (call.op) {
    case opcode::forget_watches:
        // All of them: each one is looked at.
        return std::ranges::count_if(kinds,
                                     [&](auto k) { return watches_.remove(k, call.path, c); }) != 0
                   ? status{}
                   : zookeeper_errc::no_watcher;
    case opcode::look_for_watches:
        return std::ranges::any_of(kinds,
                                   [&](auto k) { return watches::contains(k, call.path, c); })
                   ? status{}
                   : zookeeper_errc::no_watcher;
    case opcode::add_watch: watches_.add(kinds.front(), call.path, c); return {};
    default: restore(*call.former, c); return {};
    }
}

// An event at once for what has happened meanwhile. As in the servers, everybody hears it, whoever may read the node.
void front::restore(const former_watches& all, connection& c)
{
    static const colock::access_control_list everybody{};
    const auto& nodes = disk_.applied;
    for (const auto& path : all.data) {
        if (const auto* n = nodes.find(path); n == nullptr) {
            c.notify(colock::watch_event_type::deleted, path, everybody);
        } else if (n->mzxid > all.seen) {
            c.notify(colock::watch_event_type::changed, path, everybody);
        } else {
            watches_.add(watches::kind::data, path, c);
        }
    }
    for (const auto& path : all.absence) {
        if (const auto* n = nodes.find(path); n != nullptr) {
            c.notify(colock::watch_event_type::created, path, everybody);
        } else {
            watches_.add(watches::kind::data, path, c);
        }
    }
    for (const auto& path : all.children) {
        if (const auto* n = nodes.find(path); n == nullptr) {
            c.notify(colock::watch_event_type::deleted, path, everybody);
        } else if (n->pzxid > all.seen) {
            c.notify(colock::watch_event_type::children_changed, path, everybody);
        } else {
            watches_.add(watches::kind::children, path, c);
        }
    }
    for (const auto& path : all.lasting) {
        watches_.add(watches::kind::lasting, path, c);
    }
    for (const auto& path : all.recursive) {
        watches_.add(watches::kind::recursive, path, c);
    }
}

} // namespace colock::simulated
