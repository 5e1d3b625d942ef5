// Contenders, each a client with a session of its own, their server and an adversary: the steps
// that can happen next, and what has to be true after each of them.
#pragma once

#include "automaton.hpp"

#include <array>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace colock::model {

// What one walk is about. The budgets are those of the adversary.
struct scenario {
    std::size_t clients = 3;
    std::size_t tries = 0;    // so many of them, the last ones, do not wait
    const char* readers = ""; // an 'r' for each of them that shares the lock; for the others a 'w'
    unsigned cancels = 0;
    unsigned breaks = 0;     // of a connection
    unsigned expiries = 0;   // of a session
    unsigned removals = 0;   // of any node, by an operator
    unsigned changes = 0;    // of any node's data, by an operator
    unsigned refusals = 0;   // of a request, which can be repeated
    unsigned lies = 0;       // in a low-water mark, by an operator, which cannot be true
    unsigned reaps = 0;      // of the directory, while it is empty
    unsigned downgrades = 0; // of a writer that holds the lock
    bool foreigner =
        false; // a Curator process holds the write lock first, and may step down to a reader
    unsigned elders = 0; // foreign contenders that queue from before, and leave in any order
    bool patient_elders = false; // in their order only
    bool marked = false;         // a low-water mark from before the elders
    bool marks = false;          // in the directory, however short the queue
    bool counts = false;         // who joins expects nobody else
    const char* silent =
        "";               // an 's' for each client that does neither of these; for the others a '-'
    bool writable = true; // the directory
    bool recognised = false; // it was seen to be colock's before
    bool directory_exists = true;
    std::int64_t first_number = 0; // of the nodes in the directory, unless it is made anew
    bool ours = true;              // colock has made the directory
    bool stranger = false;         // it has a child that is no contender
    bool one_by_one = false;       // a contender joins when nothing is under way
    bool own_watch = true;         // holders watch their node
    bool rejoin_on_expiry = true;
    bool doubts = false; // nobody is granted before it is known that the session is safe
    bool barrier = true; // stands before what is sent on a new connection
    bool stalls = false; // there are two servers, which may read late what was sent to them
    unsigned offers = 0; // of the session to a server, each of which the client gives up
    bool careful =
        true; // the client offers the session only to a server that has nothing old to read
    // Clients keep what they know of the directory from one contender to the next, and forget it with their session.
    // Else `counts`, `marks` and `recognised` say what each of them knows at any time.
    bool remembers = false;
    unsigned turns = 1; // so many contenders of each client, one after the other
    // The first client has been granted the lock twice, with nobody else in between.
    bool alone_before = false;
    bool fast_path = true;
    bool drains = true;
    unsigned lags = 0; // so often a client's server falls behind the leader, until it catches up
    unsigned first_version = 0; // of the directory's data, where clients remember
    unsigned overwrites = 0;    // of the directory's data, by an operator
    unsigned replacements = 0;  // of the directory, while it is empty, by an operator's own
};

struct violation : std::runtime_error {
    using std::runtime_error::runtime_error;
};

enum class step_kind : std::uint8_t {
    process, // the server takes the next request of a client
    deliver, // a client takes the next reply or event
    join,
    leave,  // after the grant
    assure, // the session is known to be safe; those who await a proof hear of it later
    prove,
    notice_break,
    notice_expiry,
    notice_both, // the connection ends and its session is known to be over, at once
    reconnect,
    process_late,
    process_old,
    take_over,
    foreigner_leaves,
    foreigner_gives_up,
    catch_up,
    // The adversary's. Everything has to end well without any of these.
    cancel,
    break_connection,
    expire,
    remove_node,
    change_node,
    refuse,
    reap,
    lie,
    overwrite,
    replace,
    foreigner_steps_down,
    step_down,
    offer_in_vain,
    fall_behind,
};

struct step {
    step_kind kind;
    std::uint8_t which = 0; // the client, or the index of the node

    [[nodiscard]] bool is_adverse() const noexcept { return kind >= step_kind::cancel; }
};

