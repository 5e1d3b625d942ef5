// What the clients of a walk do: they feed their contenders, and carry out their commands.
#pragma once

#include "world.hpp"

namespace colock::model {

inline void world::run(std::size_t i, laboratory& lab, input in)
{
    auto& contenders = lab.contenders(i);
    auto& c = clients_[i];
    in.safe = c.safe;
    const auto& t = contenders.apply(c.contender, in);
    c.contender = t.next;
    const bool was_granted = c.granted;
    for (const auto& o : t.outputs) {
        obey(i, o, lab);
    }
    if (c.granted && !was_granted && in.kind == input_kind::proved) {
        // Some time has passed since a list or an event said that it was first.
        require(std::ranges::any_of(
                    c.watches,
                    [&](const client::watch_entry& w) { return w.name == c.held && w.subscribed; }),
                "G1: granted on a proof, and the own node may be gone");
    }
    if (c.granted && !was_granted && lab.rules().own_watch) {
        run(i, lab, {.kind = input_kind::watch_own_node});
    }
}

inline void world::obey(std::size_t i, const output& o, laboratory& lab)
{
    using kind = protocol::command::kind;
    auto& c = clients_[i];
    require(!c.gone, "contract: a command after gone");
    switch (o.type) {
    case kind::make_directory: send(i, {operation::make_directory}); break;
    case kind::create: send(i, {operation::create, o.name}); break;
    case kind::list_and_watch:
    case kind::watch_newcomers: throw violation{"contract: nobody wants to know"};
    case kind::list: send(i, {operation::list}); break;
    case kind::list_again:
        require(lab.rules().first_number != 0, "G4: a contender makes way for nothing");
        send(i, {.op = operation::list_again, .directory = c.directory});
        break;
    case kind::watch:
        ++entry(c, o.name).announced;
        send(i, {operation::watch, o.name});
        break;
    case kind::remove: send(i, {operation::remove, o.name}); break;
    case kind::step_down:
        c.stepping_down = true;
        send(i, {operation::step_down, o.name});
        break;
    case kind::shared:
        require(!o.error, "contract: refused without a reason");
        c.stepping_down = false;
        c.held = lab.contenders(i).name(c.contender);
        break;
    case kind::look: throw violation{"contract: it has a queue"};
    case kind::read_directory: send(i, {operation::read_directory}); break;
    case kind::remove_directory:
        require((lab.rules().replaceable || server_.incarnation != 1) &&
                    lab.rules().first_number != 0,
                "contract: a directory is deleted that is to stay");
        send(i, {operation::remove_directory});
        break;
    case kind::unwatch: unwatch(i, o.name); break;
    case kind::prove:
        require(!c.granted && !c.refused && !c.left, "contract: a proof for nothing");
        c.proving = true;
        break;
    case kind::granted:
        require(!c.granted && !c.refused, "contract: a second outcome");
        c.granted = true;
        c.held = lab.contenders(i).name(c.contender);
        require(c.led == c.held, "G1: granted without having seen that nobody blocks the own node");
        require(c.safe, "G5: granted before the session is known to be safe");
        require(!is_exhausted(c.held, lab), "G1: granted a number that may come again");
        check_order(c.held,
                    static_cast<std::uint8_t>(lab.contenders(i)[c.contender].identity().czxid),
                    lab);
        break;
    case kind::busy:
        require(!c.granted && !c.refused, "contract: a second outcome");
        require(lab.is_try(i), "contract: busy, but it was to wait");
        require(std::ranges::count(clients_, true, &client::joined) > 1 || lab.rules().foreigner ||
                    lab.rules().elders != 0,
                "contract: busy, but nobody else is there");
        c.refused = true;
        break;
    case kind::failed:
        require(!c.granted && !c.refused, "contract: a second outcome");
        require((!lab.rules().rejoin_on_expiry && o.error == errc::session_expired) ||
                    (o.error == errc::sequence_exhausted &&
                     is_exhausted(lab.contenders(i).name(c.contender), lab)),
                "contract: failed without a reason");
        c.refused = true;
        break;
    case kind::lost:
        require(c.granted && !c.lost, "contract: lost what was not held");
        require(o.error == errc::session_expired || o.error == errc::node_deleted,
                "G5: lost without a reason");
        require(o.error != errc::node_deleted || c.robbed == c.held ||
                    (c.stepping_down && c.robbed != 0) || !server_.sessions[i].alive,
                "G5: said to be deleted, but nobody did");
        require(o.error != errc::session_expired || !c.left, "G5: lost after the release");
        c.lost = true;
        break;
    case kind::gone:
        require(c.granted || c.refused || c.left, "contract: gone without an outcome");
        require(!o.error, "G3: gone with an error");
        require(!c.robbed_holding || c.lost || lab.rules().breaks + lab.rules().expiries != 0,
                "G5: not told that somebody deleted the node");
        c.gone = true;
        break;
    }
}

// Whether the node is one that must not be granted.
inline bool world::is_exhausted(text_id name, laboratory& lab)
{
    const auto number = protocol::number_of(lab.names(), lab.text()[name]);
    return number && *number >= protocol::last_number;
}

inline void world::send(std::size_t i, request r)
{
    require(server_.sessions[i].connected, "contract: a request without a connection");
    server_.sessions[i].requests.push_back(r);
}

inline void world::unwatch(std::size_t i, text_id name)
{
    auto& c = clients_[i];
    auto& s = server_.sessions[i];
    auto& e = entry(c, name);
    if (e.subscribed) {
        e.subscribed = false;
        settle(i, name);
        return;
    }
    const auto refers = [&](const auto& m) {
        return m.op == operation::watch && m.name == name && m.wanted;
    };
    const auto sent = std::ranges::find_if(s.requests, refers);
    if (sent != s.requests.end()) {
        sent->wanted = false;
        return;
    }
    const auto answered = std::ranges::find_if(
        s.messages, [&](const message& m) { return !m.is_event && refers(m); });
    require(answered != s.messages.end(), "contract: unwatch of what is not watched");
    answered->wanted = false;
}

inline client::watch_entry& world::entry(client& c, text_id name)
{
    const auto at = std::ranges::lower_bound(c.watches, name, {}, &client::watch_entry::name);
    return at != c.watches.end() && at->name == name ? *at : *c.watches.insert(at, {name});
}

inline void world::settle(std::size_t i, text_id name)
{
    auto& watches = clients_[i].watches;
    const auto at = std::ranges::find(watches, name, &client::watch_entry::name);
    if (at == watches.end() || at->announced != 0 || at->subscribed) {
        return;
    }
    const bool set = at->set;
    watches.erase(at);
    if (set) {
        send(i, {operation::forget, name});
    }
}

inline void world::deliver(std::size_t i, laboratory& lab)
{
    auto& c = clients_[i];
    auto& messages = server_.sessions[i].messages;
    const auto m = messages.front();
    messages.erase(messages.begin());
    if (m.led != 0) {
        c.led = m.led;
    }
    if (m.is_event) {
        auto& e = entry(c, m.name);
        e.set = false;
        const bool told = std::exchange(e.subscribed, false);
        settle(i, m.name);
        if (told) {
            run(i, lab,
                {.kind = m.deleted ? input_kind::deleted : input_kind::changed, .name = m.name});
        }
        return;
    }
    const bool wanted = m.wanted;
    if (m.op == operation::watch) {
        auto& e = entry(c, m.name);
        --e.announced;
        if (m.code == result::ok) {
            e.set = true;
            e.subscribed = e.subscribed || wanted;
        }
        settle(i, m.name);
    }
    if (!wanted) {
        return;
    }
    const bool ends_standing_by = m.op == operation::list_again && m.code == result::ok &&
                                  (m.children.empty() || m.directory != c.directory);
    if (m.op == operation::list && m.code == result::ok) {
        c.directory = m.directory;
    }
    run(i, lab, input_of(m, static_cast<answer>(m.code)));
    const auto& sent = server_.sessions[i].requests;
    require(!ends_standing_by || sent.empty() || sent.back().op != operation::list_again,
            "G4: one who stands by goes on, and there is nobody to wait for");
}

// Everything that is open is answered: what became of it is not known.
inline void world::drop_connection(std::size_t i, laboratory& lab)
{
    auto& s = server_.sessions[i];
    boost::container::static_vector<message, 32> open;
    for (const auto& m : s.messages) {
        if (!m.is_event) {
            open.push_back(m);
        }
    }
    for (const auto& r : s.requests) {
        open.push_back({.op = r.op, .wanted = r.wanted, .name = r.name});
    }
    server_.disconnect(i);
    if (stalls_) {
        server_.leave_unread(i);
    }
    clients_[i].watches.clear();
    clients_[i].proving = false;
    for (const auto& m : open) {
        if (zookeeper::is_answered(m.op) && m.wanted) {
            run(i, lab, input_of(m, answer::unknown));
        }
    }
}

} // namespace colock::model
