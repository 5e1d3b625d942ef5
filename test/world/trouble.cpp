#include "trouble.hpp"

#include "workload/guard_process.hpp"

#include <initializer_list>
#include <utility>

namespace world {

using namespace std::chrono_literals;
using check::deed;

trouble::trouble(timeline& time, network& net, ensemble& servers, programs& clients,
                 check::queues& queues, check::holds& holds, check::journal& notes,
                 std::vector<check::journal::actor> server_names, random chance,
                 std::chrono::milliseconds session)
    : time_{time}, network_{net}, servers_{servers}, clients_{clients}, queues_{queues},
      holds_{holds}, journal_{notes}, names_{std::move(server_names)}, random_{chance},
      session_{session}, servers_usual_{servers.options().threads}
{
    constexpr maker all[] = {&trouble::cut_client_off_one, &trouble::cut_client_off_all,
                             &trouble::cut_servers_apart,  &trouble::isolate_server,
                             &trouble::slow_link,          &trouble::slow_client,
                             &trouble::reset_client,       &trouble::stop_client,
                             &trouble::suspend_client,     &trouble::kill_client,
                             &trouble::destroy_client,     &trouble::stop_server,
                             &trouble::kill_server,        &trouble::kill_leader,
                             &trouble::delete_by_hand,     &trouble::lose_client_slowly,
                             &trouble::stall_server,       &trouble::slow_threads,
                             &trouble::flaky_client,       &trouble::lose_server_behind_handshake};
    // Each world knows some kinds only: what happens together by all of them is less varied.
    const auto likely = static_cast<unsigned>(random_.between(100, 700));
    for (const auto m : all) {
        if (random_.per_mille(likely)) {
            makers_.push_back(m);
        }
    }
}

void trouble::favour(rarity r)
{
    const auto add = [&](std::initializer_list<maker> more) {
        makers_.insert(makers_.end(), more);
    };
    switch (r) {
    case rarity::uneven: makers_.assign({&trouble::lose_server_behind_handshake}); break;
    case rarity::together: add({&trouble::delete_by_hand, &trouble::delete_by_hand}); break;
    case rarity::watches:
        add({&trouble::cut_client_off_all, &trouble::reset_client, &trouble::stop_client,
             &trouble::kill_server});
        break;
    case rarity::guards:
        add({&trouble::kill_client, &trouble::kill_client, &trouble::kill_computer,
             &trouble::kill_guard, &trouble::stop_guard, &trouble::kill_client_of_stopped_guard});
        break;
    case rarity::stalls: makers_.assign({&trouble::stall_follower}); break;
    case rarity::late: makers_.assign({&trouble::lose_client_behind_late_answers}); break;
    case rarity::alone: makers_.assign({&trouble::isolate_follower_for_long}); break;
    case rarity::bodies: makers_.assign({&trouble::delete_by_hand}); break;
    case rarity::writes:
        add({&trouble::write_by_hand, &trouble::write_by_hand, &trouble::reset_client,
             &trouble::reset_client, &trouble::cut_client_off_all});
        break;
    case rarity::throttled:
    case rarity::permissions:
    case rarity::shards:
    case rarity::rendezvous:
    case rarity::none: break;
    }
}

void trouble::only_followers_alone()
{
    makers_ = {&trouble::isolate_follower};
}

void trouble::begin(instant until, std::chrono::nanoseconds apart)
{
    until_ = until;
    apart_ = apart;
    if (!makers_.empty()) {
        plan_next();
    }
}

void trouble::plan_next()
{
    time_.after(random_.between(0ns, 2 * apart_), [this] {
        if (!over_ && time_.now() < until_) {
            make();
            plan_next();
        }
    });
}

void trouble::make()
{
    ++count_;
    (this->*random_.pick(makers_))();
}

void trouble::end()
{
    over_ = true;
    while (!undos_.empty()) { // a server that is killed now is to be started, too
        for (const auto& undo : std::exchange(undos_, {})) {
            if (const auto what = std::exchange(*undo, nullptr)) {
                what();
            }
        }
    }
    network_.mend_all();
}

void trouble::later(std::chrono::nanoseconds after, std::function<void()> undo)
{
    auto kept = std::make_shared<std::function<void()>>(std::move(undo));
    undos_.push_back(kept);
    time_.after(after, [this, kept] {
        if (const auto what = std::exchange(*kept, nullptr)) {
            std::erase(undos_, kept);
            what();
        }
    });
}

// About as long as a session lives, or much shorter.
std::chrono::nanoseconds trouble::some_time()
{
    switch (random_.below(4)) {
    case 0: return random_.between(1ms, 100ms);
    case 1: return random_.between(100ms, session_ / 2);
    case 2: return random_.between(session_ / 2, session_);
    default: return random_.between(session_, 2 * session_);
    }
}

void trouble::note(deed what, check::journal::actor who, const std::string& text)
{
    journal_.note(what, who, 0, [&] { return text; });
}

workload::program& trouble::some_client()
{
    return *random_.pick(clients_);
}

std::size_t trouble::some_server()
{
    return random_.below(servers_.size());
}

// ---- clients

void trouble::stop_client()
{
    auto& c = some_client();
    if (!c.on().is_running()) {
        return;
    }
    note(deed::stopped, c.name(), "SIGSTOP");
    c.on().stop();
    later(some_time(), [this, &c] {
        note(deed::resumed, c.name(), {});
        holds_.resumed(c.on());
        c.on().go_on();
    });
}

void trouble::suspend_client()
{
    auto& c = some_client();
    if (!c.on().is_running()) {
        return;
    }
    note(deed::stopped, c.name(), "its machine sleeps");
    c.suspend();
    later(some_time(), [this, &c] {
        note(deed::resumed, c.name(), {});
        holds_.resumed(c.on());
        c.wake();
    });
}

void trouble::kill_client()
{
    auto& c = some_client();
    if (!c.is_alive()) {
        return;
    }
    c.kill();
    later(some_time(), [&c] { c.start(); });
}

void trouble::destroy_client()
{
    auto& c = some_client();
    if (!c.is_alive() || !c.on().is_running()) {
        return;
    }
    c.destroy();
    later(some_time(), [&c] { c.start(); });
}

// ---- session guards

void trouble::kill_computer()
{
    auto& c = some_client();
    if (c.is_alive()) {
        c.kill_with_guards();
        later(some_time(), [&c] { c.start(); });
    }
}

void trouble::kill_guard()
{
    if (auto* const g = some_client().guard()) {
        g->kill();
    }
}

void trouble::stop_guard()
{
    if (auto* const g = some_client().guard(); g != nullptr && g->on().is_running()) {
        note(deed::stopped, g->name(), "SIGSTOP");
        g->on().stop();
        later(some_time(), [this, g] {
            note(deed::resumed, g->name(), {});
            g->go_on();
        });
    }
}

// It learns late that the client is dead.
void trouble::kill_client_of_stopped_guard()
{
    auto& c = some_client();
    auto* const g = c.guard();
    if (!c.is_alive() || g == nullptr || !g->on().is_running()) {
        return;
    }
    note(deed::stopped, g->name(), "SIGSTOP, and its owner is killed");
    g->on().stop();
    c.kill();
    later(some_time(), [this, g] {
        note(deed::resumed, g->name(), {});
        g->go_on();
    });
    later(some_time(), [&c] { c.start(); });
}

// ---- servers

void trouble::stop_server()
{
    const auto s = some_server();
    auto& m = servers_.machine_of(s);
    if (!m.is_running()) {
        return;
    }
    note(deed::stopped, names_[s], "SIGSTOP");
    m.stop();
    later(some_time(), [this, s, &m] {
        note(deed::resumed, names_[s], {});
        m.go_on();
    });
}

// It stalls with requests in its socket, while its clients move on to another server, and from there to the next one.
// When it wakes, its threads and those of the leader do not keep up: what may overtake does so.
void trouble::stall_server()
{
    const auto s = some_server();
    auto& m = servers_.machine_of(s);
    if (!m.is_running()) {
        return;
    }
    note(deed::stopped, names_[s], "SIGSTOP, while clients move on");
    m.stop();
    const auto length = random_.between(session_ / 2, session_);
    for (auto resets = random_.between(1, 6); resets > 0; --resets) {
        time_.after(random_.between(length / 2, length), [this, &m] {
            for (std::size_t o = 0; o < servers_.size() && !over_ && !m.is_running(); ++o) {
                for (const auto& c : clients_) {
                    if (&servers_.machine_of(o) != &m) {
                        network_.reset(c->on(), servers_.machine_of(o));
                    }
                }
            }
        });
    }
    later(length, [this, s] { wake(s); });
}

// What has waited in its threads and in those of the leader may be overtaken.
void trouble::wake(std::size_t s)
{
    note(deed::resumed, names_[s], {});
    servers_.set_pauses({500, 50ms});
    servers_.machine_of(s).go_on();
    later(50ms, [this] { servers_.set_pauses(servers_usual_); });
}

// A client keeps away from it for ten ticks, because a write was not answered there. It stalls for longer. Then the
// connections break with which its clients have gone on. It stalls again a second later at the soonest. Otherwise a write
// could wait in one of its threads until then, and this leader, which gives no follower up, would accept it.
void trouble::stall_follower()
{
    const auto leader = servers_.leader();
    const auto s = some_server();
    auto& m = servers_.machine_of(s);
    if (!leader || s == *leader || !m.is_running() || time_.now() <= alone_until_) {
        return;
    }
    note(deed::stopped, names_[s], "SIGSTOP, for longer than clients keep away from it");
    m.stop();
    const auto tick = servers_.options().tick;
    const auto ready = session_ + 10 * tick; // a client notices before its session ends
    const auto length = ready + random_.between(session_, 2 * session_);
    alone_until_ = time_.now() + length + 1s;
    for (const auto& c : clients_) {
        for (auto resets = random_.between(1, 2); resets > 0; --resets) {
            time_.after(random_.between(ready, length), [this, s, &c = *c, &m] {
                if (!over_ && !m.is_running()) {
                    reset_all_but(s, c);
                }
            });
        }
    }
    later(length, [this, s] { wake(s); });
}

void trouble::reset_all_but(std::size_t s, workload::program& c)
{
    for (std::size_t o = 0; o < servers_.size(); ++o) {
        if (o != s) {
            network_.reset(c.on(), servers_.machine_of(o));
        }
    }
}

void trouble::slow_threads()
{
    note(deed::trouble, names_.front(), "the threads of all servers do not keep up");
    servers_.set_pauses(
        {static_cast<unsigned>(random_.between(10, 300)), random_.between(2ms, 20ms)});
    later(some_time(), [this] { servers_.set_pauses(servers_usual_); });
}

void trouble::kill_server()
{
    const auto s = some_server();
    auto& m = servers_.machine_of(s);
    if (!m.is_alive()) {
        return;
    }
    note(deed::killed, names_[s], {});
    m.kill();
    later(some_time(), [this, s] {
        note(deed::started, names_[s], {});
        servers_.start(s);
    });
}

void trouble::kill_leader()
{
    const auto s = servers_.leader();
    if (!s) {
        return;
    }
    note(deed::killed, names_[*s], "the leader");
    servers_.machine_of(*s).kill();
    later(some_time(), [this, s] {
        note(deed::started, names_[*s], {});
        servers_.start(*s);
    });
}

// ---- operators

void trouble::delete_by_hand()
{
    const auto place = random_.below(queues_.size());
    // Without a queue the node of the next holder may be deleted by the release of this one: that is not promised.
    if (queues_.count(place) == 0 || queues_.of(place).type == check::queues::kind::single_node) {
        return;
    }
    const auto position = random_.per_mille(600) ? 0 : random_.below(queues_.count(place));
    const auto path = queues_.at(place, position)->path;
    const auto* const next = queues_.at(place, position + 1);
    const auto next_path = next == nullptr ? std::string{} : next->path;
    servers_.remove_by_hand(path);
    // Whoever would be granted the lock then loses it at once.
    if (!next_path.empty() && random_.per_mille(300)) {
        servers_.remove_by_hand(next_path);
    }
}

// Whoever has a node watches it on, and misses no deletion that follows.
void trouble::write_by_hand()
{
    const auto place = random_.below(queues_.size());
    if (queues_.count(place) == 0) {
        return;
    }
    const auto path = queues_.at(place, random_.below(queues_.count(place)))->path;
    servers_.by_hand({.op = opcode::set, .path = path, .data = "by hand"});
    if (queues_.of(place).type != check::queues::kind::single_node && random_.per_mille(500)) {
        time_.after(random_.between(50ms, 500ms), [this, path] {
            if (!over_) {
                servers_.remove_by_hand(path);
            }
        });
    }
}

} // namespace world