inline std::string to_string(const step& s)
{
    static constexpr const char* names[] = {"process",
                                            "deliver",
                                            "join",
                                            "leave",
                                            "assure",
                                            "prove",
                                            "notice break",
                                            "notice expiry",
                                            "notice both",
                                            "reconnect",
                                            "process late",
                                            "process old",
                                            "take over",
                                            "foreigner leaves",
                                            "foreigner gives up",
                                            "catch up",
                                            "cancel",
                                            "break",
                                            "expire",
                                            "remove node",
                                            "change node",
                                            "refuse",
                                            "reap",
                                            "lie",
                                            "overwrite",
                                            "replace",
                                            "foreigner steps down",
                                            "step down",
                                            "offer in vain",
                                            "fall behind"};
    return std::string{names[static_cast<std::size_t>(s.kind)]} + ' ' + std::to_string(s.which);
}

using steps = boost::container::static_vector<step, 64>;

// What does not change while a world does.
class laboratory {
public:
    explicit laboratory(const scenario& s) : scenario_{s}
    {
        for (std::size_t i = 0; i != s.clients; ++i) {
            protocol::contender::settings settings;
            settings.rejoin_on_expiry = s.rejoin_on_expiry;
            settings.layout = names_;
            settings.shared = is_reader(i);
            settings.fast_path = s.fast_path;
            settings.drains = s.drains;
            settings.mark_from = s.marks && !is_silent(i) ? 1 : max_clients + 1000;
            std::vector<protocol::contender> first;
            for (unsigned turn = 0; turn != s.turns; ++turn) {
                first.push_back({settings, {.high = i + 1, .low = 1 + 1000 * turn}});
            }
            automata_.push_back(
                std::make_unique<automaton>(text_, memories_, names_, first, is_try(i)));
            known_.push_back(memories_(known_before(i)));
        }
        forgotten_ = memories_({});
    }

    // What a client knows of the directory before its first contender; or, where clients do not remember, at any time.
    [[nodiscard]] memory_id known(std::size_t client) const { return known_[client]; }
    // What it knows at the beginning of a session.
    [[nodiscard]] memory_id forgotten() const noexcept { return forgotten_; }

    [[nodiscard]] const scenario& rules() const noexcept { return scenario_; }
    [[nodiscard]] bool is_try(std::size_t client) const noexcept
    {
        return client + scenario_.tries >= scenario_.clients;
    }
    [[nodiscard]] bool is_reader(std::size_t client) const noexcept
    {
        return client < std::string_view{scenario_.readers}.size() &&
               scenario_.readers[client] == 'r';
    }
    [[nodiscard]] bool is_silent(std::size_t client) const noexcept
    {
        return client < std::string_view{scenario_.silent}.size() &&
               scenario_.silent[client] == 's';
    }
    [[nodiscard]] const layout& names() const noexcept { return names_; }
    [[nodiscard]] static layout names_of(const scenario& s)
    {
        return *s.readers != '\0' || s.foreigner ? curator_shared_layout() : curator_layout();
    }
    [[nodiscard]] automaton& contenders(std::size_t client) { return *automata_[client]; }
    [[nodiscard]] texts& text() noexcept { return text_; }

private:
    // Of a directory like that with which a world begins.
    [[nodiscard]] protocol::directory_memory known_before(std::size_t client) const
    {
        protocol::directory_memory m;
        if (scenario_.remembers) {
            if (scenario_.alone_before && client == 0) {
                m.seen(1, static_cast<std::int32_t>(scenario_.first_version));
                m.granted_alone(0);
                m.granted_alone(1);
            }
        } else if (scenario_.counts && !is_silent(client)) {
            m.made(1);
            m.granted_alone(0);
            m.granted_alone(1);
            m.marked(1, 1);
        } else if (scenario_.recognised) {
            m.read_in_queue(1, 1, true);
        }
        return m;
    }

    scenario scenario_;
    layout names_ = names_of(scenario_);
    texts text_;
    memories memories_;
    std::vector<memory_id> known_;
    memory_id forgotten_ = 0;
    std::vector<std::unique_ptr<automaton>> automata_;
};

// The client side of one contender. The watch table does what zk::watch_registry does.
struct client {
    struct watch_entry {
        text_id name;
        std::uint8_t announced = 0;
        bool set = false;
        bool subscribed = false;
    };

