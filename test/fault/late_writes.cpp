// A server that stalls holds writes of a client in its socket. The client goes on at another server. Nothing of what
// the first server carries out when it wakes may come behind what the client has written since.
#include <colock/colock.hpp>
#include <support/admin_session.hpp>
#include <support/link.hpp>
#include <support/outcome.hpp>
#include <support/print.hpp>
#include <support/tcp_proxy.hpp>
#include <support/zookeeper_server.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iostream>
#include <list>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace colock::test::late_writes_test {

using namespace std::chrono_literals;

namespace {

constexpr auto session_time = 20s; // a silent server is given up after two thirds of it

zookeeper_options patient_options()
{
    zookeeper_options options;
    options.tick_time = 500ms;
    options.max_session_timeout = 30s;
    options.sync_limit = 120; // a server that stalls for less than a minute stays a member
    return options;
}

// One client, and one write that lies in the socket of the server that stalls.
struct trial {
    trial(std::string of, client c, std::string at)
        : kind{std::move(of)}, zk{std::move(c)}, directory{std::move(at)}
    {
    }

    std::string kind;
    client zk;
    std::string directory;
    std::function<void()> write;             // while the server stalls
    std::function<bool()> resumed;           // what follows the write's loss, at the other server
    std::function<void()> go_on = [] {};     // when the first server is awake again
    std::function<std::string()> wrong = {}; // "" when all is well
    unique_lock held = {};
    shared_lock shared = {};
    permit leases = {};
    bool answered = false;
    outcome<> released = {};
    outcome<unique_lock> rival = {};
};

template <class Guard>
auto into(Guard& held)
{
    return [&held](error_code ec, Guard guard) {
        BOOST_TEST(ec == error_code{});
        held = std::move(guard);
    };
}

class stalled_server {
public:
    // Where the clients go on: at the leader, or at the other follower.
    explicit stalled_server(bool to_the_leader)
        : leader_{servers_.wait_for_leader()}, stalled_{servers_.followers().front()},
          other_{to_the_leader ? leader_ : servers_.followers().back()},
          first_(link_proxy(servers_[stalled_])),
          second_(link_proxy(servers_[other_])), rival_{io_, at_server(other_, 10s)}
    {
        outcome<> connected;
        rival_.async_connect(connected.handler());
        value_of(io_, connected);
        second_.refuse(true);
        admin_.create("/noise");
        outcome<> there;
        busy_.async_connect(there.handler());
        value_of(io_, there);
    }

    // ---- the writes

    void mutex_create(const std::string& kind, int cycles)
    {
        auto& t = add(kind);
        admin_.create_path(t.directory);
        for (int i = 0; i != cycles; ++i) {
            take(t);
            release(t);
        }
        t.write = [&] { mutex{t.zk, t.directory}.async_lock(into(t.held)); };
        t.resumed = [&] { return static_cast<bool>(t.held); };
        t.go_on = [&] { t.held.async_unlock(t.released.handler()); };
    }

    // The writer becomes a reader, by one transaction.
    void step_down()
    {
        auto& t = add("downgrade");
        shared_mutex lock{t.zk, t.directory};
        lock.async_lock(into(t.held));
        wait([&] { return static_cast<bool>(t.held); });
        t.write = [&, lock]() mutable {
            lock.async_downgrade(std::move(t.held), [&](error_code, shared_lock held) {
                t.shared = std::move(held); // or it is lost by then
                t.answered = true;
            });
        };
        t.resumed = [&] { return t.answered; };
        t.go_on = [&] { t.shared.async_unlock(t.released.handler()); };
    }

    void shared_create()
    {
        auto& t = add("shared_mutex");
        admin_.create_path(t.directory);
        t.write = [&] { shared_mutex{t.zk, t.directory}.async_lock_shared(into(t.shared)); };
        t.resumed = [&] { return static_cast<bool>(t.shared); };
        t.go_on = [&] { t.shared.async_unlock(t.released.handler()); };
    }

    void mutex_remove()
    {
        auto& t = add("unlock");
        take(t);
        t.write = [&] { t.held.async_unlock(t.released.handler()); };
        t.resumed = [&] { return t.released.done(); };
    }

    // Taken and released again before the server wakes.
    void single_create()
    {
        auto& t = add("single_node_mutex create");
        t.write = [&] {
            single_node_mutex{t.zk, t.directory}.async_lock(
                [&](error_code, unique_lock held) { held.async_unlock(t.released.handler()); });
        };
        t.resumed = [&] { return t.released.done(); };
        t.wrong = [&] { return admin_.exists(t.directory) ? "a node is left" : ""; };
    }

