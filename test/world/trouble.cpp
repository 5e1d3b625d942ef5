#include "trouble.hpp"

#include <algorithm>
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
    case rarity::permissions:
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

// ---- links

void trouble::cut(machine& a, machine& b, const std::string& names)
{
    // Both directions, or one.
    const auto ways = random_.below(4);
    const bool there = ways != 0;
    const bool back = ways != 1;
    if (there) {
        network_.cut(a, b);
    }
    if (back) {
        network_.cut(b, a);
    }
    note(deed::trouble, names_.front(),
         "cut " + names +
             (there && back ? ""
              : there       ? ", one way"
                            : ", the other way"));
    later(some_time(), [this, &a, &b, names] {
        network_.mend(a, b);
        network_.mend(b, a);
        note(deed::calm, names_.front(), "mended " + names);
    });
}

void trouble::cut_client_off_one()
{
    auto& c = some_client();
    const auto s = some_server();
    cut(c.on(), servers_.machine_of(s), c.on().name() + "|" + servers_.machine_of(s).name());
}

void trouble::cut_client_off_all()
{
    auto& c = some_client();
    const auto length = some_time();
    note(deed::trouble, c.name(), "cut off all servers");
    for (std::size_t s = 0; s < servers_.size(); ++s) {
        network_.cut(c.on(), servers_.machine_of(s));
        network_.cut(servers_.machine_of(s), c.on());
    }
    later(length, [this, &c] {
        note(deed::calm, c.name(), "mended");
        for (std::size_t s = 0; s < servers_.size(); ++s) {
            network_.mend(c.on(), servers_.machine_of(s));
            network_.mend(servers_.machine_of(s), c.on());
        }
    });
}

void trouble::cut_servers_apart()
{
    if (servers_.size() < 2) {
        return;
    }
    const auto a = some_server();
    const auto b = (a + 1 + random_.below(servers_.size() - 1)) % servers_.size();
    cut(servers_.machine_of(a), servers_.machine_of(b),
        servers_.machine_of(a).name() + "|" + servers_.machine_of(b).name());
}

// With the clients, who cannot move to another server. One at a time: the others go on without it.
void trouble::isolate_follower()
{
    const auto leader = servers_.leader();
    const auto s = some_server();
    if (leader && s != *leader && time_.now() > alone_until_) {
        const auto length = random_.between(session_, session_ * 3 / 2);
        alone_until_ = time_.now() + length + 2s;
        isolate(s, length);
        for (const auto& c : clients_) {
            cut_off_others(c->on(), s);
        }
        later(length, [this, s] {
            for (const auto& c : clients_) {
                mend_others(c->on(), s);
            }
        });
    }
}

void trouble::cut_off_others(machine& m, std::size_t s)
{
    for (std::size_t o = 0; o < servers_.size(); ++o) {
        if (o != s) {
            network_.cut(m, servers_.machine_of(o));
            network_.cut(servers_.machine_of(o), m);
        }
    }
}

void trouble::mend_others(machine& m, std::size_t s)
{
    for (std::size_t o = 0; o < servers_.size(); ++o) {
        if (o != s) {
            network_.mend(m, servers_.machine_of(o));
            network_.mend(servers_.machine_of(o), m);
        }
    }
}

void trouble::isolate_server()
{
    const auto leader = servers_.leader();
    const auto s = leader && random_.per_mille(600) ? *leader : some_server();
    isolate(s, some_time());
}

// From the other servers, not from the clients.
void trouble::isolate(std::size_t s, std::chrono::nanoseconds length)
{
    auto& alone = servers_.machine_of(s);
    note(deed::trouble, names_[s], "cut off the other servers");
    cut_off_others(alone, s);
    later(length, [this, s, &alone] {
        note(deed::calm, names_[s], "mended");
        mend_others(alone, s);
    });
}

