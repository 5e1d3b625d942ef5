#include "in_process_peers.hpp"

#include "arena.hpp"
#include "compare.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace bench {

void in_process_peers(const run_options& options, report& out)
{
    const arena where{options, {.etcd = true}}; // one server, as for colock
    auto systems = colock_and_peers();
    systems.pop_back(); // colock: measured without a process between
    // A WriteLock recognises its node by the session: two threads would share one.
    std::erase_if(systems, [](const lock_system& s) { return s.name == "zookeeper-recipe"; });
    field all{out, options, where, "in_process", systems, 1};
    const auto turns = [](field::entrant& e, int threads, int ms) {
        const auto command = "local " + path_of(e.system, "local") + ' ' + std::to_string(threads) +
                             ' ' + std::to_string(ms);
        return double(e.processes->turns(command, 1)) * 1000 / ms;
    };
    all.warm_up(out, [&](field::entrant& e) { turns(e, 8, options.quick ? 500 : 1500); });
    std::vector contests{std::pair{1, 1000}, std::pair{8, 1000}, std::pair{64, 2000}};
    if (options.full) {
        contests.emplace_back(1000, 20'000);
    }
    for (const auto& contest : contests) {
        const auto threads = contest.first;
        const auto longest = contest.second;
        // All have to join first: the more of them, the longer.
        const int ms = options.quick ? longest / 2 : longest;
        const auto rate = [&](field::entrant& e) { return std::vector{turns(e, threads, ms)}; };
        compare(out, {"in_process", 0, threads}, all.contestants(rate), {{"grants", "1/s"}},
                {threads == 1000 ? 1 : std::min(options.rounds, 2), 1});
    }
}

} // namespace bench
