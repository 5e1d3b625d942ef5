// The world of test/model/permits.hpp: its steps, and what has to be true.
#pragma once

#include "permits_clients.hpp"

namespace colock::model::permits {

class world final : public clients {
public:
    using clients::clients;

    [[nodiscard]] std::vector<step> possible() const
    {
        std::vector<step> all;
        for (std::size_t i = 0; i != sessions_.size(); ++i) {
            const auto& s = sessions_[i];
            const auto add = [&](step_kind kind, std::size_t who = 0) {
                all.push_back({kind, static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(who)});
            };
            bool over = true, begun = false;
            for (std::size_t who = 0; who != s.all.size(); ++who) {
                const auto& a = s.all[who];
                over = over && is_over(a);
                begun |= a.begun;
                if (!a.begun && (who == 0 || s.all[who - 1].begun)) {
                    add(step_kind::begin, who);
                }
                if (a.outcome == outcome_of::granted && !a.released) {
                    add(step_kind::release, who);
                }
                if (a.pausing) {
                    add(step_kind::resume, who);
                }
                if (a.waiting && (a.list.fired || a.limit.fired || s.lost != code::ok)) {
                    add(step_kind::change, who);
                }
                if (a.begun && a.outcome == outcome_of::none && !a.left) {
                    if (left_.cancels != 0) {
                        add(step_kind::cancel_at_once, who);
                        add(step_kind::cancel, who);
                    }
                    if (left_.deadlines != 0) {
                        add(step_kind::deadline, who);
                    }
                }
            }
            if (!s.requests.empty() && s.alive) {
                add(step_kind::process);
                if (left_.refusals != 0 && s.requests.front().op == operation::create) {
                    add(step_kind::refuse);
                }
            }
            if (!s.messages.empty()) {
                add(step_kind::deliver);
            }
            if (!s.alive) {
                add(s.connected ? step_kind::notice_break : step_kind::notice_expiry);
            } else if (!s.connected) {
                add(step_kind::reconnect);
            } else if (left_.breaks != 0 && begun && !over) {
                add(step_kind::break_connection);
            }
            if (s.alive && left_.expiries != 0 && begun && !over) {
                add(step_kind::expire);
            }
            if (left_.doubts != 0 && s.holder != 0 && s.lost == code::ok) {
                add(step_kind::doubt);
            }
        }
        if (left_.later != 0) {
            all.push_back({step_kind::change_limit});
        }
        if (has_ghosts()) {
            all.push_back({step_kind::sweep});
        }
        if (left_.removals != 0 && !leases_.empty()) {
            all.push_back({step_kind::remove_lease});
        }
        if (left_.queue_removals != 0 && !queue_.empty()) {
            all.push_back({step_kind::remove_place});
        }
        if (left_.reaps != 0 && directory_ && leases_.empty()) {
            all.push_back({step_kind::reap});
        }
        if (left_.rivals != 0) {
            all.push_back({step_kind::rival_comes});
        }
        if (rival_ == rival::there) {
            all.push_back({step_kind::rival_looks});
        }
        return all;
    }

    void take(const step& taken, laboratory& lab)
    {
        auto& s = sessions_[taken.session];
        auto& a = s.all[taken.who];
        switch (taken.kind) {
        case step_kind::process: process(s, lab); break;
        case step_kind::deliver: deliver(s, lab); break;
        case step_kind::begin:
            a.begun = true;
            tell(s, a, lab, [](auto& p, auto& out) { p.begin({}, out); });
            break;
        case step_kind::release:
            a.released = true;
            remove_permits(s, a);
            break;
        case step_kind::resume: resume(s, a, lab); break;
        case step_kind::change: change(s, a, lab); break;
        case step_kind::cancel_at_once: cancel(s, a, lab, true); break;
        case step_kind::cancel: cancel(s, a, lab, false); break;
        case step_kind::deadline:
            --left_.deadlines;
            a.left = true;
            tell(s, a, lab, [&](auto& p, auto& out) {
                p.deadline_reached(s.connected ? error_code{} : errc::disconnected, out);
            });
            break;
        case step_kind::break_connection: --left_.breaks; [[fallthrough]];
        case step_kind::notice_break: drop_connection(s, lab); break;
        case step_kind::notice_expiry: expire(s, lab); break;
        case step_kind::reconnect: reconnect(s); break;
        case step_kind::change_limit:
            limit_ = static_cast<std::uint8_t>(std::exchange(left_.later, 0));
            ++limit_version_;
            for_each([&](session& of, acquisition& each) {
                if (std::exchange(each.limit.armed, false)) {
                    of.messages.push_back({operation::limit_changed, number_of(of, each)});
                }
            });
            break;
        case step_kind::sweep: sweep(); break;
        case step_kind::expire:
            --left_.expiries;
            s.alive = false;
            if (!lab.rules.ghosts) {
                forget(s.id);
            }
            break;
        case step_kind::remove_lease:
            --left_.removals;
            leases_.erase(leases_.begin());
            leases_changed();
            break;
        case step_kind::remove_place:
            --left_.queue_removals;
            remove_place(queue_.front().first);
            break;
        case step_kind::doubt:
            --left_.doubts;
            s.lost = code::unknown;
            break;
        case step_kind::refuse: {
            --left_.refusals;
            const auto r = s.requests.front();
            s.requests.erase(s.requests.begin());
            s.messages.push_back({r.op, r.who, code::throttled});
            break;
        }
        case step_kind::rival_comes:
            --left_.rivals;
            rival_ = rival::there;
            break;
        case step_kind::rival_looks:
            rival_ =
                directory_ ? rival::none : rival::granted; // it takes its node back, or goes on
            break;
        case step_kind::reap:
            --left_.reaps;
            directory_ = false;
            leases_changed();
            break;
        }
        settle(lab);
        check();
    }

