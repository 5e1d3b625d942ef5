// The lock without a queue: sessions with one contender or several each, a server that has the one node, a foreign
// service that locks in the same way, and an adversary. What can happen next, and what has to be true after each step.
#pragma once

#include "protocol/single_node.hpp"
#include "walk.hpp"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace colock::model::single {

// What one walk is about. The budgets are those of the adversary.
struct scenario {
    std::size_t sessions = 2;
    std::size_t contenders = 1; // of each
    std::size_t tries = 0;      // so many sessions, the last ones, do not wait
    unsigned cancels = 0;
    unsigned breaks = 0;    // of a connection
    unsigned expiries = 0;  // of a session
    unsigned removals = 0;  // of the node, by an operator
    unsigned changes = 0;   // of its data
    unsigned refusals = 0;  // of a request, which can be repeated
    unsigned reaps = 0;     // of the directory, while it is empty
    unsigned strangers = 0; // so often the foreign service takes the lock
    bool directory_exists = true;
    bool guard = true; // holders watch their node
    bool rejoin_on_expiry = true;
    bool doubts = false; // nobody is granted before it is known that the session is safe
    bool barrier = true; // stands before what is sent on a new connection
};

enum class operation : std::uint8_t { make_directory, create, look, watch, remove, forget };
enum class code : std::uint8_t { ok, no_node, node_exists, throttled, unknown };

constexpr std::size_t max_contenders = 2;
constexpr std::size_t max_sessions = 3;
constexpr std::uint8_t stranger = 200; // the session of the foreign service

struct request {
    operation op;
    std::uint8_t who = 0; // of the session's contenders
    bool wanted = true;   // of a watch: known to the client only
};

struct message {
    bool is_event = false;
    bool deleted = false; // of an event: else the data changed
    operation op = operation::look;
    std::uint8_t who = 0;
    bool wanted = true;
    code answer = code::ok;
    std::uint8_t owner = 0;
    std::uint8_t czxid = 0;
};

struct contender {
    std::uint32_t state = 0; // in the laboratory's table
    bool joined = false;
    bool left = false;
    bool granted = false;
    bool refused = false; // busy or failed
    bool lost = false;
    bool gone = false;
    bool proving = false;
    bool subscribed = false;     // to the watch
    bool robbed_holding = false; // of its node, while it held the lock
    std::uint8_t czxid = 0;      // of the node that it last knew to be its own
};

struct session {
    std::uint8_t id = 0;
    bool alive = true;
    bool connected = true;
    bool safe = true;     // as far as is known
    bool watches = false; // as the server has it
    bool set = false;     // as the client knows it, with the reads that are to be answered
    std::uint8_t announced = 0;
    boost::container::static_vector<request, 12> requests = {};
    boost::container::static_vector<request, 12> late =
        {}; // of connections before, which no barrier stops
    boost::container::static_vector<message, 16> messages = {};
    boost::container::static_vector<contender, max_contenders> contenders = {};
};

enum class step_kind : std::uint8_t {
    process,
    deliver,
    join,
    leave,
    assure, // the session is known to be safe; those who await a proof hear of it later
    prove,
    notice_break,
    notice_expiry,
    reconnect,
    process_late,
    stranger_leaves,
    // The adversary's.
    cancel,
    break_connection,
    expire,
    remove_node,
    change_node,
    refuse,
    reap,
    stranger_takes,
};

struct step {
    step_kind kind;
    std::uint8_t session = 0;
    std::uint8_t who = 0;

    [[nodiscard]] bool is_adverse() const noexcept { return kind >= step_kind::cancel; }
};

inline std::string to_string(const step& s)
{
    static constexpr const char* names[] = {
        "process",         "deliver",      "join",          "leave",         "assure",
        "prove",           "notice break", "notice expiry", "reconnect",     "process late",
        "stranger leaves", "cancel",       "break",         "expire",        "remove node",
        "change node",     "refuse",       "reap",          "stranger takes"};
    return std::string{names[static_cast<std::size_t>(s.kind)]} + ' ' + std::to_string(s.session) +
           '.' + std::to_string(s.who);
}

// The states of the shipped contender, each of them once.
class laboratory {
public:
    explicit laboratory(const scenario& s) : rules{s}
    {
        protocol::single_node first{{.rejoin_on_expiry = s.rejoin_on_expiry}};
        static_cast<void>(id_of(first));
    }

