// The clients of test/model/permits.hpp: they carry out what their acquisitions want.
#pragma once

#include "permits_server.hpp"

namespace colock::model::permits {

class clients : public server {
public:
    using server::server;

protected:
    // ---- the queue's lock, in a client

    void send(session& s, const request& r) { (s.connected ? s.requests : s.unsent).push_back(r); }
    void join(session& s)
    {
        s.place = place_state::joining;
        if (s.connected) { // else it begins with the next connection
            s.requests.push_back({operation::join});
        }
    }
    void leave(session& s)
    {
        s.place = place_state::leaving;
        if (s.connected) {
            s.requests.push_back({operation::leave});
        }
    }

    void lock(session& s, std::uint8_t who, const laboratory& lab)
    {
        if (!tries(s, lab)) {
            s.waiting.push_back(who);
            if (s.place == place_state::none) {
                join(s);
            }
        } else if (!s.connected) {
            answer_later(s, operation::granted, who, code::unknown);
        } else if (s.place == place_state::none) {
            s.waiting.push_back(who);
            s.place = place_state::joining;
            s.requests.push_back({operation::try_join, who});
        } else {
            answer_later(s, operation::busy, who, code::ok);
        }
    }

    void unlock(session& s, std::uint8_t who, bool awaited)
    {
        require(s.holder == who + 1, "contract: unlocks what it does not hold");
        s.holder = 0;
        const auto lost = std::exchange(s.lost, code::ok);
        const bool has_place = lost == code::ok || lost == code::unknown;
        if (lost == code::ok && !s.waiting.empty()) {
            hand_over(s);
        } else if (has_place) {
            leave(s);
        } else {
            s.place = place_state::none;
            if (!s.waiting.empty()) {
                join(s);
            }
        }
        if (awaited && s.place == place_state::leaving && lost == code::ok) {
            s.unlocking = static_cast<std::uint8_t>(who + 1);
        } else if (awaited) {
            answer_later(s, operation::queue_unlocked, who, code::ok);
        }
    }

    void hand_over(session& s)
    {
        const auto next = s.waiting.front();
        s.waiting.erase(s.waiting.begin());
        s.holder = static_cast<std::uint8_t>(next + 1);
        answer_later(s, operation::granted, next, code::ok);
    }

    void placed(session& s, const message& m)
    {
        if (m.op == operation::place_gone) {
            if (s.place == place_state::held && s.holder != 0) {
                s.lost = s.lost == code::ok ? code::no_node : s.lost;
            } else if (s.place == place_state::joining) {
                join(s);
            }
            return;
        }
        if (s.place != place_state::joining || s.waiting.empty()) {
            return; // it leaves, or has been told twice
        }
        if (m.op == operation::busy) {
            s.place = place_state::none;
            const auto who = s.waiting.front();
            s.waiting.clear();
            answer_later(s, operation::busy, who, code::ok);
            return;
        }
        s.place = place_state::held;
        s.number = m.number;
        hand_over(s);
    }

    void unlocked(session& s)
    {
        s.place = place_state::none;
        if (const auto who = std::exchange(s.unlocking, std::uint8_t{0}); who != 0) {
            answer_later(s, operation::queue_unlocked, static_cast<std::uint8_t>(who - 1),
                         code::ok);
        }
        if (!s.waiting.empty()) {
            join(s);
        }
    }

    // ---- an acquisition

    // Answers that the client gives by itself come behind the commands at hand.
    struct own_answer {
        std::size_t session;
        message what;
    };
    void answer_later(const session& s, operation op, std::uint8_t who, code answer)
    {
        own_.push_back({index_of(s), {op, who, answer}});
    }
    void settle(laboratory& lab)
    {
        while (!own_.empty()) {
            const auto next = own_.front();
            own_.erase(own_.begin());
            auto& s = sessions_[next.session];
            answer(s, s.all[next.what.who], lab, next.what);
        }
    }
    [[nodiscard]] bool tries(const session& s, const laboratory& lab) const
    {
        return index_of(s) + lab.rules.tries >= sessions_.size();
    }

