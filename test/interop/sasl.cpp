// Processes of colock's and of another library with one identity by SASL, at a server that serves nobody else.
#include <support/sasl_servers.hpp>
#include <support/temporary_directory.hpp>
#include <support/wait_until.hpp>

#include "peer_process.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <list>
#include <string>
#include <vector>

using namespace colock::test;

namespace {

struct scene {
    explicit scene(std::string n) : name{std::move(n)} {}

    peer& start(std::vector<std::string> command, const std::string& who = "bob:secret")
    {
        return processes.emplace_back(
            std::move(command), server.connect_string(),
            std::vector<std::string>{"COLOCK_PEER_SASL=" + who, "PYTHONWARNINGS=ignore"});
    }
    peer& ours(const std::string& who = "bob:secret") { return start({COLOCK_PEER, name}, who); }
    peer& theirs(const std::string& who = "bob:secret")
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

    // The directory belongs to another user.
    void somebody_else_is_refused(peer& owner, peer& stranger)
    {
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
        somebody_else_is_refused(c, theirs("alice:hers"));
        somebody_else_is_refused(d, ours("alice:hers"));
    }

    const std::string name;
    const std::string path = "/queue/lock";
    const temporary_directory directory;
    zookeeper_server server{
        and_nobody_else(knows_users(directory.path(), R"(user_bob="secret" user_alice="hers")"))};
    std::list<peer> processes;
    peer& operator_ = ours();
};

} // namespace

BOOST_AUTO_TEST_CASE(sasl_curator)
{
    scene{"curator"}.hold_and_wait_in_turn(true);
}

BOOST_AUTO_TEST_CASE(sasl_kazoo)
{
    scene{"kazoo"}.hold_and_wait_in_turn(false);
}
