// Eight clients of a read/write lock, nine turns in ten of which are reads.
#include "arena.hpp"
#include "compare.hpp"
#include "scenario.hpp"

#include <algorithm>
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
        e.processes->cycle(path_of(e.system, "warm-up"), options.quick ? 200 : 500);
        for (const auto& how : arrangements) {
            turns(e, how.processes, options.quick ? 500 : 2500);
        }
    });
    const int ms = options.quick ? 700 : options.full ? 1500 : 1000;
    for (const int rtt_ms : {0, 10}) {
        where.set_round_trip(std::chrono::milliseconds{rtt_ms});
        const auto slice = [&](field::entrant& e, const arrangement& how) {
            return std::vector{turns(e, how.processes, ms)};
        };
        compare_best(out, {"readers", double(rtt_ms), clients, options.servers},
                     all.contestants(slice), {{"turns, 90 % of them shared", "1/s"}},
                     {options.quick  ? 2
                      : options.full ? options.rounds
                                     : std::min(options.rounds, 3),
                      1});
    }
}

} // namespace bench