    // The next holder must keep its node.
    void single_remove()
    {
        auto& t = add("single_node_mutex remove");
        single_node_mutex{t.zk, t.directory}.async_lock(into(t.held));
        wait([&] { return static_cast<bool>(t.held); });
        single_node_mutex{rival_, t.directory}.async_lock(t.rival.handler());
        t.write = [&] { t.held.async_unlock(t.released.handler()); };
        t.resumed = [&] { return t.released.done() && t.rival.ok(); };
        t.wrong = [&] {
            return admin_.exists(t.directory) ? "" : "the next holder's node is gone";
        };
    }

    void semaphore_lease()
    {
        auto& t = add("semaphore");
        // A first permit: the directories are there.
        semaphore lock{t.zk, t.directory, 2};
        lock.async_acquire(1, into(t.leases));
        wait([&] { return t.leases.count() == 1; });
        t.leases.async_release(t.released.handler());
        wait([&] { return t.released.done(); });
        t.released = {};
        const auto of_this = [&](tcp_proxy& proxy) {
            return proxy.on_request({opcode::multi}, reaction::hold,
                                    {.path_prefix = t.directory + "/locks/"});
        };
        auto lost = of_this(first_);
        lock.async_acquire(1, into(t.leases));
        wait([&] { return lost.fired() == 1; });
        auto again = of_this(second_);
        t.write = [lost]() mutable { lost.release(); };
        // The lease is made once more, but not before the server is awake: its lock guards it.
        t.resumed = [again] { return again.fired() == 1; };
        t.go_on = [&, again]() mutable {
            again.release();
            wait([&] { return t.leases.count() == 1; });
            t.leases.async_release(t.released.handler());
        };
        t.wrong = [&] {
            return admin_.children(t.directory + "/leases").empty() ? "" : "a lease is left";
        };
    }

    void user_set()
    {
        auto& t = add("a user's write");
        admin_.create(t.directory, "none");
        t.write = [&] {
            t.zk.async_set(t.directory, "first", any_version, [&](error_code ec, node_stat) {
                BOOST_TEST(outcome_unknown(ec));
                read_and_set(t);
            });
        };
        t.resumed = [&] { return t.released.done(); };
        t.wrong = [&] { return no_longer_second(t); };
    }

    void user_transaction()
    {
        auto& t = add("a user's transaction");
        admin_.create(t.directory, "none");
        t.write = [&] {
            std::vector<transaction_op> ops;
            ops.push_back(check_op(t.directory));
            ops.push_back(set_op(t.directory, "first"));
            t.zk.async_multi(std::move(ops), [&](error_code ec, auto&&) {
                BOOST_TEST(outcome_unknown(ec));
                read_and_set(t);
            });
        };
        t.resumed = [&] { return t.released.done(); };
        t.wrong = [&] { return no_longer_second(t); };
    }

    // ---- the schedule

    void run(const std::string& what)
    {
        for (auto& t : trials_) {
            sessions_.insert(t.zk.session_id());
        }
        std::set<std::string> old;
        for (const auto& c : servers_[stalled_].connections()) {
            if (sessions_.contains(c.session)) {
                old.insert(c.address);
            }
        }
        servers_[stalled_].stop_process();
        for (auto& t : trials_) {
            t.write();
        }
        wait([&] {
            return std::ranges::all_of(
                trials_, [](const auto& t) { return t.zk.state() == connection_state::suspended; });
        });
        // The other server is there once each client has tried what it has: at first the one that stalls only.
        colock::test::go_on(io_, 800ms);
        second_.refuse(false);
        wait([&] {
            return std::ranges::all_of(
                trials_, [](const auto& t) { return t.zk.session_id() != 0 && t.resumed(); });
        });
        // Others keep the leader busy: the server's writes wait in its queue. What takes a session over does not.
        const std::vector<transaction_op> slow(2000, check_op("/noise"));
        for (int i = 0; i != 50; ++i) {
            busy_.async_multi(slow, [](error_code, auto&&) {});
        }
        colock::test::go_on(io_, 20ms);
        servers_[stalled_].continue_process();
        // It has read everything, and what it sends behind that has been carried out.
        wait([&] {
            const auto all = servers_[stalled_].connections();
            return std::ranges::none_of(all,
                                        [&](const auto& c) { return old.contains(c.address); });
        });
        admin_session through{at(stalled_)};
        through.create_path("/through");
        through.sync();
        for (auto& t : trials_) {
            t.go_on();
        }
        wait([&] {
            return std::ranges::all_of(trials_, [](const auto& t) { return t.released.done(); });
        });
        judge(what);
    }

private:
    struct tally {
        int good = 0, bad = 0, expired = 0;
    };