    template <class Input>
    void tell(session& s, acquisition& a, laboratory& lab, Input input)
    {
        if (!a.begun || a.gone) {
            return;
        }
        static const error_code reasons[] = {{},
                                             errc::node_deleted,
                                             errc::node_deleted,
                                             errc::node_deleted,
                                             errc::node_deleted,
                                             errc::safe_until_passed,
                                             errc::node_deleted,
                                             errc::session_expired};
        const auto who = number_of(s, a);
        auto value = lab[a.state];
        protocol::permits::commands out;
        value.assume({.session = s.id,
                      .queue_lost = s.holder == who + 1 ? reasons[static_cast<std::size_t>(s.lost)]
                                                        : error_code{},
                      .compared = s.compared != 0});
        input(value, out);
        value.assume({});
        a.state = lab.id_of(value);
        for (const auto& each : out) {
            obey(s, a, lab, each);
        }
    }

    void obey(session& s, acquisition& a, laboratory& lab, const protocol::permits::command& c)
    {
        using kind = protocol::permits::command::kind;
        const auto who = number_of(s, a);
        require(!a.gone, "contract: a command after gone");
        const auto ask = [&](operation op) { send(s, {op, who}); };
        switch (c.type) {
        case kind::lock_queue: lock(s, who, lab); break;
        case kind::unlock_queue:
        case kind::release_queue:
            a.list = a.limit = {};
            unlock(s, who, c.type == kind::unlock_queue);
            break;
        case kind::list: ask(operation::list); break;
        case kind::list_and_watch: ask(operation::list_and_watch); break;
        case kind::ask_others:
            ask(operation::read_maximum);
            ask(operation::list_siblings);
            break;
        case kind::read_limit: ask(operation::read_limit); break;
        case kind::create:
            require(s.holder == who + 1, "G2: takes permits without the queue's lock");
            send(s, {.op = operation::create,
                     .who = who,
                     .low = low_of(c.name),
                     .number = s.number,
                     .limit_version = static_cast<std::int8_t>(c.number)});
            break;
        case kind::make_directory: ask(operation::make_directory); break;
        case kind::wait_for_change:
            require(s.holder == who + 1, "contract: waits without the queue's lock");
            require(!tries(s, lab), "contract: a try waits");
            require(!a.list.taken && !a.limit.taken, "G4: waits for a watch that is over");
            a.list.taken = a.list.fired;
            a.limit.taken = a.limit.fired;
            a.waiting = true;
            break;
        case kind::pause:
        case kind::pause_after_event: a.pausing = true; break;
        case kind::cut_short: cut_short(s, a); break;
        case kind::remove_directory:
            if (s.connected) {
                s.requests.push_back({.op = operation::remove_directory,
                                      .who = who,
                                      .number = s.holder == who + 1 ? s.number : std::uint8_t{0}});
            }
            break;
        case kind::agreed:
            require(a.read_maximum == 0 || a.read_maximum == lab.permits_of(index_of(s)),
                    "G1: two who disagree about the number go on");
            s.compared = a.read_from;
            break;
        case kind::give_back:
            require(a.outcome != outcome_of::none, "contract: gives back what is wanted");
            a.low = low_of(c.leases.front());
            a.lost = false;
            remove_permits(s, a);
            break;
        case kind::granted:
            told(a, outcome_of::granted);
            require(!a.expired || lab.rules.rejoin_on_expiry,
                    "contract: queues up again, and expiry is an error");
            require(!c.leases.empty(), "contract: granted nothing");
            a.low = low_of(c.leases.front());
            for (const auto& l : leases_) {
                require(l.high != guid_of(s, a) || l.low != a.low || l.session == s.id,
                        "G5: granted what goes with an earlier session");
            }
            break;
        case kind::busy:
            told(a, outcome_of::busy);
            require(tries(s, lab) || a.left, "contract: busy, and not a try");
            break;
        case kind::cancelled:
            told(a, outcome_of::cancelled);
            require(a.left, "contract: cancelled by nobody");
            break;
        case kind::failed:
            told(a, outcome_of::failed);
            check_failure(s, a, lab, c);
            break;
        case kind::gone:
            a.list = a.limit = {}; // they go with it
            end(s, a);
            break;
        }
    }