    state_id contender = 0;
    std::uint8_t turn = 0; // of its contenders
    memory_id memory = 0;
    bool joined = false;
    bool left = false; // the user wants no more of it
    bool granted = false;
    bool refused = false; // busy or failed
    bool lost = false;
    bool gone = false;
    bool safe = true;     // its session, as far as is known
    bool proving = false; // that it is
    bool stepping_down = false;
    text_id held = 0;            // the node of the grant
    text_id led = 0;             // the node of this client that it has last seen to be the lowest
    text_id robbed = 0;          // the node that the adversary removed
    bool robbed_holding = false; // while it was held
    boost::container::static_vector<watch_entry, max_clients + 2> watches = {};

    // What the client has been told of the directory in this session: for the checks of what it writes there.
    struct knowledge {
        std::uint8_t directory = 0;
        std::uint8_t version = 0;
        bool alone =
            false; // the last two grants followed each other, and none has tried the fast path since
        bool met = false;      // the present contender has seen other children
        bool counted = false;  // they were there when it was created
        bool denied = false;   // a write
        bool may_mark = false; // a waiter has read that this directory is colock's
        std::uint8_t next = 0; // behind the number of the last grant, if it has met nobody

        friend bool operator==(const knowledge&, const knowledge&) = default;
    };
    knowledge told = {};
};

class world {
    // Added to a client in a step that is about the other server.
    static constexpr std::size_t at_the_other = 64;

public:
    explicit world(const scenario& s)
        : one_by_one_{s.one_by_one}, stalls_{s.stalls}, careful_{s.careful}, offers_{s.offers},
          cancels_{s.cancels}, breaks_{s.breaks}, expiries_{s.expiries}, removals_{s.removals},
          downgrades_{s.downgrades}, changes_{s.changes}, refusals_{s.refusals}, reaps_{s.reaps},
          lies_{s.lies}, overwrites_{s.overwrites}, replacements_{s.replacements}, lags_{s.lags},
          remembers_{s.remembers}, turns_{s.turns}, server_{s.clients,
                                                            s.directory_exists,
                                                            laboratory::names_of(s),
                                                            s.first_number,
                                                            s.ours,
                                                            s.stranger},
          clients_(s.clients), foreigners_expected_{s.elders + (s.foreigner ? 1u : 0u)},
          may_step_down_{s.foreigner}, impatient_elders_{!s.patient_elders}
    {
        server_.writable = s.writable;
        if (s.remembers) {
            server_.versions = true;
            server_.version = static_cast<std::uint8_t>(s.first_version);
        }
        if (s.alone_before) {
            server_.counter = 2;
            clients_[0].told = {
                .directory = 1, .version = server_.version, .alone = true, .next = 2};
        }
        if (s.marked) {
            server_.mark = ++server_.counter;
        }
        for (auto& c : clients_) {
            c.safe = !s.doubts;
        }
    }

