// What the clients of hand_off_world.hpp do: as little as the cohort and its contenders leave to them.
#pragma once

#include "hand_off_world.hpp"

namespace colock::model::hand_off {

using protocol::cohort;
using protocol::remote_contention;

// ---- users

inline void world::arrive()
{
    auto& c = clients_[i_];
    outcome out;
    cohort::actions v;
    drop_lost_holder(out);
    const bool admitted =
        decide(c, [&](cohort& all) { return all.arrive(cohort::time{c.now}, v); });
    ++c.waiting;
    if (admitted) {
        admit();
    }
    apply(v, out);
    carry_out(out, false);
}

inline void world::try_arrive()
{
    auto& c = clients_[i_];
    auto found = cohort::answer::ask_servers;
    if (server_.sessions[i_].connected) {
        outcome out;
        drop_lost_holder(out);
        cohort::actions v;
        found = decide(c, [&](cohort& all) { return all.try_arrive(cohort::time{c.now}, v); });
        if (found == cohort::answer::admitted) {
            ++c.waiting;
            admit();
        }
        apply(v, out);
        carry_out(out, false);
    }
    if (found == cohort::answer::ask_servers) {
        c.strand.push_back({.asks = true});
    }
}

// Nobody here has the lock: the user that does not wait gets a contender of its own.
inline void world::ask()
{
    const auto& s = server_.sessions[i_];
    if (s.connected) { // else the user is told that there is no connection
        auto& d = new_driver();
        d.trying = true;
        run(d, {.kind = input_kind::try_join, .connected = true, .session = s.id});
    }
}

inline void world::withdraw()
{
    auto& c = clients_[i_];
    --c.waiting;
    outcome out;
    const auto v = decide(c, [](cohort& all) { return all.withdraw(); });
    apply(v, out);
    if (v.reconcile || v.leave) {
        out.on_the_strand.cancelled = true;
        out.on_the_strand.cancelled_with = v.leave ? out.on_the_strand.leaving.back() : c.contender;
    }
    carry_out(out, false);
}

inline void world::end_turn(driver& d)
{
    auto& c = clients_[i_];
    outcome out;
    const bool why = is_lost(c, d);
    const bool last = --d.users == 0;
    if (why && c.holder == d.number) {
        drop_holder(out);
    }
    if (c.holder == d.number) {
        apply(decide(c, [&](cohort& all) { return all.release(cohort::time{c.now}); }), out);
    } else if (last) {
        out.on_the_strand.leaving.push_back(d.number);
    }
    carry_out(out, false);
}

inline void world::linger_over()
{
    auto& c = clients_[i_];
    outcome out;
    c.now = std::max(c.now, c.timer_at);
    const auto v = decide(c, [&](cohort& all) { return all.linger_over(cohort::time{c.now}); });
    if (v.idle) {
        c.timer_at = static_cast<std::uint8_t>(lab_->cohorts[c.cohort].linger_end().count());
    } else {
        c.lingering = c.timer = false;
    }
    apply(v, out);
    carry_out(out, true);
}

// ---- what an input brings about

inline void world::apply(const cohort::actions& v, outcome& out)
{
    auto& c = clients_[i_];
    for (std::size_t i = 0; i != v.admit; ++i) {
        admit();
    }
    if (v.leave) {
        require(c.holder != 0, "contract: what is not held is given up");
        require(c.find(c.holder)->users == 0, "contract: a node is given up that is in use");
        out.on_the_strand.leaving.push_back(std::exchange(c.holder, serial{0}));
    }
    c.look |= v.look;
    const bool linger = v.idle && !std::exchange(c.lingering, true);
    out.reconcile |= v.leave || v.reconcile || v.look || linger;
}

// The first one that waits.
inline void world::admit()
{
    auto& c = clients_[i_];
    require(c.waiting != 0, "contract: nobody is let in");
    auto* const d = c.find(c.holder);
    require(d != nullptr, "G1: let in without a lock");
    --c.waiting;
    ++d->users;
    ++c.handed_off;
    require(c.handed_off <= lab_->rules.max_grants + 1 || lab_->rules.readers ||
                c.known == remote_contention::none || !server_.sessions[i_].connected ||
                !others_queue(i_),
            "G2: another client waits for longer than the bound");
}

inline void world::drop_lost_holder(outcome& out)
{
    auto& c = clients_[i_];
    if (auto* const d = c.find(c.holder); d != nullptr && is_lost(c, *d)) {
        drop_holder(out);
    }
}

inline void world::drop_holder(outcome& out)
{
    auto& c = clients_[i_];
    auto& d = *c.find(c.holder);
    d.was_idle = lab_->cohorts[c.cohort].is_idle();
    if (d.was_idle) {
        out.on_the_strand.leaving.push_back(d.number);
    }
    c.holder = 0;
    apply(decide(c, [](cohort& all) { return all.lost(); }), out);
}

inline void world::drop_former_holder(outcome& out)
{
    auto& c = clients_[i_];
    if (auto* const d = c.find(c.holder)) {
        if (i_ != 0 || !lab_->rules.readers) {
            d->told = true;
        }
        drop_holder(out);
    }
}

inline void world::carry_out(outcome& out, bool on_strand)
{
    if (!out.reconcile && out.on_the_strand.is_nothing()) {
        return;
    }
    if (on_strand) {
        reconcile(out.on_the_strand);
    } else {
        clients_[i_].strand.push_back(out.on_the_strand);
    }
}

inline void world::reconcile(work w)
{
    auto& c = clients_[i_];
    const bool wants = lab_->cohorts[c.cohort].wants_contender();
    if (w.cancelled_with == c.holder || (w.cancelled_with == c.contender && wants)) {
        w.cancelled_with = 0; // it serves other waiters
    }
    serial unwanted = 0;
    driver* joining = nullptr;
    if (!wants) {
        unwanted = std::exchange(c.contender, serial{0});
    } else if (c.contender == 0) {
        joining = &new_driver();
        c.contender = joining->number;
    }
    const auto looking = std::exchange(c.look, false) ? c.holder : serial{0};
    if (c.lingering && !c.timer) {
        c.timer = true;
        c.timer_at = static_cast<std::uint8_t>(lab_->cohorts[c.cohort].linger_end().count());
    }
    const auto leave_all = [&] {
        for (const auto number : w.leaving) {
            if (auto* const d = c.find(number)) {
                leave(*d);
            }
        }
    };
    const auto is_late = [&](serial number) {
        auto* const d = c.find(number);
        return d != nullptr && lab_->contenders(i_)[d->contender].is_late();
    };
    if (joining == nullptr) {
        leave_all();
    } else {
        if (std::ranges::any_of(w.leaving, is_late)) {
            leave_all();
        } else {
            joining->leave_behind_create = w.leaving;
        }
        const auto& s = server_.sessions[i_];
        run(*joining, {.kind = input_kind::join, .connected = s.connected, .session = s.id});
        leave_behind_create(*joining);
    }
    if (auto* const d = c.find(w.cancelled_with); d != nullptr && w.cancelled && !d->gone) {
        ++d->cancelled;
    }
    if (auto* const d = c.find(unwanted)) {
        leave(*d);
    }
    if (auto* const d = c.find(looking)) {
        if (const auto known = run(*d, {.kind = input_kind::look_around})) {
            met(*d, *known);
        }
    }
}

// ---- what becomes of contenders

inline void world::granted(driver& d)
{
    auto& c = clients_[i_];
    const auto what = lab_->contenders(i_)[d.contender].contention();
    d.granted = true;
    d.held = lab_->contenders(i_).name(d.contender);
    const auto at = server_.find(d.held);
    require(d.held == c.robbed || !server_.sessions[i_].alive ||
                (at != server_.nodes.size() && !server_.blocked(at)),
            "G1: granted, and the own node is not the first");
    outcome out;
    const bool on_trial = std::exchange(d.trying, false);
    if (!on_trial && c.contender != d.number) {
        out.on_the_strand.leaving.push_back(d.number); // it has failed, or is not wanted any more
        carry_out(out, true);
        return;
    }
    drop_former_holder(out);
    c.holder = d.number;
    c.known = what;
    c.handed_off = 0;
    if (on_trial) {
        ++c.waiting;
    } else {
        c.contender = 0;
    }
    const auto v =
        decide(c, [&](cohort& all) { return all.granted(cohort::time{c.now}, what, on_trial); });
    if (on_trial) {
        admit();
    }
    apply(v, out);
    carry_out(out, true);
}

inline void world::lost(driver& d)
{
    auto& c = clients_[i_];
    require(d.granted, "contract: lost what was not held");
    d.told = true;
    outcome out;
    if (c.holder == d.number) {
        drop_holder(out);
    }
    carry_out(out, true);
    if (d.was_idle) {
        leave(d);
    }
}

// Its waiters are told that there will be no grant.
inline void world::failed(driver& d)
{
    auto& c = clients_[i_];
    d.trying = false;
    if (c.contender != d.number) {
        return;
    }
    outcome out;
    c.contender = 0;
    const auto v = decide(c, [](cohort& all) { return all.failed(); });
    c.waiting = 0;
    apply(v, out);
    carry_out(out, true);
}

inline void world::met(driver& d, remote_contention what)
{
    auto& c = clients_[i_];
    if (c.holder != d.number) {
        return;
    }
    outcome out;
    drop_lost_holder(out);
    if (c.known == remote_contention::none) {
        c.handed_off = 0;
    }
    c.known = what;
    apply(decide(c, [&](cohort& all) { return all.met(cohort::time{c.now}, what); }), out);
    carry_out(out, true);
}

// ---- one contender

inline driver& world::new_driver()
{
    auto& c = clients_[i_];
    require(c.last != max_serial, "the walk has no more contenders");
    const auto number = static_cast<std::uint8_t>(c.last + 1);
    c.last = number;
    return c.drivers.emplace_back(driver{.number = number, .contender = c.last - 1U});
}

inline void world::leave(driver& d)
{
    d.left = true;
    run(d, {.kind = input_kind::leave});
}

inline std::optional<remote_contention> world::run(driver& d, input in)
{
    if (d.gone) {
        return std::nullopt;
    }
    const auto& t = lab_->contenders(i_).apply(d.contender, in);
    const auto known = t.known;
    d.contender = t.next;
    d.commands.insert(d.commands.end(), t.outputs.begin(), t.outputs.end());
    if (!std::exchange(d.performing, true)) {
        for (std::size_t at = 0; at != d.commands.size(); ++at) {
            perform(d, output{d.commands[at]});
        }
        d.commands.clear();
        d.performing = false;
    }
    return known;
}

inline void world::perform(driver& d, const output& o)
{
    using kind = protocol::command::kind;
    auto& c = clients_[i_];
    require(!d.gone, "contract: a command after gone");
    switch (o.type) {
    case kind::make_directory: send(d, operation::make_directory, o); break;
    case kind::create:
        send(d, operation::create, o);
        leave_behind_create(d);
        break;
    case kind::list: send(d, operation::list, o); break;
    case kind::list_again: send(d, operation::list_again, o); break;
    case kind::read_directory: send(d, operation::read_directory, o); break;
    case kind::remove_directory: send(d, operation::remove_directory, o); break;
    case kind::list_and_watch: send(d, operation::list_and_watch, o); break;
    case kind::watch_newcomers:
        require(c.holder == d.number && lab_->contenders(i_)[d.contender].holds(),
                "contract: a contender that does not hold asks who else is there");
        send(d, operation::watch_newcomers, o);
        break;
    case kind::watch: send(d, operation::watch, o); break;
    case kind::remove: send(d, operation::remove, o); break;
    case kind::unwatch: unwatch(d, o.name); break;
    case kind::granted:
        granted(d);
        if (lab_->rules.removals != 0) {
            run(d, {.kind = input_kind::watch_own_node});
        }
        break;
    case kind::busy: d.trying = false; break;
    case kind::failed: failed(d); break;
    case kind::lost: lost(d); break;
    case kind::gone:
        require(!o.error, "G3: gone with an error");
        d.gone = true;
        d.trying = false;
        d.cancelled = 0; // they complete
        for (auto& w : c.watches) {
            w.unsubscribe(d.number);
        }
        settle(0);
        break;
    default: throw violation{"contract: a command that nobody expects"};
    }
}

inline void world::leave_behind_create(driver& d)
{
    for (const auto number : std::exchange(d.leave_behind_create, {})) {
        if (auto* const leaving = clients_[i_].find(number)) {
            leave(*leaving);
        }
    }
}

inline void world::send(driver& d, operation op, const output& o)
{
    auto& s = server_.sessions[i_];
    if (!s.connected) { // of a contender that is told in a moment
        require(suspending_, "contract: a request without a connection");
        run(d, input_of({.op = op, .name = o.name}, answer::unknown));
        return;
    }
    if (is_watch(op)) {
        ++entry(op == operation::watch ? o.name : text_id{0}).announced;
    }
    s.requests.push_back(
        {.op = op,
         .name = o.name,
         .turn = d.number,
         .directory = op == operation::list_again ? clients_[i_].directory : std::uint8_t{0}});
}

inline void world::suspend()
{
    auto& c = clients_[i_];
    auto& s = server_.sessions[i_];
    boost::container::static_vector<message, 32> open;
    for (const auto& m : s.messages) {
        if (!m.is_event) {
            open.push_back(m);
        }
    }
    for (const auto& r : s.requests) {
        open.push_back({.op = r.op, .wanted = r.wanted, .name = r.name, .turn = r.turn});
    }
    server_.disconnect(i_);
    c.watches.clear();
    for (const auto& m : open) {
        auto* const d = c.find(m.turn);
        if (d != nullptr && m.wanted && zookeeper::is_answered(m.op)) {
            run(*d, input_of(m, answer::unknown));
        }
    }
    suspending_ = true;
    for_each_driver([&](driver& d) {
        run(d, {.kind = input_kind::suspended});
        met(d, remote_contention::unknown);
        if (std::exchange(d.trying, false)) {
            leave(d);
        }
    });
    suspending_ = false;
}

// A contender that is gone matters as long as a user has a guard of it.
inline void world::forget_gone()
{
    auto& drivers = clients_[i_].drivers;
    for (auto at = drivers.begin(); at != drivers.end();) {
        const bool over = at->gone && at->users == 0;
        at = over ? drivers.erase(at) : at + 1;
    }
}

// ---- watches and answers

inline client::watch_entry& world::entry(text_id name)
{
    auto& watches = clients_[i_].watches;
    const auto at = std::ranges::lower_bound(watches, name, {}, &client::watch_entry::name);
    return at != watches.end() && at->name == name ? *at : *watches.insert(at, {name});
}

inline void world::settle(text_id name)
{
    auto& watches = clients_[i_].watches;
    const auto at = std::ranges::find(watches, name, &client::watch_entry::name);
    if (at == watches.end() || at->announced != 0 || !at->subscribers.empty()) {
        return;
    }
    const bool set = at->set;
    watches.erase(at);
    if (set && server_.sessions[i_].connected) {
        server_.sessions[i_].requests.push_back({.op = operation::forget, .name = name});
    }
}

inline void world::unwatch(const driver& d, text_id name)
{
    auto& s = server_.sessions[i_];
    if (entry(name).unsubscribe(d.number)) {
        settle(name);
        return;
    }
    const auto refers = [&](const auto& m) {
        return m.op == operation::watch && m.name == name && m.wanted && m.turn == d.number;
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

inline void world::deliver()
{
    auto& c = clients_[i_];
    auto& messages = server_.sessions[i_].messages;
    const auto m = messages.front();
    messages.erase(messages.begin());
    if (m.is_event) {
        auto& e = entry(m.name);
        e.set = false;
        const auto told = std::exchange(e.subscribers, {});
        settle(m.name);
        for (const auto number : told) {
            auto* const d = c.find(number);
            if (d == nullptr) {
                continue;
            }
            if (m.name != 0) {
                run(*d, {.kind = m.deleted ? input_kind::deleted : input_kind::changed,
                         .name = m.name});
            } else if (const auto known = run(*d, {.kind = input_kind::newcomer})) {
                met(*d, *known);
            }
        }
        return;
    }
    auto* const d = c.find(m.turn);
    const bool wanted = m.wanted && d != nullptr && !d->gone;
    if (is_watch(m.op)) {
        const auto name = m.op == operation::watch ? m.name : text_id{0};
        auto& e = entry(name);
        --e.announced;
        if (m.code == result::ok) {
            e.set = true;
            if (wanted) {
                e.subscribers.push_back(m.turn);
            }
        }
        settle(name);
    }
    if (m.op == operation::list && m.code == result::ok) {
        c.directory = m.directory;
    }
    if (wanted) {
        if (const auto known = run(*d, input_of(m, static_cast<answer>(m.code)))) {
            met(*d, *known);
        }
    }
}

} // namespace colock::model::hand_off