    static void told(acquisition& a, outcome_of what)
    {
        require(a.outcome == outcome_of::none, "contract: a second outcome");
        a.outcome = what;
    }

    void check_failure(const session& s, const acquisition& a, const laboratory& lab,
                       const protocol::permits::command& c) const
    {
        const bool foreseen = (c.error == errc::disconnected && (a.left || tries(s, lab))) ||
                              (c.error == zookeeper_errc::connection_loss && tries(s, lab)) ||
                              (c.error == errc::session_expired && !lab.rules.rejoin_on_expiry) ||
                              (c.error == errc::conflicting_kind &&
                               (lab.rules.other_kind || lab.rules.rivals != 0)) ||
                              (c.error == errc::conflicting_maximum &&
                               (lab.rules.elsewhere != 0 || !lab.rules.numbers.empty()));
        require(foreseen, "contract: failed without a reason");
    }

    static void end(const session& s, acquisition& a)
    {
        const auto who = number_of(s, a);
        require(a.outcome != outcome_of::none, "contract: gone without an outcome");
        require(s.holder != who + 1 && s.unlocking != who + 1, "G3: the queue's lock is kept");
        require(std::ranges::find(s.waiting, who) == s.waiting.end(),
                "G3: a wait for the queue's lock is left");
        require(!a.pausing && !a.waiting, "G3: something is left to wait for");
        const auto is_open = [&](const auto& each) {
            return each.who == who && each.wanted && is_of_acquisition(each.op);
        };
        require(std::ranges::none_of(s.requests, is_open) &&
                    std::ranges::none_of(s.unsent, is_open) &&
                    std::ranges::none_of(s.messages, is_open),
                "G3: gone while a request is open");
        a.gone = true;
    }

    static bool is_read(operation op)
    {
        return op >= operation::list && op <= operation::read_limit;
    }
    static bool is_of_acquisition(operation op)
    {
        return is_read(op) || op == operation::create || op == operation::make_directory;
    }

    // The guid's last digit.
    static std::uint8_t low_of(const std::string& name)
    {
        const auto digit = name[3 + protocol::guid_length() - 1];
        return static_cast<std::uint8_t>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    }

    void remove_permits(session& s, acquisition& a)
    {
        a.removing = !a.lost;
        if (a.removing && s.connected) {
            s.requests.push_back({operation::remove_leases, number_of(s, a), a.low});
        }
    }

    void cancel(session& s, acquisition& a, laboratory& lab, bool at_once)
    {
        --left_.cancels;
        a.left = true;
        tell(s, a, lab, [&](auto& p, auto& out) { p.cancel(at_once, out); });
        require(!at_once || a.outcome != outcome_of::none, "contract: not told at once");
    }

    void cut_short(session& s, acquisition& a)
    {
        const auto who = number_of(s, a);
        for (auto& r : s.requests) {
            if (r.who == who && is_read(r.op) && std::exchange(r.wanted, false)) {
                answer_later(s, r.op, who, code::aborted);
            }
        }
        for (auto& m : s.messages) {
            if (m.who == who && is_read(m.op) && std::exchange(m.wanted, false)) {
                answer_later(s, m.op, who, code::aborted);
                a.list.armed &= m.op != operation::list_and_watch;
                a.limit.armed &= m.op != operation::read_limit;
            }
        }
        for (const auto& r : s.unsent) {
            if (r.who == who && is_of_acquisition(r.op)) {
                answer_later(s, r.op, who, code::aborted);
            }
        }
        erase_if(s.unsent,
                 [&](const request& r) { return r.who == who && is_of_acquisition(r.op); });
        if (const auto at = std::ranges::find(s.waiting, who); at != s.waiting.end()) {
            s.waiting.erase(at);
            if (s.waiting.empty() && s.place == place_state::joining) {
                leave(s);
            }
            answer_later(s, operation::granted, who, code::aborted);
        }
        if (a.pausing) {
            answer_later(s, operation::paused, who, code::ok);
        }
        if (a.waiting) {
            answer_later(s, operation::changed, who, code::ok);
        }
    }

