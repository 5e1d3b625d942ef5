// Several processes, one session each, that all want the same lock all the time.
//
// Of colock alone: the raw client does the least for one client, and has no queue to wait in.
#include <support/subprocess.hpp>
#include <support/tcp_proxy.hpp>
#include <support/zookeeper_server.hpp>

#include "runner.hpp"
#include "scenario.hpp"

#include <deque>
#include <stdexcept>

namespace bench {

namespace {

using colock::test::subprocess;

double hand_overs_a_second(const run_options& options, const std::string& hosts, int clients,
                           std::chrono::milliseconds time)
{
    std::deque<subprocess> workers;
    for (int i = 0; i != clients; ++i) {
        workers.emplace_back(
            std::vector<std::string>{options.self, "--worker", hosts, "/bench/handover",
                                     std::to_string(time.count())},
            colock::test::subprocess_options{.capture_output = true, .open_input = true});
    }
    constexpr std::chrono::seconds patience{30};
    for (auto& w : workers) {
        if (w.read_line(patience) != "ready") {
            throw std::runtime_error{"handover: a worker could not connect"};
        }
    }
    for (auto& w : workers) {
        w.write_input("go\n");
    }
    int turns = 0;
    for (auto& w : workers) {
        const auto line = w.read_line(time + patience);
        if (!line) {
            throw std::runtime_error{"handover: a worker ended without a result"};
        }
        turns += std::stoi(*line);
    }
    return turns / std::chrono::duration<double>{time}.count();
}

} // namespace

void handover(const run_options& options, report& out)
{
    const colock::test::zookeeper_server server{{.optimising_jvm = true}};
    colock::test::tcp_proxy proxy{server.connect_string()};
    proxy.set_delay(std::chrono::milliseconds{5});
    const std::chrono::milliseconds time{options.quick ? 2000 : 5000};
    const auto sizes = options.full ? std::vector{2, 8, 32} : std::vector{8};
    for (const int rtt_ms : {0, 10}) {
        const auto hosts = rtt_ms == 0 ? server.connect_string() : proxy.connect_string();
        for (const int clients : sizes) {
            const auto measured = interleave(
                {{"colock",
                  [&] { return std::vector{hand_overs_a_second(options, hosts, clients, time)}; }}},
                {options.rounds, 1});
            out.add({"handover", "colock", double(rtt_ms), clients, 1, "hand-overs", "1/s",
                     measured[0].values[0]});
        }
    }
}

} // namespace bench
