// A job in cron of three machines, whose clocks differ, for many nights: with a real server. The clocks are set by a
// preloaded library.
#include <support/clock_file.hpp>
#include <support/temporary_directory.hpp>
#include <support/zookeeper_server.hpp>

#include "colock_process.hpp"

#include <boost/test/unit_test.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace colock::test::cli_nights_test {

using namespace std::chrono_literals;

namespace {

using std::chrono::seconds;

// A server whose clock can be set.
struct night_server {
    temporary_directory files;
    clock_file clock{files.path() + "/server"};
    std::unique_ptr<zookeeper_server> server;

    night_server()
    {
        for (const auto& each : clock.environment()) {
            const auto at = each.find('=');
            ::setenv(each.substr(0, at).c_str(), each.substr(at + 1).c_str(), 1);
        }
        server = std::make_unique<zookeeper_server>();
        ::unsetenv("LD_PRELOAD");
        ::unsetenv("COLOCK_TEST_CLOCK");
    }
};

void pass(int nights)
{
    night_server at;
    const auto servers = at.server->connect_string();
    const std::string path = "/nightly";
    const auto log = at.files.path() + "/log";
    // The first machine's clock is six minutes fast, the last one's six minutes slow.
    const std::array<seconds, 3> fast{6min, 30s, -6min};
    std::vector<clock_file> clocks;
    for (std::size_t i = 0; i != fast.size(); ++i) {
        clocks.emplace_back(at.files.path() + "/machine" + std::to_string(i));
    }
    const auto now = std::chrono::time_point_cast<seconds>(std::chrono::system_clock::now());
    const auto first = std::chrono::ceil<std::chrono::days>(now) + 3h;
    std::minstd_rand random{7};
    std::array<int, 3> ran{};
    std::size_t seen = 0;
    for (int night = 0; night != nights; ++night) {
        // When each begins, by the servers' clock. Sometimes one has slept until the morning.
        std::array<std::chrono::sys_seconds, 3> begin;
        std::array<std::size_t, 3> order{0, 1, 2};
        for (std::size_t i = 0; i != begin.size(); ++i) {
            begin[i] = first + night * 24h - fast[i];
            begin[i] += random() % 5 == 0 ? seconds{random() % 36'000} : 0s;
        }
        std::ranges::sort(order, {}, [&](std::size_t i) { return begin[i]; });
        const bool at_once = random() % 2 == 0; // the jobs overlap
        std::vector<std::unique_ptr<colock_process>> machines;
        for (const auto i : order) {
            const auto there =
                begin[i] - std::chrono::time_point_cast<seconds>(std::chrono::system_clock::now());
            at.clock.set(there);
            clocks[i].set(there + fast[i]);
            machines.push_back(std::make_unique<colock_process>(
                servers,
                std::vector<std::string>{"run", "--once-per", "daily@03:00UTC", path, "--", "sh",
                                         "-c", "echo " + std::to_string(i) + " >>" + log},
                clocks[i].environment()));
            if (!at_once) {
                BOOST_REQUIRE(machines.back()->status() == 0);
            }
        }
        for (auto& m : machines) {
            BOOST_TEST(m->status() == 0);
            BOOST_TEST(m->out() + m->err() == ""); // cron would mail it
        }
        const auto lines = file_text(log);
        BOOST_REQUIRE(std::ranges::count(lines, '\n') == night + 1);
        ++ran[static_cast<std::size_t>(lines[seen] - '0')];
        seen = lines.size();
    }
    BOOST_TEST_MESSAGE("nights: " << nights << "; on each machine: " << ran[0] << ' ' << ran[1]
                                  << ' ' << ran[2]);
}

} // namespace

BOOST_AUTO_TEST_SUITE(cli_nights)

BOOST_AUTO_TEST_CASE(G1_one_machine_a_night)
{
    pass(12);
}

BOOST_AUTO_TEST_CASE(G1_two_hundred_nights_soak, *boost::unit_test::disabled())
{
    pass(200);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::cli_nights_test
