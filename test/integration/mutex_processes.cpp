// Processes take turns on a file that nothing protects but the lock.
#include <support/admin_session.hpp>
#include <support/subprocess.hpp>
#include <support/temporary_directory.hpp>
#include <support/wait_until.hpp>
#include <support/zookeeper_server.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <fstream>
#include <iostream>
#include <list>
#include <string>
#include <thread>
#include <vector>

namespace colock::test::mutex_processes_test {

using namespace std::chrono_literals;

namespace {

constexpr int processes = 5;
constexpr int turns = 600;

} // namespace

BOOST_AUTO_TEST_SUITE(mutex_processes)

BOOST_AUTO_TEST_CASE(
    G1_five_processes_count_without_a_miss_and_one_killed_in_its_turn_is_taken_over)
{
    zookeeper_options options;
    options.tick_time = 200ms; // sessions of four seconds at most
    zookeeper_server server{options};
    const temporary_directory directory;
    const auto file = directory.path() + "/count";
    const auto count = [&] {
        long n = 0;
        std::ifstream{file} >> n; // none while somebody is writing
        return n;
    };
    const std::string lock = "/turns";
    const auto worker = [&](const std::string& what) {
        return std::vector<std::string>{COLOCK_LOCK_WORKER, server.connect_string(), lock, file,
                                        what};
    };

    std::list<subprocess> workers;
    for (int i = 0; i != processes; ++i) {
        workers.emplace_back(worker(std::to_string(turns)));
    }
    BOOST_REQUIRE(wait_until([&] { return count() > turns / 3; }, 60s));

    subprocess victim{worker("hold"), {.capture_output = true}};
    const auto line = victim.read_line(60s);
    BOOST_REQUIRE(line.has_value());
    BOOST_TEST(line->starts_with("held "));
    const auto reached = count();
    admin_session admin{server.connect_string()};
    BOOST_REQUIRE(wait_until([&] { return admin.children(lock).size() == processes + 1; }, 60s));
    std::this_thread::sleep_for(100ms); // in which somebody could take a turn that is not his
    BOOST_TEST(count() == reached);
    BOOST_REQUIRE(reached < processes * turns);

    victim.kill();
    const auto killed = std::chrono::steady_clock::now();
    BOOST_REQUIRE(wait_until([&] { return count() > reached; }, 60s));
    const std::chrono::duration<double> taken_over = std::chrono::steady_clock::now() - killed;
    std::cout << "the turn of a killed process was taken over after " << taken_over.count()
              << " s, with a session of 4 s\n";

    for (auto& each : workers) {
        const auto status = each.wait_for(60s);
        BOOST_REQUIRE(status.has_value());
        BOOST_TEST(status->success());
    }
    BOOST_TEST(count() == processes * turns);
    BOOST_TEST(admin.children(lock).empty());
    BOOST_TEST(server.watch_count() == 0);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::mutex_processes_test
