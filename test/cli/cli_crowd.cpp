// Many shells at once, whose locks, guardians and commands are killed at random.
#include <support/admin_session.hpp>
#include <support/subprocess.hpp>
#include <support/temporary_directory.hpp>
#include <support/wait_until.hpp>
#include <support/zookeeper_server.hpp>

#include "colock_process.hpp"
#include "journal.hpp"

#include <boost/test/unit_test.hpp>

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <list>
#include <map>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace colock::test::cli_crowd_test {

using namespace std::chrono_literals;

namespace {

// The processes whose parent is `parent`, zombies left out.
std::vector<pid_t> children_of(pid_t parent)
{
    std::vector<pid_t> all;
    std::ifstream in{"/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) +
                     "/children"};
    for (pid_t child = 0; in >> child;) {
        all.push_back(child);
    }
    return all;
}

std::optional<pid_t> first_child(std::optional<pid_t> parent)
{
    const auto all = parent ? children_of(*parent) : std::vector<pid_t>{};
    return all.empty() ? std::nullopt : std::optional{all.front()};
}

// How many processes have this in their environment.
int processes_with(const std::string& mark)
{
    int count = 0;
    auto* const proc = ::opendir("/proc");
    while (const auto* const entry = ::readdir(proc)) {
        std::ifstream in{std::string{"/proc/"} + entry->d_name + "/environ"};
        std::ostringstream text;
        text << in.rdbuf();
        count += text.str().find(mark) != std::string::npos;
    }
    ::closedir(proc);
    return count;
}

enum class role { supervisor, guardian, command };

// Kills a third of the runs that it sees: one process of each.
class killer {
public:
    explicit killer(unsigned seed) : random_{seed} {}

    void look_at(pid_t shell)
    {
        for (const auto supervisor : children_of(shell)) {
            auto& fate =
                fates_.contains(supervisor) ? fates_[supervisor] : fates_[supervisor] = decide();
            if (!fate) {
                continue;
            }
            const auto guardian = first_child(supervisor);
            const auto victim = *fate == role::supervisor ? std::optional{supervisor}
                                : *fate == role::guardian ? guardian
                                                          : first_child(guardian);
            if (victim && std::bernoulli_distribution{0.4}(random_)) {
                ::kill(*victim, SIGKILL);
                fate.reset();
                ++killed;
            }
        }
    }

    int killed = 0;

private:
    // Two of five that follow each other: some end before they are hit, and a third is left.
    std::optional<role> decide()
    {
        if (seen_++ % 5 > 1) {
            return std::nullopt;
        }
        return static_cast<role>(std::uniform_int_distribution<int>{0, 2}(random_));
    }

    std::mt19937 random_;
    unsigned seen_ = 0;
    std::map<pid_t, std::optional<role>> fates_; // of supervisors
};

void crowd(int number_of_shells, int runs_each)
{
    zookeeper_options options;
    options.tick_time = 200ms;
    zookeeper_server server{options};
    const temporary_directory directory;
    const auto journal = directory.path() + "/journal";
    const auto mark = "COLOCK_TEST_CROWD=" + directory.path();

    std::list<subprocess> shells;
    for (int i = 0; i != number_of_shells; ++i) {
        const std::string line =
            "for i in $(seq " + std::to_string(runs_each) +
            "); do " COLOCK_PROGRAM
            " run --session-timeout 4s --tick 200ms --grace 100ms /crowd -- " COLOCK_JOURNAL_WRITER
            " " +
            journal + " " + std::to_string(i) + ".$i 20 family stubborn; done; exit 0";
        shells.emplace_back(
            std::vector<std::string>{"sh", "-c", line},
            subprocess_options{.environment = {mark, "COLOCK_SERVERS=" + server.connect_string()},
                               .output_file = directory.path() + "/said"});
    }
    const auto seed = std::random_device{}();
    BOOST_TEST_MESSAGE("seed " << seed);
    killer k{seed};
    const auto all_ended = [&] {
        bool all = true;
        for (auto& shell : shells) {
            if (shell.running()) {
                all = false;
                k.look_at(shell.pid());
            }
        }
        return all;
    };
    BOOST_TEST(wait_until(all_ended, 300s)); // nobody is stuck
    BOOST_TEST(wait_until([&] { return processes_with(mark) == 0; }, 60s));

    const auto runs = read_journal(journal);
    const auto between = overlaps(runs);
    BOOST_TEST(between == 0);
    admin_session admin{server.connect_string()};
    BOOST_TEST(wait_until([&] { return queue_length(admin, "/crowd") == 0; }, 60s));
    std::cout << "figure: " << number_of_shells << " shells, " << number_of_shells * runs_each
              << " runs, " << k.killed << " processes killed, " << runs.size()
              << " commands ran, overlaps: " << between << '\n';
    BOOST_TEST(k.killed > number_of_shells * runs_each / 12);
    BOOST_TEST(static_cast<int>(runs.size()) > number_of_shells * runs_each / 2);
}

} // namespace

BOOST_AUTO_TEST_SUITE(cli_crowd)

BOOST_AUTO_TEST_CASE(G1_G5_shells_take_turns_while_some_are_killed)
{
    crowd(4, 6);
}
BOOST_AUTO_TEST_CASE(G1_G5_two_hundred_runs_soak, *boost::unit_test::disabled())
{
    crowd(8, 25);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::cli_crowd_test
