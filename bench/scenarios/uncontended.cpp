// One client, nobody else: what colock adds to ZooKeeper's own time.
#include <support/tcp_proxy.hpp>
#include <support/zookeeper_server.hpp>

#include "runner.hpp"
#include "scenario.hpp"
#include "system.hpp"

#include <cstddef>
#include <iterator>
#include <utility>

namespace bench {

namespace {

using microseconds = std::chrono::duration<double, std::micro>;
using clients = std::vector<std::unique_ptr<lock_client>>;

// All of them are connected all the time. Their paths have the same length.
clients connect_all(const std::string& hosts)
{
    clients all;
    for (const auto& s : systems) {
        auto path = "/bench/uncontended/" + std::string{s.name};
        path.resize(32, '-');
        all.push_back(s.connect(hosts, path));
    }
    return all;
}

// What is rare counts too: a timer that fires in one cycle of many.
std::vector<double> means(const std::vector<cycle_time>& times)
{
    microseconds lock{};
    microseconds cycle{};
    for (const auto& t : times) {
        lock += t.lock;
        cycle += t.cycle;
    }
    const auto count = static_cast<double>(times.size());
    return {lock.count() / count, cycle.count() / count};
}

std::vector<double> medians(const std::vector<cycle_time>& times)
{
    std::vector<double> lock;
    std::vector<double> cycle;
    for (const auto& t : times) {
        lock.push_back(microseconds{t.lock}.count());
        cycle.push_back(microseconds{t.cycle}.count());
    }
    return {median(std::move(lock)), median(std::move(cycle))};
}

double round_trip(lock_client& client, int count)
{
    std::vector<double> times;
    for (const auto t : client.round_trips(count)) {
        times.push_back(microseconds{t}.count());
    }
    return median(std::move(times));
}

struct metric {
    const char* name;
    const char* unit;
    bool compared; // with the last system, too
};

void measure(report& out, int rtt_ms, const clients& all, const std::vector<metric>& metrics,
             schedule s, const std::function<std::vector<double>(lock_client&)>& slice)
{
    std::vector<contestant> contestants;
    for (std::size_t i = 0; i != all.size(); ++i) {
        contestants.push_back(
            {std::string{systems[i].name}, [&client = *all[i], &slice] { return slice(client); }});
    }
    const auto outcomes = interleave(contestants, s);
    const auto& reference = contestants.back().system;
    for (std::size_t m = 0; m != metrics.size(); ++m) {
        for (std::size_t i = 0; i != all.size(); ++i) {
            out.add({"uncontended", contestants[i].system, double(rtt_ms), 1, 1, metrics[m].name,
                     metrics[m].unit, outcomes[i].values[m]});
        }
        for (std::size_t i = 0; metrics[m].compared && i + 1 != all.size(); ++i) {
            out.add({"uncontended", contestants[i].system, double(rtt_ms), 1, 1,
                     std::string{metrics[m].name} + ", relative to " + reference, "ratio",
                     outcomes[i].relative[m]});
        }
    }
}

void without_delay(const run_options& options, report& out)
{
    const colock::test::zookeeper_server server{{.optimising_jvm = true}};
    const auto all = connect_all(server.connect_string());
    const int cycles = options.quick ? 200 : 500;
    for (int i = 0; i != (options.quick ? 10 : 20);
         ++i) { // until the server's compiler has seen enough
        for (const auto& client : all) {
            client->cycles(200);
        }
    }
    measure(out, 0, all, {{"lock", "us", false}, {"lock + unlock", "us", true}},
            {options.rounds, 20},
            [cycles](lock_client& client) { return means(client.cycles(cycles)); });
}

// In units of the round trip that the same client has at that moment.
void with_delay(const run_options& options, report& out, int rtt_ms)
{
    const colock::test::zookeeper_server server{{.optimising_jvm = true}};
    colock::test::tcp_proxy proxy{server.connect_string()};
    const auto all = connect_all(proxy.connect_string());
    for (const auto& client : all) {
        client->cycles(500); // warm, and without the delay yet
    }
    proxy.set_delay(std::chrono::milliseconds{rtt_ms} / 2);
    measure(out, rtt_ms, all,
            {{"round trip", "ms", false},
             {"lock, in round trips", "round trips", false},
             {"lock + unlock, in round trips", "round trips", false}},
            {options.rounds, options.quick ? 2 : 5}, [](lock_client& client) {
                const double one = round_trip(client, 10);
                const auto both = medians(client.cycles(10));
                return std::vector{one / 1000, both[0] / one, both[1] / one};
            });
}

} // namespace

void uncontended(const run_options& options, report& out)
{
    without_delay(options, out);
    with_delay(options, out, 10);
}

} // namespace bench