    [[nodiscard]] steps possible() const
    {
        steps all;
        const auto add = [&](step_kind kind, std::size_t which) {
            all.push_back({kind, static_cast<std::uint8_t>(which)});
        };
        for (std::size_t i = 0; i != clients_.size(); ++i) {
            const auto& c = clients_[i];
            const auto& s = server_.sessions[i];
            // In this order: they do not differ otherwise.
            const bool next = c.gone && c.turn + 1U < turns_ && s.alive && s.connected;
            if (((!c.joined && (i == 0 || remembers_ || clients_[i - 1].joined)) || next) &&
                (!one_by_one_ || is_quiet())) {
                add(step_kind::join, i);
            }
            if (!s.requests.empty() && s.alive && !s.moved) {
                add(step_kind::process, i);
                if (refusals_ != 0 && s.requests.front().op != operation::forget) {
                    add(step_kind::refuse, i);
                }
            }
            if (!s.messages.empty()) {
                add(step_kind::deliver, i);
            }
            if (s.behind) {
                add(step_kind::catch_up, i);
            } else if (lags_ != 0 && c.joined && !c.gone && s.alive && s.connected) {
                add(step_kind::fall_behind, i);
            }
            const bool queues = c.joined && !c.gone;
            const bool over = c.gone && c.turn + 1U >= turns_;
            if (c.granted && !c.left && queues) {
                add(step_kind::leave, i);
                if (downgrades_ != 0 && !c.lost && !c.stepping_down && server_.is_writer(c.held)) {
                    add(step_kind::step_down, i);
                }
            }
            if (c.proving && !c.safe && s.alive) {
                add(step_kind::assure, i);
            }
            if (c.proving && s.alive) {
                add(step_kind::prove, i);
            }
            if (!over && !s.alive) {
                add(s.connected ? step_kind::notice_break : step_kind::notice_expiry, i);
                if (s.connected) {
                    add(step_kind::notice_both, i);
                }
            }
            if (!c.gone && s.alive && s.moved) {
                add(step_kind::notice_break, i);
            }
            if (!over && s.alive && !s.connected && !stalls_) {
                add(step_kind::reconnect, i);
            }
            for (std::uint8_t server = 0; s.alive && stalls_ && server != 2; ++server) {
                const auto there = i + (server == 0 ? 0 : at_the_other);
                if (!c.gone && !s.connected && (!careful_ || s.old[server].empty())) {
                    add(step_kind::reconnect, there);
                    if (offers_ != 0) {
                        add(step_kind::offer_in_vain, there);
                    }
                }
                if (!s.old[server].empty()) {
                    add(step_kind::process_old, there);
                }
                if ((s.offered & 1U << server) != 0) {
                    add(step_kind::take_over, there);
                }
            }
            if (s.alive && s.connected && !s.late.empty()) {
                add(step_kind::process_late, i);
            }
            if (queues && !c.granted && !c.left && cancels_ != 0) {
                add(step_kind::cancel, i);
            }
            if (!c.gone && s.alive && s.connected && breaks_ != 0) {
                add(step_kind::break_connection, i);
            }
            if (queues && s.alive && expiries_ != 0) {
                add(step_kind::expire, i);
            }
        }
        if (!server_.nodes.empty() && server_.nodes.front().client == foreigner) {
            add(step_kind::foreigner_leaves, 0);
            if (may_step_down_ && !server_.nodes.front().shared) {
                add(step_kind::foreigner_steps_down, 0);
            }
        }
        for (std::size_t at = 0; at != server_.nodes.size(); ++at) {
            if (server_.nodes[at].client == foreigner) {
                if (at != 0 && impatient_elders_) {
                    add(step_kind::foreigner_gives_up, at);
                }
                continue;
            }
            if (removals_ != 0) {
                add(step_kind::remove_node, at);
            }
            if (changes_ != 0) {
                add(step_kind::change_node, at);
            }
        }
        if (reaps_ != 0 && server_.directory && server_.nodes.empty() &&
            foreigners_expected_ == 0) {
            add(step_kind::reap, 0);
        }
        if (lies_ != 0 && server_.directory) {
            add(step_kind::lie, 0);
        }
        if (overwrites_ != 0 && server_.directory) {
            add(step_kind::overwrite, 0);
        }
        if (replacements_ != 0 && server_.nodes.empty()) {
            add(step_kind::replace, 0);
        }
        return all;
    }

