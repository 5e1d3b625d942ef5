// G5 for a whole process tree: what `colock run` has started is gone before another `colock run` is granted, whatever is
// stopped, killed or cut off. And what etcdctl lock does in the same situation.
#include <support/admin_session.hpp>
#include <support/loopback_port.hpp>
#include <support/tcp_proxy.hpp>
#include <support/wait_until.hpp>
#include <support/zookeeper_server.hpp>

#include "colock_process.hpp"
#include "journal.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace colock::test;
using namespace std::chrono_literals;

namespace {

constexpr auto patience = 60s;

zookeeper_options short_sessions()
{
    zookeeper_options options;
    options.tick_time = 200ms; // sessions of 400 ms to 4 s
    return options;
}

// Holders and waiters of many locks at once. Each holder has a stubborn command, with a family.
struct scene {
    explicit scene(int number) : holders_number{number} {}

    std::vector<std::string> run(int lock, const std::string& session_timeout,
                                 const std::string& name, const std::string& milliseconds) const
    {
        return {"run",
                "--session-timeout",
                session_timeout,
                "--tick",
                "200ms",
                "--grace",
                "300ms",
                "/lock-" + std::to_string(lock),
                "--",
                COLOCK_JOURNAL_WRITER,
                journal(lock),
                name,
                milliseconds,
                "family"};
    }
    std::vector<std::string> holder(int lock) const
    {
        auto words = run(lock, "2s", "holder", "600000");
        words.emplace_back("stubborn");
        return words;
    }
    // A waiter that a busy machine keeps from running for the time of its session is late, loses its
    // lock, and exits with 120. So it has the longest session that the server grants.
    std::vector<std::string> waiter(int lock) const { return run(lock, "4s", "waiter", "50"); }
    std::string journal(int lock) const
    {
        return directory.path() + "/journal-" + std::to_string(lock);
    }
    // The holder's command, and its family.
    bool all_run(int lock) const
    {
        const auto lives = read_journal(journal(lock));
        return !lives.empty() && lives.front().processes == 3;
    }

    // One holder and one waiter for each lock.
    void begin(const std::string& holders_servers, const std::string& waiters_servers)
    {
        for (int i = 0; i != holders_number; ++i) {
            holders.emplace_back(holders_servers, holder(i));
        }
        for (int i = 0; i != holders_number; ++i) {
            BOOST_REQUIRE(wait_until([&] { return all_run(i); }, patience));
            waiters.emplace_back(waiters_servers, waiter(i));
        }
        admin_session admin{server.connect_string()};
        for (int i = 0; i != holders_number; ++i) {
            const auto path = "/lock-" + std::to_string(i);
            BOOST_REQUIRE(wait_until([&] { return admin.children(path).size() == 2; }, patience));
        }
    }
    // All waiters have had their turn, and no process of a holder was alive then. Gives the number of those.
    int end()
    {
        for (auto& waiter : waiters) {
            BOOST_TEST(waiter.status() == 0);
        }
        int without_overlap = 0;
        for (int i = 0; i != holders_number; ++i) {
            const auto lives = read_journal(journal(i));
            BOOST_TEST(lives.size() == 2);
            BOOST_TEST(overlaps(lives) == 0);
            without_overlap += lives.size() == 2 && overlaps(lives) == 0;
        }
        return without_overlap;
    }

