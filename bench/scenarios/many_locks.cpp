// One client and a thousand locks, of which it wants 64 at any time: how much of the server's
// throughput each system makes use of.
#include "arena.hpp"
#include "compare.hpp"
#include "scenario.hpp"

#include <string>

namespace bench {

void many_locks(const run_options& options, report& out)
{
    const arena where{options, {.servers = options.servers, .etcd = true}};
    auto systems = colock_and_peers();
    systems.insert(systems.begin(), raw_tuned);
    systems.push_back(raw_system); // what all are compared with
    field all{out, options, where, "many_locks", systems, 1};
    constexpr int locks = 1000;
    const auto turns = [](field::entrant& e, int ms) {
        const auto command = "many " + path_of(e.system, "many") + ' ' + std::to_string(locks) +
                             " 64 " + std::to_string(ms);
        return double(e.processes->turns(command, 1));
    };
    all.warm_up(out, [&](field::entrant& e) {
        double taken = 0;
        do {
            taken += turns(e, 1000);
        } while (taken < locks); // each has made its directories then
    });
    // Short ones: what else the machine does hits neighbours alike.
    const int ms = 250;
    const auto rate = [&](field::entrant& e) { return std::vector{turns(e, ms) * 1000 / ms}; };
    compare(out, {"many_locks", 0, 1, options.servers}, all.contestants(rate),
            {{"cycles", "1/s", "raw"}},
            {options.rounds, options.quick  ? 2
                             : options.full ? 8
                                            : 3});
}

} // namespace bench