    void judge(const std::string& what)
    {
        admin_.sync();
        std::map<std::string, tally> all;
        for (auto& t : trials_) {
            auto& here = all[t.kind];
            if (t.zk.stats().sessions != 1) {
                ++here.expired; // too slow a machine: nothing was tried
                continue;
            }
            const auto what_is_wrong = t.wrong ? t.wrong() : blocked(t);
            ++(what_is_wrong.empty() ? here.good : here.bad);
            BOOST_TEST(what_is_wrong.empty(), t.kind << ": " << what_is_wrong);
        }
        for (const auto& [kind, n] : all) {
            std::cout << "figure: " << what << ", " << kind << ": " << n.bad << " of "
                      << n.good + n.bad << " writes were carried out late";
            if (n.expired != 0) {
                std::cout << ", " << n.expired << " sessions expired";
            }
            std::cout << std::endl;
            BOOST_TEST(n.good + n.bad > 0);
        }
    }

    // Nobody has the lock: another client gets it.
    std::string blocked(trial& t)
    {
        if (admin_.children(t.directory).empty()) {
            return "";
        }
        shared_mutex{rival_, t.directory}.async_try_lock_for(2s, t.rival.handler());
        wait([&] { return t.rival.done(); });
        return t.rival.ok() && t.rival.value() ? "a node is left"
                                               : "a node is left, which blocks the next one";
    }

    void read_and_set(trial& t)
    {
        t.zk.async_get(t.directory, [&](error_code, get_result) {
            t.zk.async_set(t.directory, "second", any_version, [&](error_code ec, node_stat) {
                ec ? read_and_set(t) : t.released.handler()(ec);
            });
        });
    }

    std::string no_longer_second(const trial& t)
    {
        const auto found = admin_.get(t.directory);
        return found == "second" ? "" : "it holds \"" + found + '"';
    }

    trial& add(const std::string& kind)
    {
        client_options options{.hosts = first_.connect_string() + ',' + second_.connect_string(),
                               .session_timeout = session_time,
                               .tick = 500ms};
        auto& t = trials_.emplace_back(kind, client{io_, link_client(std::move(options))},
                                       "/late" + std::to_string(trials_.size()));
        outcome<> connected;
        t.zk.async_connect(connected.handler());
        value_of(io_, connected);
        return t;
    }

    void take(trial& t)
    {
        mutex{t.zk, t.directory}.async_lock(into(t.held));
        wait([&] { return static_cast<bool>(t.held); });
    }

    void release(trial& t)
    {
        outcome<> o;
        t.held.async_unlock(o.handler());
        value_of(io_, o);
    }

    template <class Condition>
    void wait(Condition&& condition)
    {
        if (!becomes_true(io_, condition, 30s)) {
            for (const auto& t : trials_) {
                BOOST_TEST_MESSAGE(t.kind << ": " << static_cast<int>(t.zk.state()) << ' '
                                          << (t.resumed && t.resumed()) << t.released.done() << ", "
                                          << t.zk.stats().sessions << " sessions, "
                                          << t.zk.last_error_detail());
            }
            BOOST_FAIL("what is waited for does not come");
        }
    }

    std::string at(std::size_t server) const { return servers_[server].connect_string(); }
    client_options at_server(std::size_t server, std::chrono::milliseconds session) const
    {
        return link_client({.hosts = link_hosts(servers_[server]), .session_timeout = session});
    }

    zookeeper_ensemble servers_{link_servers(patient_options())};
    std::size_t leader_;
    std::size_t stalled_;
    std::size_t other_;
    tcp_proxy first_;
    tcp_proxy second_;
    admin_session admin_{at(leader_)};
    asio::io_context io_;
    client rival_;
    client busy_{io_, at_server(leader_, 30s)};
    std::list<trial> trials_;
    std::set<std::int64_t> sessions_;
};

void all_writes(const std::string& what, bool to_the_leader)
{
    stalled_server s{to_the_leader};
    for (int i = 0; i != repetitions(8); ++i) {
        s.mutex_create("mutex", 0);
        s.mutex_create("mutex, alone", 4);
        s.mutex_remove();
        s.shared_create();
        s.step_down();
        s.single_create();
        s.single_remove();
        s.semaphore_lease();
        s.user_set();
        s.user_transaction();
    }
    s.run(what);
}

} // namespace

BOOST_AUTO_TEST_SUITE(late_writes)

BOOST_AUTO_TEST_CASE(G3_nothing_old_is_carried_out_behind_a_move_to_another_follower)
{
    all_writes("a follower stalls, on to another", false);
}

BOOST_AUTO_TEST_CASE(G3_nothing_old_is_carried_out_behind_a_move_to_the_leader)
{
    all_writes("a follower stalls, on to the leader", true);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::late_writes_test