void trouble::slow_link()
{
    auto& a = servers_.machine_of(some_server());
    auto& b = servers_.machine_of(some_server());
    if (&a == &b) {
        return;
    }
    const auto most = std::chrono::microseconds{random_.between(1000, 300'000)};
    network_.delay(a, b, most / 10, most);
    note(deed::trouble, names_.front(), "slow " + a.name() + "-" + b.name());
    later(some_time(), [this, &a, &b] { network_.delay(a, b, 100us, 500us); });
}

void trouble::slow_client()
{
    auto& c = some_client();
    auto& s = servers_.machine_of(some_server());
    const auto most = std::chrono::microseconds{random_.between(1000, 1'000'000)};
    network_.delay(c.on(), s, most / 10, most);
    note(deed::trouble, c.name(), "slow to " + s.name());
    later(some_time(), [this, &c, &s] { network_.delay(c.on(), s, 100us, 500us); });
}

// What it sends and what it hears takes long, then nothing goes through any more.
void trouble::lose_client_slowly()
{
    auto& c = some_client();
    // Answers come, but some of them too late to prove anything.
    const auto part = std::chrono::duration_cast<std::chrono::microseconds>(session_).count();
    const auto most =
        std::chrono::microseconds{random_.per_mille(500) ? random_.between(100'000, 1'000'000)
                                                         : random_.between(part / 10, part / 3)};
    note(deed::trouble, c.name(), "slow to all servers, until it is cut off");
    for (std::size_t s = 0; s < servers_.size(); ++s) {
        auto& server = servers_.machine_of(s);
        network_.delay(c.on(), server, most / 2, most);
        if (random_.per_mille(300)) {
            network_.reset(c.on(), server); // it has to connect again, slowly
        }
    }
    const auto slow = random_.between(1s, 3 * session_);
    const auto until = slow + random_.between(session_, 2 * session_);
    later(slow, [this, &c] {
        note(deed::trouble, c.name(), "cut off all servers");
        for (std::size_t s = 0; s < servers_.size() && !over_; ++s) {
            network_.cut(c.on(), servers_.machine_of(s));
            network_.cut(servers_.machine_of(s), c.on());
        }
    });
    later(until, [this, &c] {
        note(deed::calm, c.name(), "mended");
        for (std::size_t s = 0; s < servers_.size(); ++s) {
            auto& server = servers_.machine_of(s);
            network_.mend(c.on(), server);
            network_.mend(server, c.on());
            network_.delay(c.on(), server, 100us, 500us);
        }
    });
}

// Its connections are reset again and again, while requests are under way.
void trouble::flaky_client()
{
    auto& c = some_client();
    const auto most = std::chrono::microseconds{random_.between(5'000, 200'000)};
    note(deed::trouble, c.name(), "slow to all servers, and often reset");
    const auto length = random_.between(1s, 4s);
    for (std::size_t s = 0; s < servers_.size(); ++s) {
        network_.delay(c.on(), servers_.machine_of(s), most / 2, most);
    }
    for (auto resets = random_.between(2, 8); resets > 0; --resets) {
        time_.after(random_.between(0ns, length), [this, &c] {
            for (std::size_t s = 0; s < servers_.size() && !over_; ++s) {
                network_.reset(c.on(), servers_.machine_of(s));
            }
        });
    }
    later(length, [this, &c] {
        note(deed::calm, c.name(), "mended");
        for (std::size_t s = 0; s < servers_.size(); ++s) {
            network_.delay(c.on(), servers_.machine_of(s), 100us, 500us);
        }
    });
}

// The client has one server only, whose answers come late, and which dies before it has told the leader of the client.
void trouble::lose_server_behind_handshake()
{
    auto& c = some_client();
    const auto s = some_server();
    auto& m = servers_.machine_of(s);
    if (!m.is_running() || servers_.leader() == s) {
        return;
    }
    note(deed::trouble, c.name(), "cut off all servers but " + m.name() + ", which answers late");
    const auto late = std::chrono::duration_cast<std::chrono::microseconds>(
        random_.between(session_ / 50, session_ / 12));
    network_.delay_one_way(m, c.on(), late, late);
    for (std::size_t o = 0; o < servers_.size(); ++o) {
        if (o != s) {
            network_.cut(c.on(), servers_.machine_of(o));
            network_.cut(servers_.machine_of(o), c.on());
        }
        network_.reset(c.on(), servers_.machine_of(o));
    }
    for (auto pause = 1ms; pause <= 10ms; pause += 1ms) { // it does not wait for the others
        time_.after(pause, [this, &c, s] {
            for (std::size_t o = 0; o < servers_.size() && !over_; ++o) {
                if (o != s) {
                    network_.reset(c.on(), servers_.machine_of(o));
                }
            }
        });
    }
    // Often between the answer to the handshake and that to the first request.
    const std::chrono::nanoseconds once = late;
    later(random_.between(2 * once, random_.per_mille(400) ? 3 * once : session_ / 2),
          [this, &m, s] {
              if (m.is_alive()) {
                  note(deed::killed, names_[s], {});
                  m.kill();
                  later(some_time(), [this, s] {
                      note(deed::started, names_[s], {});
                      servers_.start(s);
                  });
              }
          });
    time_.after(session_ / 2, [this, &m, &c] {
        if (!over_) {
            network_.cut(c.on(), m);
            network_.cut(m, c.on());
        }
    });
    later(2 * session_, [this, &c] {
        note(deed::calm, c.name(), "mended");
        for (std::size_t o = 0; o < servers_.size(); ++o) {
            network_.mend(c.on(), servers_.machine_of(o));
            network_.mend(servers_.machine_of(o), c.on());
            network_.delay(c.on(), servers_.machine_of(o), 100us, 500us);
        }
    });
}

void trouble::reset_client()
{
    auto& c = some_client();
    note(deed::trouble, c.name(), "connections are reset");
    for (std::size_t s = 0; s < servers_.size(); ++s) {
        network_.reset(c.on(), servers_.machine_of(s));
    }
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
    c.on().suspend();
    later(some_time(), [this, &c] {
        note(deed::resumed, c.name(), {});
        holds_.resumed(c.on());
        c.on().go_on();
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
    later(length, [this, s, &m] {
        note(deed::resumed, names_[s], {});
        servers_.set_pauses({500, 50ms});
        m.go_on();
        later(50ms, [this] { servers_.set_pauses(servers_usual_); });
    });
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

} // namespace world
