// Troubles of links: they are cut, slow, or reset.
#include "trouble.hpp"

namespace world {

using namespace std::chrono_literals;
using check::deed;

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

// One at a time: the others go on without it.
void trouble::isolate_follower()
{
    const auto leader = servers_.leader();
    const auto s = some_server();
    if (leader && s != *leader && time_.now() > alone_until_) {
        isolate_with_clients(s, random_.between(session_, session_ * 3 / 2));
    }
}

// Each session ends meanwhile: a leader ends it up to a tick late, and has heard of it up to half a tick late.
void trouble::isolate_follower_for_long()
{
    const auto leader = servers_.leader();
    const auto s = some_server();
    if (leader && s != *leader && time_.now() > alone_until_) {
        const auto least = session_ + 2 * servers_.options().tick;
        isolate_with_clients(s, random_.between(least, least + session_ / 2));
    }
}

// The clients cannot move to another server.
void trouble::isolate_with_clients(std::size_t s, std::chrono::nanoseconds length)
{
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
    cut_off(c, slow, until);
}

// No server is to be reached for a while. Its links are as usual behind that.
void trouble::cut_off(workload::program& c, std::chrono::nanoseconds from,
                      std::chrono::nanoseconds until)
{
    later(from, [this, &c] {
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

// What it sends arrives at once, and is answered at once. The answers take long, also those that come when nothing goes
// through any more.
void trouble::lose_client_behind_late_answers()
{
    auto& c = some_client();
    const std::chrono::microseconds tick = servers_.options().tick;
    const auto late =
        std::chrono::duration_cast<std::chrono::microseconds>(random_.between(tick / 2, 3 * tick));
    note(deed::trouble, c.name(), "answers come late, until it is cut off");
    for (std::size_t s = 0; s < servers_.size(); ++s) {
        network_.delay_one_way(servers_.machine_of(s), c.on(), late, late);
    }
    const auto slow = late + random_.between(0ns, session_);
    cut_off(c, slow, slow + session_ + random_.between(2 * tick, 4 * tick));
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

} // namespace world
