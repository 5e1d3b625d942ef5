// Processes of colock's and of another library with one identity by SASL, at a server that serves nobody else.
#include <support/kerberos.hpp>
#include <support/sasl_servers.hpp>
#include <support/temporary_directory.hpp>
#include <support/wait_until.hpp>

#include "peer_process.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <list>
#include <string>
#include <vector>

using namespace colock::test;

namespace {

// A server that serves bob and alice, and what a process has in its environment to be one of them.
struct by_password {
    zookeeper_options server_options() const
    {
        return knows_users(files.path(), R"(user_bob="secret" user_alice="hers")");
    }
    static std::vector<std::string> environment(const std::string& who)
    {
        return {"COLOCK_PEER_SASL=" + who + (who == "bob" ? ":secret" : ":hers")};
    }

    const temporary_directory files;
};

struct by_ticket {
    by_ticket()
    {
        for (const std::string who : {"bob", "alice"}) {
            keys.give_a_ticket(who, std::chrono::seconds{600}, who);
        }
    }
    zookeeper_options server_options() const { return keys.server_options(); }
    std::vector<std::string> environment(const std::string& who) const
    {
        return {"COLOCK_PEER_SASL=GSSAPI", "KRB5CCNAME=" + keys.tickets(who)};
    }

    const kerberos keys{{"bob", "alice"}};
};

template <class Identities>
struct scene {
    explicit scene(std::string n) : name{std::move(n)} {}

    peer& start(std::vector<std::string> command, const std::string& who)
    {
        auto environment = identities.environment(who);
        environment.emplace_back("PYTHONWARNINGS=ignore");
        return processes.emplace_back(std::move(command),
                                      "localhost:" + std::to_string(server.port()),
                                      std::move(environment));
    }
    peer& ours(const std::string& who = "bob") { return start({COLOCK_PEER, name}, who); }
    peer& theirs(const std::string& who = "bob")
    {
        return start({std::string{COLOCK_PEERS} + '/' + name}, who);
    }
    bool queue_has(std::ptrdiff_t number)
    {
        return wait_until(
            [&] {
                const auto nodes = operator_.ask("queue " + path, "queue");
                return std::ranges::count(nodes, '/') ==
                       number * std::ranges::count(path + '/', '/');
            },
            patience);
    }

    // The first of them makes the directory, for their identity alone.
    void wait_for_each_other(std::vector<peer*> order)
    {
        std::ptrdiff_t waiting = 0;
        for (auto* each : order) {
            each->tell("lock " + path);
            BOOST_TEST(queue_has(++waiting));
        }
        for (std::size_t i = 0; i != order.size(); ++i) {
            order[i]->expect("locked");
            for (auto later = i + 1; later != order.size(); ++later) {
                BOOST_TEST(order[later]->waits());
            }
            order[i]->ask("unlock " + path, "unlocked");
        }
    }

    void a_killed_holder_is_followed(peer& holder, peer& next)
    {
        holder.ask("lock " + path, "locked");
        next.tell("lock " + path);
        BOOST_TEST(queue_has(2));
        holder.kill();
        next.expect("locked");
        next.ask("unlock " + path, "unlocked");
    }

    // The server serves both, and the directory belongs to one.
    void somebody_else_is_refused(peer& owner, peer& stranger)
    {
        stranger.ask("lock /hers/lock", "locked");
        stranger.ask("unlock /hers/lock", "unlocked");
        owner.ask("lock " + path, "locked");
        stranger.tell("lock " + path);
        BOOST_TEST(stranger.answer(patience).value_or("").starts_with("error"));
        owner.ask("unlock " + path, "unlocked");
    }

    void hold_and_wait_in_turn(bool ours_first)
    {
        auto &a = ours(), &b = theirs(), &c = ours(), &d = theirs();
        ours_first ? wait_for_each_other({&a, &b, &c, &d}) : wait_for_each_other({&b, &a, &d, &c});
        a_killed_holder_is_followed(a, b);
        a_killed_holder_is_followed(b, c);
        somebody_else_is_refused(c, theirs("alice"));
        somebody_else_is_refused(d, ours("alice"));
    }

    const std::string name;
    const std::string path = "/queue/lock";
    const Identities identities;
    zookeeper_server server{and_nobody_else(identities.server_options())};
    std::list<peer> processes;
    peer& operator_ = ours();
};

} // namespace

BOOST_AUTO_TEST_CASE(sasl_curator)
{
    scene<by_password>{"curator"}.hold_and_wait_in_turn(true);
}

BOOST_AUTO_TEST_CASE(sasl_kazoo)
{
    scene<by_password>{"kazoo"}.hold_and_wait_in_turn(false);
}

BOOST_AUTO_TEST_CASE(kerberos_curator)
{
    scene<by_ticket>{"curator"}.hold_and_wait_in_turn(true);
}

BOOST_AUTO_TEST_CASE(kerberos_kazoo)
{
    scene<by_ticket>{"kazoo"}.hold_and_wait_in_turn(false);
}