    [[nodiscard]] const protocol::single_node& operator[](std::uint32_t id) const
    {
        return states_[id];
    }
    [[nodiscard]] std::uint32_t id_of(const protocol::single_node& value)
    {
        const auto [at, inserted] =
            ids_.try_emplace(value.fingerprint(), static_cast<std::uint32_t>(states_.size()));
        if (inserted) {
            states_.push_back(value);
        } else if (!(states_[at->second] == value)) {
            throw std::logic_error{"different contenders have one fingerprint: " + at->first};
        }
        return at->second;
    }

    const scenario rules;

private:
    std::vector<protocol::single_node> states_;
    std::unordered_map<std::string, std::uint32_t> ids_;
};

class world {
public:
    explicit world(const scenario& s) : left_{s}, directory_{s.directory_exists}
    {
        for (std::size_t i = 0; i != s.sessions; ++i) {
            sessions_.push_back({.id = static_cast<std::uint8_t>(i + 1), .safe = !s.doubts});
            sessions_.back().contenders.resize(s.contenders);
        }
    }

    [[nodiscard]] std::vector<step> possible() const
    {
        std::vector<step> all;
        bool before = true; // those before have joined; they do not differ otherwise
        for (std::size_t i = 0; i != sessions_.size(); ++i) {
            const auto& s = sessions_[i];
            const auto add = [&](step_kind kind, std::size_t who = 0) {
                all.push_back({kind, static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(who)});
            };
            bool over = true;
            for (std::size_t who = 0; who != s.contenders.size(); ++who) {
                const auto& c = s.contenders[who];
                over = over && c.gone;
                if (!c.joined && before) {
                    add(step_kind::join, who);
                }
                before = c.joined;
                if (!c.joined || c.gone) {
                    continue;
                }
                if (c.granted && !c.left) {
                    add(step_kind::leave, who);
                }
                if (c.proving && s.alive) {
                    add(step_kind::prove, who);
                }
                if (!c.granted && !c.left && left_.cancels != 0) {
                    add(step_kind::cancel, who);
                }
            }
            if (!s.requests.empty() && s.alive) {
                add(step_kind::process);
                if (left_.refusals != 0 && s.requests.front().op != operation::forget) {
                    add(step_kind::refuse);
                }
            }
            if (!s.messages.empty()) {
                add(step_kind::deliver);
            }
            if (over) {
                continue;
            }
            if (!s.safe && s.alive && std::ranges::any_of(s.contenders, &contender::proving)) {
                add(step_kind::assure);
            }
            if (!s.alive) {
                add(s.connected ? step_kind::notice_break : step_kind::notice_expiry);
            } else if (!s.connected) {
                add(step_kind::reconnect);
            } else if (!s.late.empty()) {
                add(step_kind::process_late);
            }
            if (s.alive && s.connected && left_.breaks != 0) {
                add(step_kind::break_connection);
            }
            if (s.alive && s.contenders.front().joined && left_.expiries != 0) {
                add(step_kind::expire);
            }
        }
        if (owner_ == stranger) {
            all.push_back({step_kind::stranger_leaves});
        }
        if (owner_ == 0 && directory_ && left_.strangers != 0) {
            all.push_back({step_kind::stranger_takes});
        }
        if (owner_ == 0 && directory_ && left_.reaps != 0) {
            all.push_back({step_kind::reap});
        }
        if (owner_ != 0 && left_.removals != 0) {
            all.push_back({step_kind::remove_node});
        }
        if (owner_ != 0 && left_.changes != 0) {
            all.push_back({step_kind::change_node});
        }
        return all;
    }

