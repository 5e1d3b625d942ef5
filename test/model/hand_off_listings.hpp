// How the contenders of a client share listings in hand_off_world.hpp: as lib/lock/driver/directory_lister does.
#pragma once

#include "hand_off_world.hpp"

#include <utility>

namespace colock::model::hand_off {

// One at a time, and all who ask meanwhile share the next one.
inline void world::ask_for_listing(driver& d)
{
    if (!server_.sessions[i_].connected) {
        send(d, operation::list, {}); // which answers
        return;
    }
    auto& c = clients_[i_];
    c.asking.push_back(d.number);
    if (c.listing.empty()) {
        list();
    }
}

inline void world::list()
{
    auto& c = clients_[i_];
    c.listing = std::exchange(c.asking, {});
    server_.sessions[i_].requests.push_back({.op = operation::list});
}

inline void world::tell_listing(const message& m, answer code)
{
    auto& c = clients_[i_];
    auto told = std::exchange(c.listing, {});
    if (code == answer::unknown) {
        told.insert(told.end(), c.asking.begin(), c.asking.end());
        c.asking.clear();
    } else if (!c.asking.empty()) {
        list();
    }
    for (const auto number : told) {
        if (auto* const d = c.find(number); d != nullptr && !d->gone) {
            if (const auto known = run(*d, input_of(m, code))) {
                met(*d, *known);
            }
        }
    }
}

} // namespace colock::model::hand_off
