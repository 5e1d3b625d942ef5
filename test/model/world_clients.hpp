// What the clients of a walk do: they feed their contenders, and carry out their commands.
#pragma once

#include "world.hpp"

namespace colock::model {

// The next one of its contenders.
inline void world::begin_next(client& c)
{
    const auto turn = static_cast<std::uint8_t>(c.turn + 1);
    c = {.contender = turn,
         .turn = turn,
         .memory = c.memory,
         .safe = c.safe,
         .watches = c.watches,
         .told = c.told};
}

// What an answer tells of the directory.
inline void world::learn(client& c, const message& m)
{
    auto& told = c.told;
    const bool writes = m.op == operation::create_and_count || m.op == operation::sign_directory;
    if (m.code == result::denied && (writes || m.op == operation::remove_and_mark)) {
        told.denied = true;
    }
    if (m.code != result::ok) {
        if (writes) {
            told.alone = false;
            told.next = 0;
        }
        return;
    }
    if (m.op == operation::create || m.op == operation::create_and_count) {
        told.met = told.counted = m.op == operation::create_and_count && !m.alone;
    } else if (m.op == operation::list) {
        told.met = told.counted || m.children.size() > 1;
    }
    const bool shows = writes || m.op == operation::list || m.op == operation::read_directory ||
                       m.op == operation::identify_directory ||
                       (m.op == operation::make_directory && m.directory != 0);
    if (!shows) {
        return;
    }
    if (m.directory != told.directory) {
        told = {.directory = m.directory, .met = told.met, .counted = told.counted};
    }
    told.version = m.version;
    if (m.op == operation::read_directory || m.op == operation::identify_directory) {
        told.may_mark = m.ours && (told.may_mark || m.op == operation::read_directory);
    }
}

inline void world::run(std::size_t i, laboratory& lab, input in)
{
    auto& contenders = lab.contenders(i);
    auto& c = clients_[i];
    in.safe = c.safe;
    in.memory = c.memory;
    const auto& t = contenders.apply(c.contender, in);
    c.contender = t.next;
    if (remembers_) {
        c.memory = t.memory;
    }
    const bool was_granted = c.granted;
    if (remembers_ &&
        std::ranges::count(t.outputs, protocol::command::kind::granted, &output::type) != 0) {
        note_grant(c, contenders.name(c.contender),
                   lab); // what is asked for with it follows from it
    }
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
    case kind::create_and_count:
        require(remembers_ || (lab.rules().counts && lab.rules().ours),
                "contract: a directory is written to that is not ours");
        check_worth(c, o.version);
        c.told.alone = false; // until it is granted
        send(i, {.op = operation::create_and_count, .name = o.name, .version = o.version});
        break;
    case kind::identify_directory:
        require(c.told.alone, "contract: the directory is read for nothing");
        send(i, {operation::identify_directory});
        break;
    case kind::sign_directory:
        require(o.name == lab.contenders(i).name(c.contender),
                "contract: the own node is not checked");
        check_worth(c, o.version);
        send(i, {.op = operation::sign_directory, .name = o.name, .version = o.version});
        break;
    case kind::list_and_watch:
    case kind::watch_newcomers: throw violation{"contract: nobody wants to know"};
    case kind::list: send(i, {operation::list}); break;
    case kind::watch:
        ++entry(c, o.name).announced;
        send(i, {operation::watch, o.name});
        break;
    case kind::remove: send(i, {operation::remove, o.name}); break;
    case kind::remove_and_mark:
        require(lab.rules().marks && !lab.is_silent(i) &&
                    (remembers_ ? c.told.may_mark : lab.rules().ours),
                "contract: a directory is written to that is not ours");
        require(!remembers_ || !c.told.denied,
                "contract: a write that is known not to be permitted");
        send(i, {operation::remove_and_mark, o.name});
        break;
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
    case kind::mark_refused:
        require(lies_ != lab.rules().lies, "contract: a low-water mark is refused that is true");
        break;
    case kind::remove_directory:
        require(lab.rules().drains && lab.rules().ours && !lab.rules().stranger &&
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

// A write to the directory is worth a request.
inline void world::check_worth(const client& c, std::uint8_t version) const
{
    if (remembers_) {
        require(c.told.alone, "contract: the fast path, and others may be there");
        require(!c.told.denied, "contract: a write that is known not to be permitted");
        require(version == c.told.version, "contract: a write of data that are known to be old");
    }
}

inline void world::note_grant(client& c, text_id node, laboratory& lab)
{
    const auto number = protocol::number_of(lab.names(), lab.text()[node]).value_or(-1);
    auto& told = c.told;
    told.alone = !told.met && told.next != 0 && number == told.next;
    told.next = told.met ? std::uint8_t{0} : static_cast<std::uint8_t>(number + 1);
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
    r.turn = clients_[i].turn;
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
    const bool wanted = m.wanted && m.turn == c.turn; // else its contender has gone
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
    if (remembers_) {
        learn(c, m);
    }
    run(i, lab, input_of(m, static_cast<answer>(m.code)));
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
        open.push_back({.op = r.op, .wanted = r.wanted, .name = r.name, .turn = r.turn});
    }
    server_.disconnect(i);
    if (stalls_) {
        server_.leave_unread(i);
    }
    clients_[i].watches.clear();
    clients_[i].proving = false;
    for (const auto& m : open) {
        if (zookeeper::is_answered(m.op) && m.wanted && m.turn == clients_[i].turn) {
            run(i, lab, input_of(m, answer::unknown));
        }
    }
}

} // namespace colock::model