    void take(const step& taken, laboratory& lab)
    {
        auto& s = sessions_[taken.session];
        auto& c = s.contenders[taken.who];
        const auto id = s.id;
        switch (taken.kind) {
        case step_kind::process: process(s, lab); break;
        case step_kind::refuse: {
            --left_.refusals;
            const auto r = s.requests.front();
            s.requests.erase(s.requests.begin());
            reply(s, r, code::throttled);
            break;
        }
        case step_kind::deliver: deliver(s, lab); break;
        case step_kind::join:
            c.joined = true;
            run(s, c, lab, [&](auto& p, auto& out) {
                if (std::ranges::any_of(s.contenders, [&](const contender& other) {
                        return lab[other.state].has_node();
                    })) {
                    p.stand_back();
                }
                const bool is_try = taken.session + lab.rules.tries >= sessions_.size();
                is_try ? p.try_join(s.connected, id, out) : p.join(s.connected, id, out);
            });
            break;
        case step_kind::cancel: --left_.cancels; [[fallthrough]];
        case step_kind::leave:
            c.left = true;
            run(s, c, lab, [](auto& p, auto& out) { p.leave(out); });
            break;
        case step_kind::assure: s.safe = true; break;
        case step_kind::prove: {
            const bool was_granted = c.granted;
            s.safe = true;
            c.proving = false;
            run(s, c, lab, [](auto& p, auto& out) { p.proved(out); });
            // Some time has passed since the create was answered.
            require(was_granted || !c.granted || c.subscribed,
                    "G1: granted on a proof, and the own node may be gone");
            break;
        }
        case step_kind::break_connection: --left_.breaks; [[fallthrough]];
        case step_kind::notice_break:
            drop_connection(s, lab);
            for_all(s, lab, [](auto& p, auto&) { p.suspended(); });
            break;
        case step_kind::notice_expiry:
            s.id = static_cast<std::uint8_t>(s.id + sessions_.size());
            s.alive = true;
            s.safe = !lab.rules.doubts;
            s.requests.clear();
            s.late.clear();
            for_all(s, lab, [](auto& p, auto& out) { p.expired(out); });
            break;
        case step_kind::reconnect:
            s.connected = true;
            if (!lab.rules.barrier) {
                s.late = s.requests;
            }
            s.requests.clear(); // behind a barrier nothing of the previous connection comes later
            for_all(s, lab, [&](auto& p, auto& out) { p.connected(id, out); });
            break;
        case step_kind::process_late: {
            const auto requests = std::exchange(s.requests, {s.late.front()});
            s.late.erase(s.late.begin());
            s.connected = false;
            process(s, lab);
            s.connected = true;
            s.requests = requests;
            break;
        }
        case step_kind::expire:
            --left_.expiries;
            s.alive = false;
            if (owner_ == id) {
                remove();
            }
            break;
        case step_kind::remove_node:
            --left_.removals;
            rob(lab);
            remove();
            break;
        case step_kind::change_node:
            --left_.changes;
            tell(false);
            break;
        case step_kind::reap:
            --left_.reaps;
            directory_ = false;
            break;
        case step_kind::stranger_takes:
            --left_.strangers;
            owner_ = stranger;
            czxid_ = ++creations_;
            break;
        case step_kind::stranger_leaves: remove(); break;
        }
        check(lab);
    }

    void check_end(const laboratory&) const
    {
        for (const auto& s : sessions_) {
            for (const auto& c : s.contenders) {
                require(c.gone, "G4: a contender is stuck");
            }
            require(owner_ != s.id, "G3: a node is left");
            require(!s.watches && !s.set, "G3: a watch is left");
        }
    }

    // Equal for equal worlds.
    void write(std::string& to) const
    {
        const auto bytes = [&](auto... values) { (to.push_back(static_cast<char>(values)), ...); };
        bytes(left_.cancels, left_.breaks, left_.expiries, left_.removals, left_.changes,
              left_.refusals, left_.reaps, left_.strangers, directory_, owner_, czxid_, creations_,
              robbed_ & 0xff, robbed_ >> 8);
        for (const auto& s : sessions_) {
            bytes(s.id, s.alive | s.connected << 1 | s.watches << 2 | s.set << 3 | s.safe << 4,
                  s.announced, s.requests.size(), s.late.size(), s.messages.size());
            for (const auto* queue : {&s.requests, &s.late}) {
                for (const auto& r : *queue) {
                    bytes(static_cast<unsigned>(r.op), r.who | unsigned{r.wanted} << 4);
                }
            }
            for (const auto& m : s.messages) {
                bytes(static_cast<unsigned>(m.op),
                      m.who | unsigned{m.wanted} << 4 | unsigned{m.is_event} << 5 |
                          unsigned{m.deleted} << 6,
                      static_cast<unsigned>(m.answer), m.owner, m.czxid);
            }
            for (const auto& c : s.contenders) {
                bytes(c.state, c.state >> 8, c.state >> 16,
                      c.joined | c.left << 1 | c.granted << 2 | c.refused << 3 | c.lost << 4 |
                          c.gone << 5 | c.proving << 6 | c.subscribed << 7,
                      c.robbed_holding, c.czxid);
            }
        }
    }

private:
    static void require(bool truth, const char* what)
    {
        if (!truth) {
            throw violation{what};
        }
    }