    void take(const step& s, laboratory& lab)
    {
        const std::size_t i = s.which % at_the_other;
        const std::uint8_t server = s.which < at_the_other ? 0 : 1;
        for (; foreigners_expected_ != 0; --foreigners_expected_) {
            server_.settle_foreigner(lab.text());
        }
        switch (s.kind) {
        case step_kind::process:
            server_.woken.clear();
            server_.was_foreign = false;
            server_.process(i, lab.text());
            check_herd(lab);
            // A directory that was made in place of another one, and written to as often, cannot be told from it.
            require(!server_.was_foreign || clients_[i].told.directory != server_.incarnation,
                    "contract: somebody's directory is written to");
            break;
        case step_kind::deliver: deliver(i, lab); break;
        case step_kind::join:
            if (clients_[i].joined) {
                begin_next(clients_[i]);
            } else {
                clients_[i].memory = lab.known(i);
            }
            clients_[i].joined = true;
            run(i, lab,
                {.kind = input_kind::join,
                 .connected = server_.sessions[i].connected,
                 .session = server_.sessions[i].id});
            break;
        case step_kind::cancel: --cancels_; [[fallthrough]];
        case step_kind::leave:
            clients_[i].left = true;
            run(i, lab, {.kind = input_kind::leave});
            break;
        case step_kind::assure: clients_[i].safe = true; break;
        case step_kind::prove:
            clients_[i].safe = true;
            clients_[i].proving = false;
            run(i, lab, {.kind = input_kind::proved});
            break;
        case step_kind::break_connection: --breaks_; [[fallthrough]];
        case step_kind::notice_break:
            drop_connection(i, lab);
            run(i, lab, {.kind = input_kind::suspended});
            break;
        case step_kind::notice_both: drop_connection(i, lab); [[fallthrough]];
        case step_kind::notice_expiry:
            server_.new_session(i);
            clients_[i].safe = !lab.rules().doubts;
            if (remembers_) {
                clients_[i].memory = lab.forgotten();
                clients_[i].told = {};
            }
            run(i, lab, {.kind = input_kind::expired});
            break;
        case step_kind::reconnect:
            if (stalls_) {
                server_.connect_to(i, server);
            } else {
                server_.connect(i, lab.rules().barrier);
            }
            run(i, lab, {.kind = input_kind::connected, .session = server_.sessions[i].id});
            break;
        case step_kind::step_down:
            --downgrades_;
            run(i, lab, {.kind = input_kind::step_down});
            break;
        case step_kind::foreigner_leaves:
        case step_kind::foreigner_gives_up:
            server_.remove(i);
            check_herd(lab);
            break;
        case step_kind::foreigner_steps_down:
            server_.downgrade_foreigner(lab.text());
            check_herd(lab);
            break;
        case step_kind::process_late: server_.process_late(i, lab.text()); break;
        case step_kind::process_old: server_.process_old(i, server, lab.text()); break;
        case step_kind::take_over: server_.take_over(i, server); break;
        case step_kind::offer_in_vain:
            --offers_;
            server_.sessions[i].offered |= static_cast<std::uint8_t>(1U << server);
            break;
        case step_kind::expire:
            --expiries_;
            server_.expire(i);
            check_herd(lab);
            break;
        case step_kind::remove_node:
            --removals_;
            rob(clients_[server_.nodes[i].client], server_.nodes[i].name);
            server_.remove(i);
            check_herd(lab);
            break;
        case step_kind::change_node:
            --changes_;
            server_.change(i);
            break;
        case step_kind::refuse:
            --refusals_;
            server_.refuse(i);
            break;
        case step_kind::lie:
            --lies_;
            server_.mark = 200; // more than all numbers
            break;
        case step_kind::overwrite:
            --overwrites_;
            server_.overwrite();
            break;
        case step_kind::replace:
            --replacements_;
            server_.replace();
            break;
        case step_kind::fall_behind:
            --lags_;
            server_.fall_behind(i);
            break;
        case step_kind::catch_up: server_.catch_up(i); break;
        case step_kind::reap:
            --reaps_;
            server_.reap();
            break;
        }
        check(lab);
    }

    // No step of the adversary included, nothing can happen any more.
    void check_end(const scenario& rules) const
    {
        for (const auto& c : clients_) {
            require(c.gone, "G4: a contender is stuck");
        }
        const bool undisturbed = rules.tries == 0 && !rules.foreigner &&
                                 rules.cancels + rules.breaks + rules.expiries + rules.removals +
                                         rules.refusals + rules.downgrades ==
                                     0;
        if (undisturbed && rules.drains && rules.ours && !rules.stranger &&
            rules.first_number >= protocol::drain_from) {
            require(server_.first_number == 0, "G4: the directory has not begun anew");
        }
    }

