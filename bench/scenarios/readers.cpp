// Eight clients of a read/write lock, nine turns in ten of which are reads.
#include "arena.hpp"
#include "compare.hpp"
#include "scenario.hpp"

#include <algorithm>
#include <iterator>
#include <string>

namespace bench {

void readers(const run_options& options, report& out)
{
    arena where{options, {.servers = options.servers, .proxied = true}};
    // Of the others, kazoo has such a lock, too.
    out.remark(
        "readers: kazoo 2.8.0 is left out. Its ReadLock waits for the last writer in the queue, "
        "also for one behind it, and both wait for ever");
    field all{out, options, where, "readers", {curator_system, colock_system}, 8};
    constexpr int clients = 8;
    const auto turns = [](field::entrant& e, int processes, int ms) {
        const auto command = "rw-contend " + path_of(e.system, "readers") + ' ' +
                             std::to_string(ms) + " 90 " + std::to_string(clients / processes);
        return double(e.processes->turns(command, processes)) * 1000 / ms;
    };
    all.warm_up(out, [&](field::entrant& e) {
        e.processes->cycle(path_of(e.system, "warm-up"), options.quick ? 200 : 1000);
        for (const int processes : {1, clients}) {
            turns(e, processes, options.quick ? 500 : 2500);
        }
    });
    const int ms = options.quick ? 700 : options.full ? 1500 : 1000;
    for (const int rtt_ms : {0, 10}) {
        where.set_round_trip(std::chrono::milliseconds{rtt_ms});
        auto contestants = all.contestants(
            [&](field::entrant& e) { return std::vector{turns(e, 1, ms)}; }, "one process");
        std::ranges::move(
            all.contestants([&](field::entrant& e) { return std::vector{turns(e, clients, ms)}; },
                            "eight processes"),
            std::back_inserter(contestants));
        compare_best(out, {"readers", double(rtt_ms), clients, options.servers}, contestants,
                     {{"turns, 90 % of them shared", "1/s"}},
                     {options.quick  ? 2
                      : options.full ? options.rounds
                                     : std::min(options.rounds, 3),
                      1});
    }
}

} // namespace bench