    // ---- the server

    void process(session& s, const laboratory& lab)
    {
        const auto r = s.requests.front();
        s.requests.erase(s.requests.begin());
        auto answer = owner_ != 0 ? code::ok : code::no_node;
        switch (r.op) {
        case operation::make_directory:
            directory_ = true;
            answer = code::ok;
            break;
        case operation::create:
            answer = owner_ != 0 ? code::node_exists : directory_ ? code::ok : code::no_node;
            if (answer == code::ok) {
                owner_ = s.id;
                czxid_ = ++creations_;
            }
            break;
        case operation::look: break;
        case operation::watch: s.watches |= owner_ != 0 && s.connected; break;
        case operation::remove:
            if (owner_ != 0) {
                const auto& own = lab[s.contenders[r.who].state].identity();
                if (own.czxid != czxid_) {
                    // Sent before the contender could know that an operator had taken its node.
                    require((robbed_ >> own.czxid & 1) != 0, "G1: deletes the node of another one");
                    rob(lab);
                }
                remove();
            }
            break;
        case operation::forget: s.watches = false; return; // nobody looks at the answer
        }
        reply(s, r, answer);
    }

    void reply(session& s, const request& r, code answer)
    {
        if (s.connected && r.op != operation::forget) {
            const bool ok = answer == code::ok;
            s.messages.push_back({.op = r.op,
                                  .who = r.who,
                                  .wanted = r.wanted,
                                  .answer = answer,
                                  .owner = ok ? owner_ : std::uint8_t{0},
                                  .czxid = ok ? czxid_ : std::uint8_t{0}});
        }
    }

    void remove()
    {
        owner_ = czxid_ = 0;
        tell(true);
    }

    void tell(bool deleted)
    {
        for (auto& s : sessions_) {
            if (std::exchange(s.watches, false)) {
                s.messages.push_back({.is_event = true, .deleted = deleted});
            }
        }
    }

    // Whoever has the node is about to lose it without having had a part in that.
    void rob(const laboratory& lab)
    {
        robbed_ |= 1u << czxid_;
        for (auto& s : sessions_) {
            for (auto& c : s.contenders) {
                c.robbed_holding |= s.id == owner_ && lab[c.state].holds() &&
                                    lab[c.state].identity().czxid == czxid_;
            }
        }
    }

    // ---- a client and its contenders

    template <class Input>
    void for_all(session& s, laboratory& lab, Input input)
    {
        for (auto& c : s.contenders) {
            if (!c.gone && (c.joined || s.connected)) {
                run(s, c, lab, input);
            }
        }
    }

    // Not a lambda within run(): that would be another one for each input, without end.
    struct guarding {
        void operator()(protocol::single_node& p, protocol::commands& out) const { p.guard(out); }
    };

