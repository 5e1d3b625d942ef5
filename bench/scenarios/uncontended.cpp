// One client, nobody else: what colock adds to ZooKeeper's own time.
#include "scenario.hpp"
#include "system.hpp"

#include <support/tcp_proxy.hpp>
#include <support/zookeeper_server.hpp>

#include <algorithm>

namespace bench {

namespace {

using microseconds = std::chrono::duration<double, std::micro>;

double mean_cycle(const std::vector<cycle_time>& times)
{
    clock::duration sum{};
    for (const auto& t : times) {
        sum += t.cycle;
    }
    return microseconds{sum}.count() / static_cast<double>(times.size());
}

// Both are connected all the time, and take turns in short slices, so that whatever else the machine
// does hits both.
void without_delay(const run_options& options, report& out)
{
    const colock::test::zookeeper_server server{{.optimising_jvm = true}};
    const auto ours = make_colock_client(server.connect_string(), "/bench/uncontended/colock");
    const auto theirs = make_raw_client(server.connect_string(), "/bench/uncontended/raw");
    constexpr int slice = 200;
    const int slices = options.quick ? 5 : 20;
    for (int i = 0; i != 20; ++i) { // until the server's compiler has seen enough
        ours->cycles(slice);
        theirs->cycles(slice);
    }
    figure a{"uncontended", "colock", 0, 1, 1, "lock + unlock", "us", {}};
    figure b{"uncontended", "raw", 0, 1, 1, "lock + unlock", "us", {}};
    for (int round = 0; round != options.rounds; ++round) {
        std::vector<double> first;
        std::vector<double> second;
        for (int i = 0; i != slices; ++i) {
            first.push_back(mean_cycle(ours->cycles(slice)));
            second.push_back(mean_cycle(theirs->cycles(slice)));
        }
        a.rounds.push_back(median(std::move(first)));
        b.rounds.push_back(median(std::move(second)));
    }
    out.add(std::move(a));
    out.add(std::move(b));
}

void with_delay(const run_options& options, report& out, int rtt_ms)
{
    const colock::test::zookeeper_server server;
    colock::test::tcp_proxy proxy{server.connect_string()};
    proxy.set_delay(std::chrono::milliseconds{rtt_ms} / 2);
    const int count = options.quick ? 20 : 50;
    for (const auto& [name, make] : {std::pair{"colock", &make_colock_client}, {"raw", &make_raw_client}}) {
        const auto client = make(proxy.connect_string(), std::string{"/bench/delayed/"} + name);
        client->cycles(5);
        figure trip{"uncontended", name, double(rtt_ms), 1, 1, "round trip", "ms", {}};
        figure lock{"uncontended", name, double(rtt_ms), 1, 1, "lock, in round trips", "round trips", {}};
        figure both{"uncontended", name, double(rtt_ms), 1, 1, "lock + unlock, in round trips",
                    "round trips", {}};
        for (int round = 0; round != options.rounds; ++round) {
            std::vector<double> trips;
            for (const auto t : client->round_trips(count)) {
                trips.push_back(microseconds{t}.count());
            }
            std::vector<double> locks;
            std::vector<double> cycles;
            for (const auto& t : client->cycles(count)) {
                locks.push_back(microseconds{t.lock}.count());
                cycles.push_back(microseconds{t.cycle}.count());
            }
            const double one = median(trips);
            trip.rounds.push_back(one / 1000);
            lock.rounds.push_back(median(locks) / one);
            both.rounds.push_back(median(cycles) / one);
        }
        out.add(std::move(trip));
        out.add(std::move(lock));
        out.add(std::move(both));
    }
}

} // namespace

void uncontended(const run_options& options, report& out)
{
    without_delay(options, out);
    with_delay(options, out, 10);
}

} // namespace bench