    void check_end(const laboratory&) const
    {
        for (const auto& s : sessions_) {
            for (const auto& a : s.all) {
                require(a.gone, "G4: an acquisition is stuck");
            }
        }
        require(leases_.empty(), "G3: a permit is left");
        require(queue_.empty(), "G3: a node is left in the queue");
    }

    // Equal for equal worlds.
    void write(std::string& to) const
    {
        const auto bytes = [&](auto... values) { (to.push_back(static_cast<char>(values)), ...); };
        bytes(left_.cancels, left_.deadlines, left_.breaks, left_.expiries, left_.removals,
              left_.queue_removals, left_.doubts, left_.refusals, left_.reaps, left_.later,
              left_.rivals, rival_, directory_, made_, maximum_, limit_, limit_version_,
              list_version_, places_, queue_.size());
        for (const auto& [owner, number] : queue_) {
            bytes(owner, number);
        }
        const auto write_leases = [&](const leases& all) {
            bytes(all.size());
            for (const auto& l : all) {
                bytes(l.session, l.high, l.low, l.serial);
            }
        };
        write_leases(leases_);
        for (const auto& s : sessions_) {
            bytes(s.id, s.alive | s.connected << 1, s.compared, s.place, s.number, s.holder,
                  s.unlocking, s.lost, s.waiting.size(), s.requests.size(), s.unsent.size(),
                  s.messages.size());
            for (const auto who : s.waiting) {
                bytes(who);
            }
            for (const auto* list : {&s.requests, &s.unsent}) {
                for (const auto& r : *list) {
                    bytes(r.op, r.who | r.wanted << 4, r.low, r.number, r.limit_version);
                }
            }
            for (const auto& m : s.messages) {
                bytes(m.op, m.who | m.wanted << 4, m.answer, m.number, m.limit);
                write_leases(m.found);
            }
            for (const auto& a : s.all) {
                bytes(a.state, a.state >> 8, a.state >> 16,
                      a.begun | a.left << 1 | a.gone << 2 | a.pausing << 3 | a.waiting << 4 |
                          a.released << 5 | a.removing << 6 | a.lost << 7,
                      a.outcome, a.low, a.expired, a.read_maximum, a.read_from);
                for (const auto* w : {&a.list, &a.limit}) {
                    bytes(w->alive | w->fired << 1 | w->armed << 2 | w->taken << 3, w->seen);
                }
            }
        }
    }

private:
    // ---- what has to be true

    void check() const
    {
        for (const auto& s : sessions_) {
            for (const auto& a : s.all) {
                require(rival_ != rival::granted || a.outcome != outcome_of::granted || a.released,
                        "G1: permits beside a lock of another kind");
            }
            if (s.connected && s.alive && s.requests.empty() && s.messages.empty()) {
                check_quiet(s);
            }
        }
    }

    // Nothing is under way.
    void check_quiet(const session& s) const
    {
        bool over = true;
        for (const auto& a : s.all) {
            over = over && (!a.begun || is_over(a));
            if (!a.begun || a.gone || a.pausing) {
                continue;
            }
            const auto who = number_of(s, a);
            if (a.waiting) {
                const bool wakes = a.list.fired || a.limit.fired || s.lost != code::ok;
                require(wakes || a.list.armed, "G4: will not hear of permits that are released");
                require(wakes || !left_.counter || a.limit.armed,
                        "G4: will not hear of another limit");
                require(wakes || !fits(s), "G4: waits for permits that are there");
            } else {
                require(std::ranges::find(s.waiting, who) != s.waiting.end(),
                        "G4: an acquisition waits for nothing");
                require(s.holder != 0 || (place_of(s.id) != queue_.size() && place_of(s.id) != 0),
                        "G4: waits for nobody");
            }
        }
        if (over && s.place == place_state::none) {
            require(place_of(s.id) == queue_.size(), "G3: a node is left in the queue");
            require(
                std::ranges::none_of(leases_, [&](const lease& l) { return l.session == s.id; }),
                "G3: a permit is left");
        }
    }

    [[nodiscard]] bool fits(const session& s) const
    {
        return directory_ &&
               static_cast<std::int64_t>(leases_.size()) + left_.wanted[index_of(s)] <=
                   (left_.numbers.empty() ? limit_ : left_.numbers[index_of(s)]);
    }
};

using exhaustive_walk = depth_first_walk<world, laboratory>;

} // namespace colock::model::permits
