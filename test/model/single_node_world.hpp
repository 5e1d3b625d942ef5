// The lock without a queue: sessions with one contender or several each, a server that has the one node, a foreign
// service that locks in the same way, and an adversary. What can happen next, and what has to be true after each step.
#pragma once

#include "depth_first.hpp"
#include "messages.hpp"
#include "queue/single_node.hpp"

#include <cstdint>
#include <string>
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
    bool own_watch = true; // holders watch their node
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
        protocol::single_node first{s.rejoin_on_expiry};
        static_cast<void>(id_of(first));
    }

    [[nodiscard]] const protocol::single_node& operator[](std::uint32_t id) const
    {
        return states_[id];
    }
    [[nodiscard]] std::uint32_t id_of(const protocol::single_node& value)
    {
        return states_.id_of(value, static_cast<std::size_t>(value.identity().czxid));
    }

    const scenario rules;

private:
    numbering<protocol::single_node> states_;
};

class world {
public:
    explicit world(const laboratory& lab) : world{lab.rules} {}
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
                    p.yield_turn(true);
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

    // Somebody else deletes the node: its holder is about to lose the lock.
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
    void for_all(session& s, laboratory& lab, Input input);
    // Not a lambda within run(): that would be another one for each input, without end.
    struct watching_own_node {
        void operator()(protocol::single_node& p, protocol::commands& out) const
        {
            p.watch_own_node(out);
        }
    };

    template <class Input>
    void run(session& s, contender& c, laboratory& lab, Input input);
    void obey(session& s, contender& c, const laboratory& lab, const protocol::command& command);
    void unwatch(session& s, contender& c);
    void settle(session& s);
    void deliver(session& s, laboratory& lab);
    void answer(session& s, contender& c, laboratory& lab, const message& m);
    void drop_connection(session& s, laboratory& lab);

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
                require(own || !lab.rules.own_watch,
                        "G5: a holder is not told that its node is gone");
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

using exhaustive_walk = depth_first_walk<world, laboratory>;

} // namespace colock::model::single

#include "single_node_clients.hpp"