    template <class Input>
    void run(session& s, contender& c, laboratory& lab, Input input)
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
        if (c.granted && !was_granted && lab.rules.guard) {
            run(s, c, lab, guarding{});
        }
    }

    void obey(session& s, contender& c, const laboratory& lab, const protocol::command& command)
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
        case kind::create_and_count:
        case kind::mark_refused:
        case kind::list:
        case kind::read_directory:
        case kind::remove_and_mark:
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

    void unwatch(session& s, contender& c)
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
    void settle(session& s)
    {
        if (s.announced != 0 ||
            std::ranges::any_of(s.contenders, [](const contender& c) { return c.subscribed; })) {
            return;
        }
        if (std::exchange(s.set, false)) {
            s.requests.push_back({.op = operation::forget});
        }
    }

    void deliver(session& s, laboratory& lab)
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

    void answer(session& s, contender& c, laboratory& lab, const message& m)
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
            case operation::make_directory: p.directory_made(ec, out); break;
            case operation::create: p.created(ec, {}, identity, out); break;
            case operation::look: {
                const bool spoken_for = std::ranges::any_of(s.contenders, [&](const contender& o) {
                    return &o != &c && lab[o.state].has_node() &&
                           lab[o.state].identity() == identity;
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
    void drop_connection(session& s, laboratory& lab)
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

    // ---- what has to be true

    void check(const laboratory& lab) const
    {
        for (const auto& s : sessions_) {
            std::int64_t claimed = 0;
            for (const auto& c : s.contenders) {
                const auto& p = lab[c.state];
                require(p.holds() == (c.granted && !c.left && !c.lost), "contract: holds()");
                require(p.is_gone() == c.gone, "contract: is_gone()");
                require(!p.has_node() || p.identity().czxid != claimed,
                        "G1: two contenders have one node");
                claimed = p.identity().czxid;
                // So nobody else can be in the same situation.
                require(!p.holds() || !s.alive || is_robbed(c) ||
                            (owner_ == s.id && czxid_ == p.identity().czxid),
                        "G1: the node of a holder is not its own");
                require(!c.gone || !c.robbed_holding || c.lost || lab.rules.breaks != 0 ||
                            lab.rules.expiries != 0 || owner_of_two_removals(),
                        "G5: not told that somebody deleted the node");
            }
            const bool over = std::ranges::all_of(
                s.contenders, [](const contender& c) { return c.gone || !c.joined; });
            require(!over || !s.alive || owner_ != s.id || !s.late.empty(), "G3: a node is left");
            if (is_quiet(s)) {
                check_quiet(s, lab);
            }
        }
    }

    [[nodiscard]] bool is_robbed(const contender& c) const { return (robbed_ >> c.czxid & 1) != 0; }

    // The remove of one whose node had been deleted has hit the node of the next one: it looks like a release.
    [[nodiscard]] bool owner_of_two_removals() const { return creations_ > 1; }

    // Nothing is under way.
    [[nodiscard]] static bool is_quiet(const session& s)
    {
        return s.connected && s.alive && s.requests.empty() && s.messages.empty() && s.late.empty();
    }

    void check_quiet(const session& s, const laboratory& lab) const
    {
        bool wanted = false;
        for (const auto& c : s.contenders) {
            wanted |= c.subscribed;
            require(!c.gone || !c.subscribed, "G3: a contender that is gone is told");
            if (!c.joined || c.gone || c.proving) {
                continue;
            }
            require(!c.left, "G3: a contender does not end");
            const bool own = owner_ == s.id && lab[c.state].identity().czxid == czxid_;
            if (lab[c.state].holds()) {
                require(own || !lab.rules.guard, "G5: a holder is not told that its node is gone");
            } else {
                require(owner_ != 0, "G4: a contender waits for nobody");
                require(c.subscribed && s.watches, "G4: a contender will not hear of the release");
                require(!own, "G4: one who has the node is not granted");
            }
        }
        require(s.watches == wanted, "G3: watches of client and server differ");
    }

    scenario left_; // of the budgets
    bool directory_;
    std::uint8_t owner_ = 0; // of the node: a session; 0: there is none
    std::uint8_t czxid_ = 0;
    std::uint8_t creations_ = 0;
    unsigned robbed_ = 0; // a bit for each node that somebody else deleted
    boost::container::static_vector<session, max_sessions> sessions_;
};

// Depth first through all states that can be reached.
class exhaustive_walk {
public:
    explicit exhaustive_walk(const scenario& s) : lab_{s} {}

    outcome operator()()
    {
        try {
            visit(world{lab_.rules});
        } catch (const std::exception& found) {
            result_.violated = found.what();
            for (const auto& s : path_) {
                result_.violated += "\n    " + to_string(s);
            }
        }
        result_.states = visited_.size();
        return result_;
    }

private:
    static constexpr std::size_t max_depth = 400; // every step uses something up

    void visit(const world& from)
    {
        buffer_.clear();
        from.write(buffer_);
        if (!visited_.insert(digest_of(buffer_))) {
            return;
        }
        result_.depth = std::max(result_.depth, path_.size());
        if (path_.size() == max_depth) {
            throw violation{"G4: it does not end"};
        }
        const auto all = from.possible();
        if (std::ranges::all_of(all, &step::is_adverse)) {
            from.check_end(lab_);
        }
        result_.ends += all.empty() ? 1u : 0u;
        for (const auto& s : all) {
            path_.push_back(s);
            ++result_.transitions;
            world to = from;
            to.take(s, lab_);
            visit(to);
            path_.pop_back();
        }
    }

    laboratory lab_;
    visited_states visited_;
    std::vector<step> path_;
    std::string buffer_;
    outcome result_;
};

} // namespace colock::model::single
