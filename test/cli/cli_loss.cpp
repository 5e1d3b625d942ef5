// G5 for a whole process tree: what `colock run` has started is gone before another `colock run` is granted, whatever is
// stopped, killed or cut off. And what etcdctl lock does in the same situation.
#include <support/admin_session.hpp>
#include <support/loopback_port.hpp>
#include <support/one_server.hpp>
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
#include <fstream>
#include <iostream>
#include <iterator>
#include <list>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace colock::test::cli_loss_test {

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

    // A busy machine may keep a process from running for the time of its session: then it loses its lock, and exits
    // with 120. So sessions are the longest that the server grants.
    std::vector<std::string> run(int lock, const std::string& name,
                                 const std::string& milliseconds) const
    {
        return {"run",         "--session-timeout",
                "4s",          "--tick",
                "200ms",       "--grace",
                "300ms",       "/lock-" + std::to_string(lock),
                "--",          COLOCK_JOURNAL_WRITER,
                journal(lock), name,
                milliseconds,  "family"};
    }
    std::vector<std::string> holder(int lock) const
    {
        auto words = run(lock, "holder", "600000");
        // A busy machine may keep the guardian, too, from running.
        words.insert(words.begin() + 1, {"--safety-margin", "1s"});
        words.emplace_back("stubborn");
        return words;
    }
    // It may lose the lock, too, before its command has said that it lives.
    std::vector<std::string> waiter(int lock) const
    {
        auto words = run(lock, "waiter", "50");
        words.insert(words.begin() + 1, {"--retry", "5"});
        return words;
    }
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
            BOOST_TEST(lives.size() >= 2);
            BOOST_TEST(overlaps(lives) == 0);
            without_overlap += lives.size() >= 2 && overlaps(lives) == 0;
        }
        return without_overlap;
    }

    int holders_number;
    zookeeper_server server{short_sessions()};
    temporary_directory directory;
    std::list<colock_process> holders, waiters;
};

// A holder whose standard error nobody reads.
struct unread {
    explicit unread(std::vector<std::string> options, const std::string& on_term,
                    const std::string& name = "unread")
        : path{own_node() + '/' + name}
    {
        options.insert(options.begin(), "run");
        options.insert(options.end(),
                       {path, "--", "sh", "-c",
                        "exec 2>/dev/null; trap '" + on_term + "' TERM; echo $$ >" + file("pid") +
                            "; echo $COLOCK_NODE >>" + file("nodes") + "; while [ ! -e " +
                            file("enough") + " ]; do sleep 0.01; done"});
        holder.emplace(error, servers, std::move(options));
    }
    std::string file(const std::string& name) const { return directory.path() + '/' + name; }
    std::vector<std::string> nodes() const
    {
        std::istringstream in{file_text(file("nodes"))};
        return {std::istream_iterator<std::string>{in}, {}};
    }
    bool runs(std::size_t for_the = 1) const
    {
        return wait_until([&] { return nodes().size() == for_the; }, patience);
    }
    // The command is gone, and colock is, before the guardian would do anything by itself.
    int status_soon()
    {
        const auto command = static_cast<pid_t>(std::stol(file_text(file("pid"))));
        const auto status = holder->status(5s); // of a session of 10 s
        BOOST_TEST(::kill(command, 0) != 0);
        return status;
    }

    std::string servers = one_server::get().connect_string();
    std::string path;
    temporary_directory directory;
    full_pipe error;
    std::optional<colock_process> holder;
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

// Whoever does not read what colock says does not keep it from what it has to do.
BOOST_AUTO_TEST_SUITE(nobody_reads, *boost::unit_test::fixture<one_server>())

BOOST_AUTO_TEST_CASE(G5_after_a_break)
{
    for (const auto& options : {std::vector<std::string>{}, {"--json"}}) {
        unread s{options, ":", "break" + std::to_string(options.size())};
        BOOST_REQUIRE(s.runs());
        BOOST_TEST(run_colock(s.servers, {"break", "--yes", s.path}).status == 0);
        BOOST_TEST(s.status_soon() == 120);
        BOOST_TEST(s.error.read_all() == "");
    }
}
BOOST_AUTO_TEST_CASE(after_a_loss_as_soon_as_with_a_reader)
{
    for (const bool is_read : {true, false}) {
        unread s{{}, ":", is_read ? "read" : "unread"};
        BOOST_REQUIRE(s.runs());
        if (is_read) {
            s.error.read_all();
        }
        const auto command = static_cast<pid_t>(std::stol(file_text(s.file("pid"))));
        admin_session admin{s.servers};
        const auto node = s.nodes().back();
        const auto since = std::chrono::steady_clock::now();
        admin.remove(node);
        BOOST_TEST(wait_until([&] { return ::kill(command, 0) != 0; }, 5s));
        const std::chrono::duration<double, std::milli> time =
            std::chrono::steady_clock::now() - since;
        std::cout << "figure: from the loss to the end of the command, when "
                  << (is_read ? "somebody" : "nobody") << " reads: " << time.count() << " ms\n";
        BOOST_TEST(s.holder->status(5s) == 120);
    }
}
BOOST_AUTO_TEST_CASE(after_a_revocation)
{
    unread s{{}, "exit 6"};
    BOOST_REQUIRE(s.runs());
    BOOST_TEST(run_colock(s.servers, {"revoke", s.path}).status == 0);
    BOOST_TEST(s.status_soon() == 6);
}
BOOST_AUTO_TEST_CASE(after_a_signal)
{
    unread s{{"--json"}, "exit 6"};
    BOOST_REQUIRE(s.runs());
    s.holder->process().send_signal(SIGTERM);
    BOOST_TEST(s.status_soon() == 6);
}
BOOST_AUTO_TEST_CASE(dropped_lines_are_counted)
{
    // Each term says six lines, of more than 15 kB together.
    constexpr std::size_t terms = 8;
    unread s{{"--json", "--retry", "1000"}, ":", std::string(3'000, 'x')};
    for (std::size_t term = 1; term != terms; ++term) {
        BOOST_REQUIRE(s.runs(term));
        admin_session{s.servers}.remove(s.nodes().back());
    }
    BOOST_REQUIRE(s.runs(terms));
    const auto has = [&](const std::string& text) {
        return wait_until([&] { return s.error.read_all().find(text) != std::string::npos; },
                          patience);
    };
    BOOST_REQUIRE(has(R"({"event":"dropped",)"));
    std::ofstream{s.file("enough")};
    BOOST_TEST(s.holder->status() == 0);
    BOOST_TEST(has(R"("status":0,"reason":"command","text":""}
)"));
    // connected; waiting, granted, started and exited; lost and retry; released and ended.
    constexpr std::size_t said = 1 + 4 * terms + 2 * (terms - 1) + 2;
    std::istringstream lines{s.error.read_all()};
    std::size_t counted = 0;
    for (std::string line; std::getline(lines, line);) {
        const auto at = line.find(R"("lines":)");
        counted += at == line.npos ? 1 : std::stoul(line.substr(at + 8));
    }
    BOOST_TEST(counted == said);
}

BOOST_AUTO_TEST_SUITE_END()

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

} // namespace colock::test::cli_loss_test
