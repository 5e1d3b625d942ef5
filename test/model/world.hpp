// Contenders, each a client with a session of its own, their server and an adversary: the steps
// that can happen next, and what has to be true after each of them.
#pragma once

#include "world_state.hpp"

namespace colock::model {

class world {
    // Added to a client in a step that is about the other server.
    static constexpr std::size_t at_the_other = 64;

public:
    explicit world(const laboratory& lab) : world{lab.rules()} {}
    explicit world(const scenario& s)
        : one_by_one_{s.one_by_one}, stalls_{s.stalls}, careful_{s.careful}, offers_{s.offers},
          cancels_{s.cancels}, breaks_{s.breaks}, expiries_{s.expiries}, removals_{s.removals},
          downgrades_{s.downgrades}, changes_{s.changes}, refusals_{s.refusals},
          denials_{s.denials}, reaps_{s.reaps}, lags_{s.lags}, server_{s.clients,
                                                                       s.directory_exists,
                                                                       laboratory::names_of(s),
                                                                       s.first_number,
                                                                       s.replaceable,
                                                                       s.stranger},
          clients_(s.clients), foreigners_expected_{s.elders + (s.foreigner ? 1u : 0u)},
          may_step_down_{s.foreigner}, impatient_elders_{!s.patient_elders}
    {
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
            if (!c.joined && (i == 0 || clients_[i - 1].joined) && (!one_by_one_ || is_quiet())) {
                add(step_kind::join, i);
            }
            if (!s.requests.empty() && s.alive && !s.moved && !server_.stands_by(i)) {
                add(step_kind::process, i);
                if (refusals_ != 0 && s.requests.front().op != operation::forget) {
                    add(step_kind::refuse, i);
                }
                if (denials_ != 0 && c.stepping_down && s.requests.front().op == operation::list) {
                    add(step_kind::deny, i);
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
            if (!c.gone && !s.alive) {
                add(s.connected ? step_kind::notice_break : step_kind::notice_expiry, i);
                if (s.connected) {
                    add(step_kind::notice_both, i);
                }
            }
            if (!c.gone && s.alive && s.moved) {
                add(step_kind::notice_break, i);
            }
            if (!c.gone && s.alive && !s.connected && !stalls_) {
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
            server_.process(i, lab.text());
            check_herd();
            break;
        case step_kind::deliver: deliver(i, lab); break;
        case step_kind::join:
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
            check_herd();
            break;
        case step_kind::foreigner_steps_down:
            server_.downgrade_foreigner(lab.text());
            check_herd();
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
            check_herd();
            break;
        case step_kind::remove_node:
            --removals_;
            rob(clients_[server_.nodes[i].client], server_.nodes[i].name);
            server_.remove(i);
            check_herd();
            break;
        case step_kind::change_node:
            --changes_;
            server_.change(i);
            break;
        case step_kind::refuse:
            --refusals_;
            server_.refuse(i, result::throttled);
            break;
        case step_kind::deny:
            --denials_;
            server_.refuse(i, result::no_auth);
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
    void check_end(const laboratory& lab) const
    {
        const auto& rules = lab.rules();
        for (const auto& c : clients_) {
            require(c.gone, "G4: a contender is stuck");
        }
        const bool undisturbed = rules.tries == 0 && !rules.foreigner &&
                                 rules.cancels + rules.breaks + rules.expiries + rules.removals +
                                         rules.refusals + rules.downgrades ==
                                     0;
        if (undisturbed && rules.replaceable && !rules.stranger &&
            rules.first_number >= protocol::late_from_number) {
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
        byte(server_.incarnation | unsigned{server_.replaceable} << 7);
        byte(offers_ | lags_ << 4);
        byte(server_.counter);
        byte(server_.creations);
        byte(last_granted_);
        byte(last_writer_);
        byte(downgrades_ | unsigned{server_.first_number != 0} << 4 | denials_ << 5);
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
            byte(c.directory);
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
                byte(v.directory);
                byte(v.incarnation);
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
                byte(static_cast<unsigned>(r.op) | unsigned{r.wanted} << 7);
                word(r.name);
                byte(r.directory);
            }
            byte(s.late.size());
            for (const auto& r : s.late) {
                byte(r.op);
                word(r.name);
            }
            byte(s.messages.size());
            for (const auto& m : s.messages) {
                byte(static_cast<unsigned>(m.op) | unsigned{m.wanted} << 7 |
                     unsigned{m.is_event} << 6 | unsigned{m.deleted} << 5 |
                     unsigned{m.replaceable} << 4);
                byte(m.code);
                byte(m.directory);
                word(m.name);
                byte(m.owner);
                byte(m.czxid);
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

    void run(std::size_t i, laboratory& lab, input in);
    void obey(std::size_t i, const output& o, laboratory& lab);
    [[nodiscard]] static bool is_exhausted(text_id name, laboratory& lab);
    void send(std::size_t i, request r);
    void unwatch(std::size_t i, text_id name);
    static client::watch_entry& entry(client& c, text_id name);
    void settle(std::size_t i, text_id name);
    void deliver(std::size_t i, laboratory& lab);
    void drop_connection(std::size_t i, laboratory& lab);

    // ---- what has to be true

    void check_herd() const;
    void check_order(text_id name, std::uint8_t czxid, laboratory& lab);
    void check(laboratory& lab);
    [[nodiscard]] bool is_quiet() const;
    void check_quiet(laboratory& lab) const;

    bool one_by_one_;
    bool stalls_;
    bool careful_;
    unsigned offers_;
    unsigned cancels_, breaks_, expiries_, removals_, downgrades_, changes_, refusals_, denials_,
        reaps_, lags_;
    std::uint8_t last_granted_ = 0; // the last one, by the transaction that created its node
    std::uint8_t last_writer_ = 0;  // of those who do not share
    zookeeper server_;
    boost::container::static_vector<client, max_clients> clients_;
    unsigned foreigners_expected_; // before the first step
    bool may_step_down_;
    bool impatient_elders_;
};

} // namespace colock::model

#include "world_checks.hpp" // what these functions do
#include "world_clients.hpp"