    void resume(session& s, acquisition& a, laboratory& lab)
    {
        if (std::exchange(a.pausing, false)) {
            tell(s, a, lab, [](auto& p, auto& out) { p.paused(out); });
        }
    }

    void change(session& s, acquisition& a, laboratory& lab)
    {
        if (std::exchange(a.waiting, false)) {
            a.list.taken = a.list.fired;
            a.limit.taken = a.limit.fired;
            tell(s, a, lab, [](auto& p, auto& out) { p.changed(out); });
        }
    }

    void deliver(session& s, laboratory& lab)
    {
        const auto m = s.messages.front();
        s.messages.erase(s.messages.begin());
        auto& a = s.all[m.who];
        switch (m.op) {
        case operation::granted:
        case operation::busy:
        case operation::place_gone: placed(s, m); break;
        case operation::leave: unlocked(s); break;
        case operation::list_changed: a.list.fired = a.list.alive; break;
        case operation::limit_changed: a.limit.fired = a.limit.alive; break;
        case operation::remove_leases: a.removing = false; break;
        case operation::remove_directory: break;
        default:
            if (m.wanted) {
                answer(s, a, lab, m);
            }
        }
    }

    void answer(session& s, acquisition& a, laboratory& lab, const message& m)
    {
        static const error_code codes[] = {{},
                                           zookeeper_errc::no_node,
                                           zookeeper_errc::no_node,
                                           zookeeper_errc::bad_version,
                                           zookeeper_errc::throttled_op,
                                           zookeeper_errc::connection_loss,
                                           zookeeper_errc::closing, // of an answer cut short
                                           errc::session_expired};
        const auto& ec = codes[static_cast<std::size_t>(m.answer)];
        if (m.op == operation::list_and_watch && !ec) {
            a.list = {.alive = true, .armed = a.list.armed, .seen = m.number};
        }
        const bool lists = m.op == operation::list || m.op == operation::list_and_watch;
        if (lists && m.answer != code::aborted && m.limit != s.compared) {
            s.compared = 0;
        }
        if (m.op == operation::read_maximum) {
            a.read_maximum = m.limit;
            a.read_from = m.number;
        }
        if (m.op == operation::read_limit && !ec) {
            a.limit = {.alive = true, .armed = a.limit.armed, .seen = m.number};
        }
        if (m.op == operation::paused) {
            resume(s, a, lab);
            return;
        }
        if (m.op == operation::changed) {
            change(s, a, lab);
            return;
        }
        tell(s, a, lab, [&](auto& p, auto& out) {
            switch (m.op) {
            case operation::granted: p.queue_locked(ec, !ec, out); break;
            case operation::busy: p.queue_locked({}, false, out); break;
            case operation::queue_unlocked: p.queue_unlocked(out); break;
            case operation::list:
            case operation::list_and_watch: p.listed(ec, names(m.found), out); break;
            case operation::read_maximum:
                p.maximum_read(
                    ec, m.limit != 0 ? protocol::permits::maximum_text(m.limit) : std::string{}, 0,
                    out);
                break;
            case operation::list_siblings: {
                std::vector<std::string> siblings{"leases", "locks"};
                if (lab.rules.other_kind || m.limit != 0) {
                    siblings.push_back(protocol::name_prefix(curator_layout(), {}) + "0000000001");
                }
                p.siblings_listed(ec, siblings, out);
                break;
            }
            case operation::read_limit:
                p.limit_read(ec, std::string{'\0', '\0', '\0', static_cast<char>(m.limit)},
                             m.number, out);
                break;
            case operation::create:
                p.created(ec,
                          ec ? std::vector<std::string>{}
                             : names({{s.id, guid_of(s, a), m.number, 0}}),
                          m.answer == code::no_node, out);
                break;
            case operation::make_directory: p.directory_made(ec, out); break;
            default: throw std::logic_error{"no answer"};
            }
        });
    }