    int holders_number;
    zookeeper_server server{short_sessions()};
    temporary_directory directory;
    std::list<colock_process> holders, waiters;
};

void report(const std::string& what, int good, int all)
{
    std::cout << "figure: " << what << ": gone before the next grant in " << good << " of " << all
              << '\n';
}

void cut_link(int number)
{
    scene s{number};
    tcp_proxy proxy{s.server.connect_string()};
    s.begin(proxy.connect_string(), s.server.connect_string());
    proxy.stall(true);
    report("link cut", s.end(), number);
    for (auto& holder : s.holders) { // it knows without a connection
        BOOST_TEST(holder.status() == 120);
    }
}

void stopped_server(int number)
{
    scene s{number};
    s.begin(s.server.connect_string(), s.server.connect_string());
    s.server.stop_process();
    for (auto& holder : s.holders) {
        BOOST_TEST(holder.status() == 120);
    }
    s.server.continue_process();
    report("server stopped", s.end(), number);
}

// Only colock itself is stopped, not its guardian.
void stopped_supervisor(int number)
{
    scene s{number};
    s.begin(s.server.connect_string(), s.server.connect_string());
    for (auto& holder : s.holders) {
        holder.process().send_signal(SIGSTOP);
    }
    report("colock stopped", s.end(), number);
    for (auto& holder : s.holders) {
        holder.process().send_signal(SIGCONT);
        BOOST_TEST(holder.status() == 120);
    }
}

void killed_supervisor(int number)
{
    scene s{number};
    s.begin(s.server.connect_string(), s.server.connect_string());
    for (auto& holder : s.holders) {
        holder.process().kill();
    }
    report("colock killed", s.end(), number);
}

enum class disturbance { link_cut, server_stopped, program_stopped };

// What the command of etcd's own `etcdctl lock` does, with a lease of two seconds.
void etcdctl(disturbance what, int number)
{
    if (find_program("etcd").empty() || find_program("etcdctl").empty()) {
        std::cout << "etcd and etcdctl are not here\n";
        return;
    }
    const temporary_directory directory;
    const loopback_port clients, others;
    const auto url = [](const loopback_port& port) {
        return "http://127.0.0.1:" + std::to_string(port.number());
    };
    subprocess etcd{{"etcd", "--data-dir", directory.path() + "/etcd", "--listen-client-urls",
                     url(clients), "--advertise-client-urls", url(clients), "--listen-peer-urls",
                     url(others), "--initial-advertise-peer-urls", url(others), "--initial-cluster",
                     "default=" + url(others)},
                    {.output_file = directory.path() + "/log"}};
    const auto words = [&](const std::string& endpoint, std::vector<std::string> behind) {
        behind.insert(behind.begin(), {"etcdctl", "--endpoints", endpoint});
        return behind;
    };
    const subprocess_options api{.environment = {"ETCDCTL_API=3"},
                                 .output_file = directory.path() + "/log"};
    BOOST_REQUIRE(wait_until(
        [&] {
            subprocess health{words(url(clients), {"endpoint", "health"}), api};
            return health.wait().success();
        },
        patience));

    tcp_proxy proxy{"127.0.0.1:" + std::to_string(clients.number())};
    std::list<subprocess> holders, waiters;
    const auto journal = [&](int i) { return directory.path() + "/j" + std::to_string(i); };
    for (int i = 0; i != number; ++i) {
        holders.emplace_back(words("http://" + proxy.connect_string(),
                                   {"lock", "--ttl", "2", "lock-" + std::to_string(i),
                                    COLOCK_JOURNAL_WRITER, journal(i), "holder", "15000"}),
                             api);
        BOOST_REQUIRE(wait_until([&] { return !read_journal(journal(i)).empty(); }, patience));
        waiters.emplace_back(
            words(url(clients), {"lock", "--ttl", "2", "lock-" + std::to_string(i),
                                 COLOCK_JOURNAL_WRITER, journal(i), "waiter", "50"}),
            api);
    }
    switch (what) {
    case disturbance::link_cut: proxy.stall(true); break;
    case disturbance::server_stopped:
        etcd.stop();
        // Longer than the lease: that is what is tried here.
        std::this_thread::sleep_for(3s);
        etcd.resume();
        break;
    case disturbance::program_stopped:
        for (auto& holder : holders) {
            holder.stop();
        }
    }
    int ran_on = 0;
    for (auto& waiter : waiters) {
        waiter.wait_for(20s);
    }
    for (int i = 0; i != number; ++i) {
        ran_on += overlaps(read_journal(journal(i))) > 0;
    }
    constexpr const char* names[] = {"link cut", "server stopped", "etcdctl stopped"};
    std::cout << "figure: etcdctl lock, " << names[static_cast<int>(what)]
              << ": its command ran on beside the next holder's in " << ran_on << " of " << number
              << '\n';
    proxy.stall(false);
}

} // namespace

BOOST_AUTO_TEST_SUITE(cli_loss)

BOOST_AUTO_TEST_CASE(G5_behind_a_cut_link)
{
    cut_link(4);
}
BOOST_AUTO_TEST_CASE(G5_with_a_stopped_server)
{
    stopped_server(4);
}
BOOST_AUTO_TEST_CASE(G5_with_a_stopped_supervisor)
{
    stopped_supervisor(4);
}
BOOST_AUTO_TEST_CASE(G5_with_a_killed_supervisor)
{
    killed_supervisor(4);
}

// Fifty each, in fives: many at a time on one machine would measure its scheduler.
BOOST_AUTO_TEST_CASE(G5_fifty_of_each_soak, *boost::unit_test::disabled())
{
    for (int round = 0; round != 10; ++round) {
        cut_link(5);
        stopped_server(5);
        stopped_supervisor(5);
        killed_supervisor(5);
    }
}
BOOST_AUTO_TEST_CASE(etcdctl_soak, *boost::unit_test::disabled())
{
    for (int round = 0; round != 10; ++round) {
        etcdctl(disturbance::link_cut, 5);
        etcdctl(disturbance::server_stopped, 5);
        etcdctl(disturbance::program_stopped, 5);
    }
}

BOOST_AUTO_TEST_SUITE_END()
