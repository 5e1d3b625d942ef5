// What the clients of the world of single_node_world.hpp do: they feed their contenders, and carry out their commands.
#pragma once

#include "single_node_world.hpp"

namespace colock::model::single {

template <class Input>
void world::for_all(session& s, laboratory& lab, Input input)
{
    for (auto& c : s.contenders) {
        if (!c.gone && (c.joined || s.connected)) {
            run(s, c, lab, input);
        }
    }
}

template <class Input>
void world::run(session& s, contender& c, laboratory& lab, Input input)
{
    if (!c.joined || c.gone) {
        return;
    }
    auto value = lab[c.state];
    protocol::commands out;
    value.assume_safe(s.safe);
    input(value, out);
    c.state = lab.id_of(value);
    if (value.has_node()) {
        c.czxid = static_cast<std::uint8_t>(value.identity().czxid);
    }
    const bool was_granted = c.granted;
    for (const auto& each : out) {
        obey(s, c, lab, each);
    }
    if (c.granted && !was_granted && lab.rules.own_watch) {
        run(s, c, lab, watching_own_node{});
    }
}

inline void world::obey(session& s, contender& c, const laboratory& lab,
                        const protocol::command& command)
{
    using kind = protocol::command::kind;
    require(!c.gone, "contract: a command after gone");
    const auto send = [&](operation op) {
        require(s.connected, "contract: a request without a connection");
        s.requests.push_back(
            {.op = op, .who = static_cast<std::uint8_t>(&c - s.contenders.data())});
    };
    switch (command.type) {
    case kind::make_directory: send(operation::make_directory); break;
    case kind::create: send(operation::create); break;
    case kind::look: send(operation::look); break;
    case kind::remove:
        require(!c.lost, "G1: removes what may be the node of another one by now");
        send(operation::remove);
        break;
    case kind::watch:
        ++s.announced;
        send(operation::watch);
        break;
    case kind::unwatch: unwatch(s, c); break;
    case kind::list:
    case kind::list_again:
    case kind::list_and_watch:
    case kind::watch_newcomers:
    case kind::read_directory:
    case kind::remove_directory:
    case kind::step_down:
    case kind::shared: throw violation{"contract: it has no queue"};
    case kind::prove:
        require(!c.granted && !c.refused && !c.left, "contract: a proof for nothing");
        c.proving = true;
        break;
    case kind::granted:
        require(!c.granted && !c.refused, "contract: a second outcome");
        c.granted = true;
        break;
    case kind::busy:
        require(!c.granted && !c.refused, "contract: a second outcome");
        c.refused = true;
        break;
    case kind::failed:
        require(!c.granted && !c.refused, "contract: a second outcome");
        require(!lab.rules.rejoin_on_expiry && command.error == errc::session_expired,
                "contract: failed without a reason");
        c.refused = true;
        break;
    case kind::lost:
        require(c.granted && !c.lost, "contract: lost what was not held");
        require(command.error == errc::session_expired ||
                    (command.error == errc::node_deleted && (is_robbed(c) || !s.alive)),
                "G5: said to be deleted, but nobody did");
        c.lost = true;
        break;
    case kind::gone:
        require(c.granted || c.refused || c.left, "contract: gone without an outcome");
        require(!command.error, "G3: gone with an error");
        c.gone = true;
        break;
    }
}

inline void world::unwatch(session& s, contender& c)
{
    if (std::exchange(c.subscribed, false)) {
        settle(s);
        return;
    }
    const auto who = static_cast<std::uint8_t>(&c - s.contenders.data());
    const auto refers = [&](const auto& m) {
        return m.op == operation::watch && m.who == who && m.wanted;
    };
    if (const auto sent = std::ranges::find_if(s.requests, refers); sent != s.requests.end()) {
        sent->wanted = false;
        return;
    }
    const auto answered = std::ranges::find_if(
        s.messages, [&](const message& m) { return !m.is_event && refers(m); });
    require(answered != s.messages.end(), "contract: unwatch of what is not watched");
    answered->wanted = false;
}

// As zk::watch_registry does.
inline void world::settle(session& s)
{
    if (s.announced != 0 ||
        std::ranges::any_of(s.contenders, [](const contender& c) { return c.subscribed; })) {
        return;
    }
    if (std::exchange(s.set, false)) {
        s.requests.push_back({.op = operation::forget});
    }
}

inline void world::deliver(session& s, laboratory& lab)
{
    const auto m = s.messages.front();
    s.messages.erase(s.messages.begin());
    if (m.is_event) {
        s.set = false;
        boost::container::static_vector<contender*, max_contenders> told;
        for (auto& c : s.contenders) {
            if (std::exchange(c.subscribed, false)) {
                told.push_back(&c);
            }
        }
        settle(s);
        for (auto* c : told) {
            run(s, *c, lab, [&](auto& p, auto& out) { p.fired({}, m.deleted, out); });
        }
        return;
    }
    auto& c = s.contenders[m.who];
    if (m.op == operation::watch) {
        --s.announced;
        if (m.answer == code::ok) {
            s.set = true;
            c.subscribed |= m.wanted;
        }
        settle(s);
        if (!m.wanted) {
            return;
        }
    }
    answer(s, c, lab, m);
}

inline void world::answer(session& s, contender& c, laboratory& lab, const message& m)
{
    static const error_code codes[] = {{},
                                       zookeeper_errc::no_node,
                                       zookeeper_errc::node_exists,
                                       zookeeper_errc::throttled_op,
                                       zookeeper_errc::connection_loss};
    const auto& ec = codes[static_cast<std::size_t>(m.answer)];
    const protocol::node_identity identity{m.czxid, m.owner};
    run(s, c, lab, [&](auto& p, auto& out) {
        switch (m.op) {
        case operation::make_directory: p.directory_made({&ec, 1}, out); break;
        case operation::create: p.created(ec, {}, identity, out); break;
        case operation::look: {
            const bool spoken_for = std::ranges::any_of(s.contenders, [&](const contender& o) {
                return &o != &c && lab[o.state].has_node() && lab[o.state].identity() == identity;
            });
            p.looked(ec, identity, spoken_for, out);
            break;
        }
        case operation::watch: p.watched({}, ec, identity, out); break;
        case operation::remove: p.removed(ec, out); break;
        case operation::forget: break;
        }
    });
}

// Everything that is open is answered: what became of it is not known.
inline void world::drop_connection(session& s, laboratory& lab)
{
    boost::container::static_vector<message, 32> open;
    for (const auto& m : s.messages) {
        if (!m.is_event) {
            open.push_back(m);
        }
    }
    for (const auto& r : s.requests) {
        open.push_back({.op = r.op, .who = r.who, .wanted = r.wanted});
    }
    s.connected = s.watches = s.set = false;
    s.announced = 0;
    s.messages.clear();
    for (auto& c : s.contenders) {
        c.subscribed = c.proving = false;
    }
    for (auto m : open) {
        if (m.op != operation::forget && m.wanted) {
            m.answer = code::unknown;
            m.owner = m.czxid = 0;
            answer(s, s.contenders[m.who], lab, m);
        }
    }
}

} // namespace colock::model::single