    // A text that is equal for equal worlds.
    void write(std::string& to) const
    {
        const auto byte = [&](auto value) { to += static_cast<char>(value); };
        const auto word = [&](auto value) {
            for (unsigned shift = 0; shift < 8 * sizeof value; shift += 8) {
                to += static_cast<char>(value >> shift);
            }
        };
        byte(cancels_ | breaks_ << 2 | expiries_ << 4 | removals_ << 6);
        byte(changes_ | refusals_ << 2 | reaps_ << 4 | unsigned{server_.directory} << 6);
        byte(lies_ | overwrites_ << 2 | replacements_ << 4);
        if (remembers_) {
            byte(server_.incarnation | unsigned{server_.ours} << 6 |
                 unsigned{server_.made_by_colock} << 7);
            byte(server_.version);
        }
        byte(offers_ | lags_ << 4);
        byte(server_.counter);
        byte(server_.mark);
        byte(server_.creations);
        byte(last_granted_);
        byte(last_writer_);
        byte(downgrades_ | unsigned{server_.first_number != 0} << 4);
        byte(server_.nodes.size());
        for (const auto& n : server_.nodes) {
            word(n.name); // which determines the client
            byte(n.owner);
            byte(n.czxid);
        }
        for (std::size_t i = 0; i != clients_.size(); ++i) {
            const auto& c = clients_[i];
            word(c.contender);
            byte(c.joined | c.left << 1 | c.granted << 2 | c.refused << 3 | c.lost << 4 |
                 c.gone << 5 | c.robbed_holding << 6 | c.proving << 7);
            byte(c.stepping_down | c.safe << 1);
            if (remembers_) {
                byte(c.turn);
                word(c.memory);
                byte(c.told.directory);
                byte(c.told.version);
                byte(c.told.alone | c.told.met << 1 | c.told.denied << 2 | c.told.may_mark << 3 |
                     c.told.counted << 4);
                byte(c.told.next);
            }
            word(c.held);
            word(c.led);
            word(c.robbed);
            byte(c.watches.size());
            for (const auto& w : c.watches) {
                word(w.name);
                byte(w.announced | w.set << 6 | w.subscribed << 7);
            }
            const auto& s = server_.sessions[i];
            byte(s.id);
            byte(s.alive | s.connected << 1 | s.moved << 2 | s.at << 3 | s.owner << 4 |
                 s.offered << 5);
            for (const auto& old : s.old) {
                byte(old.size());
                for (const auto& r : old) {
                    byte(r.op);
                    word(r.name);
                }
            }
            word(s.led);
            byte(s.behind.has_value());
            if (s.behind) {
                const auto& v = *s.behind;
                byte(v.directory | v.ours << 1);
                byte(v.mark);
                byte(v.incarnation);
                byte(v.version);
                word(v.led);
                byte(v.nodes.size());
                for (const auto& n : v.nodes) {
                    word(n.name);
                    byte(n.czxid);
                }
                byte(v.changes.size());
                for (const auto& ch : v.changes) {
                    word(ch.name);
                    byte(ch.deleted);
                    word(ch.led);
                }
            }
            byte(s.requests.size());
            for (const auto& r : s.requests) {
                byte(static_cast<unsigned>(r.op) | unsigned{r.turn} << 5 | unsigned{r.wanted} << 7);
                word(r.name);
                byte(r.version);
            }
            byte(s.late.size());
            for (const auto& r : s.late) {
                byte(r.op);
                word(r.name);
            }
            byte(s.messages.size());
            for (const auto& m : s.messages) {
                byte(static_cast<unsigned>(m.op) | unsigned{m.wanted} << 7 |
                     unsigned{m.is_event} << 6 | unsigned{m.deleted} << 5 | unsigned{m.ours} << 4);
                byte(static_cast<unsigned>(m.code) | unsigned{m.turn} << 3 |
                     unsigned{m.alone} << 7);
                byte(m.directory);
                byte(m.version);
                word(m.name);
                byte(m.owner);
                byte(m.czxid);
                byte(m.mark);
                word(m.led);
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

private:
    static void require(bool truth, const char* what)
    {
        if (!truth) {
            throw violation{what};
        }
    }

    static void rob(client& c, text_id name)
    {
        c.robbed = name;
        c.robbed_holding = c.held == name && !c.left;
    }

    // ---- a client and its contender

    // The next one of its contenders.
    static void begin_next(client& c)
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
    static void learn(client& c, const message& m)
    {
        auto& told = c.told;
        const bool writes =
            m.op == operation::create_and_count || m.op == operation::mark_directory;
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

    void run(std::size_t i, laboratory& lab, input in)
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
            require(std::ranges::any_of(c.watches,
                                        [&](const client::watch_entry& w) {
                                            return w.name == c.held && w.subscribed;
                                        }),
                    "G1: granted on a proof, and the own node may be gone");
        }
        if (c.granted && !was_granted && lab.rules().own_watch) {
            run(i, lab, {.kind = input_kind::watch_own_node});
        }
    }

    void obey(std::size_t i, const output& o, laboratory& lab)
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
        case kind::mark_directory:
            require(o.name == lab.contenders(i).name(c.contender),
                    "contract: the own node is not checked");
            check_worth(c, o.version);
            send(i, {.op = operation::mark_directory, .name = o.name, .version = o.version});
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
            require(lies_ != lab.rules().lies,
                    "contract: a low-water mark is refused that is true");
            break;
        case kind::remove_directory:
            require(lab.rules().ours && !lab.rules().stranger && lab.rules().first_number != 0,
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
            require(c.led == c.held,
                    "G1: granted without having seen that nobody blocks the own node");
            require(c.safe, "G5: granted before the session is known to be safe");
            require(!is_exhausted(c.held, lab), "G1: granted a number that may come again");
            check_order(c.held,
                        static_cast<std::uint8_t>(lab.contenders(i)[c.contender].identity().czxid),
                        lab);
            break;
        case kind::busy:
            require(!c.granted && !c.refused, "contract: a second outcome");
            require(lab.is_try(i), "contract: busy, but it was to wait");
            require(std::ranges::count(clients_, true, &client::joined) > 1 ||
                        lab.rules().foreigner || lab.rules().elders != 0,
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
    void check_worth(const client& c, std::uint8_t version) const
    {
        if (remembers_) {
            require(c.told.alone, "contract: the fast path, and others may be there");
            require(!c.told.denied, "contract: a write that is known not to be permitted");
            require(version == c.told.version,
                    "contract: a write of data that are known to be old");
        }
    }

    static void note_grant(client& c, text_id node, laboratory& lab)
    {
        const auto number = protocol::number_of(lab.names(), lab.text()[node]).value_or(-1);
        auto& told = c.told;
        told.alone = !told.met && told.next != 0 && number == told.next;
        told.next = told.met ? std::uint8_t{0} : static_cast<std::uint8_t>(number + 1);
    }

    // Whether the node is one that must not be granted.
    [[nodiscard]] static bool is_exhausted(text_id name, laboratory& lab)
    {
        const auto number = protocol::number_of(lab.names(), lab.text()[name]);
        return number && *number >= protocol::last_number;
    }

    void send(std::size_t i, request r)
    {
        require(server_.sessions[i].connected, "contract: a request without a connection");
        r.turn = clients_[i].turn;
        server_.sessions[i].requests.push_back(r);
    }

    void unwatch(std::size_t i, text_id name)
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

    static client::watch_entry& entry(client& c, text_id name)
    {
        const auto at = std::ranges::lower_bound(c.watches, name, {}, &client::watch_entry::name);
        return at != c.watches.end() && at->name == name ? *at : *c.watches.insert(at, {name});
    }

    void settle(std::size_t i, text_id name)
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

    void deliver(std::size_t i, laboratory& lab)
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
                    {.kind = m.deleted ? input_kind::deleted : input_kind::changed,
                     .name = m.name});
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
        run(i, lab, reply(m, static_cast<answer>(m.code)));
    }

    static input reply(const message& m, answer code)
    {
        static constexpr input_kind kinds[] = {input_kind::directory_made,
                                               input_kind::created,
                                               input_kind::counted,
                                               input_kind::listed,
                                               input_kind::watched,
                                               input_kind::removed,
                                               input_kind::removed_and_marked,
                                               input_kind::stepped_down,
                                               input_kind::directory_read,
                                               input_kind::directory_identified,
                                               input_kind::directory_marked};
        const auto kind = kinds[static_cast<std::size_t>(m.op)];
        if (code != answer::ok) {
            // The name is the client's own knowledge only of a watch.
            return {
                .kind = kind, .code = code, .name = m.op == operation::watch ? m.name : text_id{0}};
        }
        return {.kind = kind,
                .session = m.owner,
                .czxid = m.czxid,
                .name = m.name,
                .ours = m.ours,
                .alone = m.alone,
                .mark = m.mark,
                .directory = m.directory,
                .version = m.version,
                .children = m.children};
    }

    // Everything that is open is answered: what became of it is not known.
    void drop_connection(std::size_t i, laboratory& lab)
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
                run(i, lab, reply(m, answer::unknown));
            }
        }
    }

    // ---- what has to be true

    void check_herd(laboratory& lab) const
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
                return !m.is_event && m.op == operation::watch && m.name == server_.removed &&
                       m.wanted;
            };
            // Nor those who wait for a directory to be made anew: that is once in 2^31 grants.
            if (lab.contenders(i)[clients_[i].contender].waits_without_place()) {
                continue;
            }
            const bool wants = std::ranges::any_of(clients_[i].watches, refers) ||
                               std::ranges::any_of(s.messages, answers);
            count += wants && server_.has_node(i) ? 1u : 0u;
        }
        require(count <= std::max<std::size_t>(2, server_.freed + 1),
                "G7: a deletion wakes more than two, or those it frees and one");
    }

    // The places of the grants only grow; without foreign intervention also in the order of their
    // reports.
    void check_order(text_id name, std::uint8_t czxid, laboratory& lab)
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

    void check(laboratory& lab)
    {
        for (std::size_t i = 0; i != clients_.size(); ++i) {
            auto& c = clients_[i];
            const auto& s = server_.sessions[i];
            const auto& contender = lab.contenders(i)[c.contender];
            require(contender.holds() == (c.granted && !c.left && !c.lost), "contract: holds()");
            require(contender.is_gone() == c.gone, "contract: is_gone()");
            require(server_.nodes_of(i) <= 1, "G3: a contender has two nodes");
            require(!c.gone || !server_.has_node(i),
                    "G3: a contender is gone, and its node is left");
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
    [[nodiscard]] bool is_quiet() const
    {
        for (std::size_t i = 0; i != clients_.size(); ++i) {
            const auto& s = server_.sessions[i];
            if (!clients_[i].gone && (!s.connected || !s.alive)) {
                return false;
            }
            if (s.moved || s.behind ||
                (s.alive && (!s.requests.empty() || !s.messages.empty() || !s.late.empty()))) {
                return false;
            }
        }
        return true;
    }

    // Then everybody has to be where he belongs without waiting for anything else to happen.
    void check_quiet(laboratory& lab) const
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
            require(c.watches.size() == s.watches.size(),
                    "G3: watches of client and server differ");
            require(s.watches.size() <= (contender.holds() ? 1u : 3u), "G3: too many watches");
            require(!c.left, "G3: a contender does not end");
            const auto at = server_.find(lab.contenders(i).name(c.contender));
            const bool first = at != server_.nodes.size() && !server_.blocked(at);
            if (c.proving && !c.granted && (first || at == server_.nodes.size())) {
                continue; // looks again when the proof has come
            }
            if (contender.waits_without_place()) {
                require(at == server_.nodes.size() && s.watches.size() == 1 &&
                            server_.exists(s.watches.front()),
                        "G4: one who holds back waits for nobody");
                continue;
            }
            if (at == server_.nodes.size()) {
                require(contender.holds() && !lab.rules().own_watch,
                        contender.holds() ? "G5: a holder is not told that its node is gone"
                                          : "G4: a contender waits without a node");
                continue;
            }
            require(first == contender.holds(), first ? "G4: one whom nobody blocks is not granted"
                                                      : "G1: a holder is not first");
        }
    }

    bool one_by_one_;
    bool stalls_;
    bool careful_;
    unsigned offers_;
    unsigned cancels_, breaks_, expiries_, removals_, downgrades_, changes_, refusals_, reaps_,
        lies_, overwrites_, replacements_, lags_;
    bool remembers_;
    unsigned turns_;
    std::uint8_t last_granted_ = 0; // the last one, by the transaction that created its node
    std::uint8_t last_writer_ = 0;  // of those who do not share
    zookeeper server_;
    boost::container::static_vector<client, max_clients> clients_;
    unsigned foreigners_expected_; // before the first step
    bool may_step_down_;
    bool impatient_elders_;
};

} // namespace colock::model
