// What has to be true in each state of the walks of hand_off_world.hpp.
#pragma once

#include "hand_off_clients.hpp"

namespace colock::model::hand_off {

inline bool world::others_queue(std::size_t than) const
{
    return std::ranges::any_of(server_.nodes, [&](const node& n) { return n.client != than; });
}

// Nothing is under way.
inline bool world::is_quiet() const
{
    for (std::size_t i = 0; i != clients_.size(); ++i) {
        const auto& s = server_.sessions[i];
        if (!clients_[i].strand.empty() || !s.connected || !s.alive || !s.requests.empty() ||
            !s.messages.empty()) {
            return false;
        }
    }
    return true;
}

inline void world::check()
{
    for (std::size_t i = 0; i != clients_.size(); ++i) {
        auto& c = clients_[i];
        const auto& all = lab_->cohorts[c.cohort];
        const auto* const holder = c.find(c.holder);
        require(all.waiting() == c.waiting, "contract: who waits");
        require(all.holds() == (holder != nullptr), "contract: whether it holds");
        require(all.users() == (holder != nullptr ? holder->users : 0U), "contract: its users");
        const bool readers = i == 0 && lab_->rules.readers;
        unsigned users = 0;
        for (const auto& d : c.drivers) {
            if (d.users == 0 || is_lost(c, d)) {
                continue;
            }
            users += d.users;
            require(readers || users <= 1, "G1, G5: another user of this client has the lock, and "
                                           "the one before was not told of the loss");
            // So no other client can be in the same situation.
            const auto at = server_.find(d.held);
            require(d.held == c.robbed || (at != server_.nodes.size() && !server_.blocked(at)),
                    "G1: a holder's node is not the first");
        }
    }
    if (is_quiet()) {
        check_quiet();
    }
}

// Then everybody has to be where he belongs without waiting for anything else to happen.
inline void world::check_quiet()
{
    for (std::size_t i = 0; i != clients_.size(); ++i) {
        auto& c = clients_[i];
        const auto* const holder = c.find(c.holder);
        require((c.contender == 0) == !lab_->cohorts[c.cohort].wants_contender(),
                "G4: the contender is not what the cohort wants");
        require(c.contender == 0 || c.waiting != 0, "G3: a contender for nobody");
        require(c.waiting == 0 || c.contender != 0 || (holder != nullptr && holder->users != 0),
                "G4: one waits, and nothing will wake it");
        for (const auto& d : c.drivers) {
            const bool in_use = d.users != 0 || d.number == c.contender;
            require(in_use || d.number == c.holder, "G3: a node that nobody wants");
            require(in_use || c.timer, "G3: a node is kept for ever");
            require(d.cancelled == 0, "G4: a user who has given up is not told");
        }
        if (holder == nullptr || holder->held == c.robbed || !others_queue(i)) {
            continue;
        }
        require(c.known != remote_contention::none,
                "G2: another client waits, and this one believes to be alone");
        require(holder->users != 0,
                "G2: a node is kept that nobody uses, and another client waits");
    }
}

// A text that is equal for equal worlds.
inline void world::write(std::string& to) const
{
    const auto byte = [&](auto value) { to += static_cast<char>(value); };
    const auto word = [&](auto value) {
        for (unsigned shift = 0; shift < 8 * sizeof value; shift += 8) {
            to += static_cast<char>(value >> shift);
        }
    };
    byte(left_.cancels | left_.breaks << 2 | left_.expiries << 4 | left_.removals << 6);
    byte(server_.counter);
    byte(server_.creations);
    byte(server_.directory | unsigned{server_.first_number != 0} << 1);
    byte(server_.incarnation);
    byte(server_.nodes.size());
    for (const auto& n : server_.nodes) {
        word(n.name);
        byte(n.czxid);
    }
    for (std::size_t i = 0; i != clients_.size(); ++i) {
        const auto& c = clients_[i];
        word(c.cohort);
        byte(c.to_come | c.to_try << 4);
        byte(c.holder | c.contender << 4);
        byte(c.waiting | c.last << 4);
        byte(c.look | c.lingering << 1 | c.timer << 2 | static_cast<int>(c.known) << 3);
        word(c.robbed);
        byte(c.directory);
        byte(c.timer_at);
        byte(c.now);
        byte(c.handed_off);
        byte(c.strand.size());
        for (const auto& w : c.strand) {
            byte(w.cancelled | w.asks << 1 | w.cancelled_with << 2);
            byte(w.leaving.size());
            for (const auto each : w.leaving) {
                byte(each);
            }
        }
        byte(c.drivers.size());
        for (const auto& d : c.drivers) {
            byte(d.number | d.users << 4);
            word(d.contender);
            byte(d.trying | d.granted << 1 | d.told << 2 | d.left << 4 | d.was_idle << 5 |
                 d.gone << 6);
            byte(d.cancelled);
            word(d.held);
        }
        byte(c.watches.size());
        for (const auto& w : c.watches) {
            word(w.name);
            byte(w.announced | w.set << 7);
            byte(w.subscribers.size());
            for (const auto each : w.subscribers) {
                byte(each);
            }
        }
        const auto& s = server_.sessions[i];
        byte(s.id);
        byte(s.alive | s.connected << 1);
        byte(s.requests.size());
        for (const auto& r : s.requests) {
            byte(static_cast<unsigned>(r.op) | unsigned{r.wanted} << 7);
            byte(r.turn);
            byte(r.directory);
            word(r.name);
        }
        byte(s.messages.size());
        for (const auto& m : s.messages) {
            byte(static_cast<unsigned>(m.op) | unsigned{m.wanted} << 7 | unsigned{m.is_event} << 6 |
                 unsigned{m.deleted} << 5 | unsigned{m.replaceable} << 4);
            byte(m.code);
            byte(m.turn);
            byte(m.directory);
            byte(m.owner);
            byte(m.czxid);
            word(m.name);
            byte(m.children.size());
            for (const auto child : m.children) {
                word(child);
            }
        }
        byte(s.watches.size());
        for (const auto w : s.watches) {
            word(w);
        }
    }
}

} // namespace colock::model::hand_off
