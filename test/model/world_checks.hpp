// What has to be true in each state of a walk, and at its end.
#pragma once

#include "world.hpp"

namespace colock::model {

inline void world::check_herd() const
{
    // Others may be told whose word to forget the watch, or the news that their own node is
    // gone, is still on its way. They stand in no queue behind this node, and do not grow with
    // it.
    std::size_t count = 0;
    for (const auto i : server_.woken) {
        const auto& s = server_.sessions[i];
        const auto refers = [&](const auto& m) {
            return m.name == server_.removed && m.subscribed;
        };
        const auto answers = [&](const message& m) {
            return !m.is_event && m.op == operation::watch && m.name == server_.removed && m.wanted;
        };
        const bool wants = std::ranges::any_of(clients_[i].watches, refers) ||
                           std::ranges::any_of(s.messages, answers);
        count += wants && server_.has_node(i) ? 1u : 0u;
    }
    require(count <= std::max<std::size_t>(2, server_.freed + 1),
            "G7: a deletion wakes more than two, or those it frees and one");
}

// The places of the grants only grow; without foreign intervention also in the order of their
// reports.
inline void world::check_order(text_id name, std::uint8_t czxid, laboratory& lab)
{
    const auto& rules = lab.rules();
    const auto& text = lab.text()[name];
    const auto place = czxid; // in the order of the numbers, and of the directories
    const bool shared = protocol::is_shared(lab.names(), text);
    if (rules.expiries == 0 && rules.removals == 0 && rules.reaps == 0) {
        require(place > (shared ? last_writer_ : last_granted_), "G2: granted out of order");
    }
    last_granted_ = std::max(last_granted_, place);
    if (!shared) {
        last_writer_ = place;
    }
}

inline void world::check(laboratory& lab)
{
    for (std::size_t i = 0; i != clients_.size(); ++i) {
        auto& c = clients_[i];
        const auto& s = server_.sessions[i];
        const auto& contender = lab.contenders(i)[c.contender];
        require(contender.holds() == (c.granted && !c.left && !c.lost), "contract: holds()");
        require(contender.is_gone() == c.gone, "contract: is_gone()");
        require(server_.nodes_of(i) <= 1, "G3: a contender has two nodes");
        require(!c.gone || !server_.has_node(i), "G3: a contender is gone, and its node is left");
        if (contender.holds() && s.alive && c.robbed != c.held &&
            !(c.stepping_down && c.robbed != 0)) {
            // So nobody who conflicts with it can be in the same situation.
            const auto at = c.stepping_down ? server_.node_of(i) : server_.find(c.held);
            require(at != server_.nodes.size() && !server_.blocked(at),
                    "G1: a holder's node is not the first");
        }
        if (c.gone) {
            c.held = c.led = c.robbed = 0; // of no further interest
            c.robbed_holding = false;
            server_.sessions[i].led = 0;
        }
    }
    if (is_quiet()) {
        check_quiet(lab);
    }
}

// Nothing is under way.
inline bool world::is_quiet() const
{
    for (std::size_t i = 0; i != clients_.size(); ++i) {
        const auto& s = server_.sessions[i];
        if (!clients_[i].gone && (!s.connected || !s.alive)) {
            return false;
        }
        if (s.moved || s.behind ||
            (s.alive && ((!s.requests.empty() && !server_.stands_by(i)) || !s.messages.empty() ||
                         !s.late.empty()))) {
            return false;
        }
    }
    return true;
}

// Then everybody has to be where he belongs without waiting for anything else to happen.
inline void world::check_quiet(laboratory& lab) const
{
    for (std::size_t i = 0; i != clients_.size(); ++i) {
        const auto& c = clients_[i];
        const auto& s = server_.sessions[i];
        const auto& contender = lab.contenders(i)[c.contender];
        if (!s.alive) {
            continue;
        }
        if (!c.joined || c.gone) {
            require(s.watches.empty(), "G3: a watch is left");
            require(c.watches.empty(), "G3: an entry of the watch table is left");
            continue;
        }
        require(c.watches.size() == s.watches.size(), "G3: watches of client and server differ");
        require(s.watches.size() <= (contender.holds() ? 1u : 3u), "G3: too many watches");
        require(!c.left, "G3: a contender does not end");
        const auto at = server_.find(lab.contenders(i).name(c.contender));
        const bool first = at != server_.nodes.size() && !server_.blocked(at);
        if (c.proving && !c.granted && (first || at == server_.nodes.size())) {
            continue; // looks again when the proof has come
        }
        if (server_.stands_by(i)) { // for those who have places
            require(at == server_.nodes.size() && s.watches.empty(),
                    "G3: one who stands by has a node or a watch");
            continue;
        }
        if (at == server_.nodes.size()) {
            require(contender.holds() && !lab.rules().own_watch,
                    contender.holds() ? "G5: a holder is not told that its node is gone"
                                      : "G4: a contender waits without a node");
            continue;
        }
        require(first == contender.holds(),
                first ? "G4: one whom nobody blocks is not granted" : "G1: a holder is not first");
    }
}

} // namespace colock::model