    static std::string name_of(const lease& l)
    {
        return protocol::name_prefix(protocol::permits::lease_layout(), {l.high, l.low}) +
               "000000000" + std::to_string(l.serial);
    }
    static std::vector<std::string> names(const leases& all)
    {
        std::vector<std::string> found;
        for (const auto& l : all) {
            found.push_back(name_of(l));
        }
        return found;
    }
    // ---- the session

    // Reads are sent again, writes are answered: what became of them is not known.
    void drop_connection(session& s, laboratory& lab)
    {
        boost::container::static_vector<request, 24> again;
        const auto lose = [&](operation op, std::uint8_t who, bool wanted) {
            if (op == operation::try_join && !s.waiting.empty()) {
                s.waiting.clear();
                s.place = place_state::leaving;
                answer_later(s, operation::granted, who, code::unknown);
            } else if (wanted && is_read(op)) {
                again.push_back({op, who});
            } else if (op == operation::create || op == operation::make_directory) {
                answer_later(s, op, who, code::unknown);
            }
        };
        for (const auto& m : s.messages) {
            const bool of_try =
                (m.op == operation::granted || m.op == operation::busy) && tries(s, lab);
            lose(of_try ? operation::try_join : m.op, m.who, m.wanted);
        }
        for (const auto& r : s.requests) {
            lose(r.op, r.who, r.wanted);
        }
        s.requests.clear();
        s.messages.clear();
        s.connected = false;
        for (const auto& r : s.unsent) {
            again.push_back(r);
        }
        s.unsent = again;
        for (auto& a : s.all) {
            a.list.armed = a.limit.armed = false;
        }
        settle(lab);
        for (auto& a : s.all) {
            tell(s, a, lab, [](auto& p, auto& out) { p.suspended(out); });
            a.left |= a.outcome == outcome_of::failed;
        }
    }

    void reconnect(session& s)
    {
        s.connected = true;
        s.requests.clear(); // behind a barrier nothing of the previous connection comes later
        for (const auto& r : std::exchange(s.unsent, {})) {
            s.requests.push_back(r);
        }
        switch (s.place) {
        case place_state::none: break;
        case place_state::joining: s.requests.push_back({operation::join}); break;
        case place_state::held: s.requests.push_back({operation::check_place}); break;
        case place_state::leaving: s.requests.push_back({operation::leave}); break;
        }
        for (auto& a : s.all) {
            const auto who = number_of(s, a);
            if (a.list.alive && !a.list.fired) {
                s.requests.push_back({operation::renew_list, who, 0, a.list.seen});
            }
            if (a.limit.alive && !a.limit.fired) {
                s.requests.push_back({operation::renew_limit, who, 0, a.limit.seen});
            }
            if (a.removing) {
                s.requests.push_back({operation::remove_leases, who, a.low});
            }
        }
    }

    void expire(session& s, const laboratory& lab)
    {
        s.id = static_cast<std::uint8_t>(s.id + 4);
        s.alive = true;
        if (s.holder != 0) {
            s.lost = s.lost == code::ok ? code::expired : s.lost;
            s.all[s.holder - 1u].expired = s.lost == code::expired;
        } else if (s.place == place_state::leaving) {
            unlocked(s);
        } else if (!lab.rules.rejoin_on_expiry) {
            s.place = place_state::none;
            for (const auto who : std::exchange(s.waiting, {})) {
                answer_later(s, operation::granted, who, code::expired);
            }
        }
        for (auto& a : s.all) {
            a.lost |= a.outcome == outcome_of::granted;
            a.removing = false;
        }
    }

    std::vector<own_answer> own_; // empty between two steps
};

} // namespace colock::model::permits
