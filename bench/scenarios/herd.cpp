// What a release costs the server, against the number of those who wait: the same for one watch on
// the predecessor, more for each waiter where all watch the same. Counted, not timed.
#include "arena.hpp"
#include "compare.hpp"
#include "scenario.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace bench {

// One system after the other, and its processes end before the next begins: also clients that wait for nothing send
// something from time to time.
void herd(const run_options& options, report& out)
{
    const arena where{options, {.servers = options.servers, .proxied = true}};
    auto systems = colock_and_peers(false);
    systems.push_back(herd_children);
    systems.push_back(herd_holder);
    const auto turns = [](field::entrant& e, int clients, int ms) {
        const auto command = "contend " + path_of(e.system, "herd") + ' ' + std::to_string(ms) +
                             " 0 " + std::to_string(clients);
        return e.processes->turns(command, 1);
    };
    const int ms = options.full ? 1000 : 300;
    for (const auto& system : systems) {
        field one{out, options, where, "herd", {system}, 1};
        for (const int clients : options.quick ? std::vector{8, 32} : std::vector{8, 32, 128}) {
            one.warm_up(out, [&](field::entrant& e) { turns(e, clients, 200); });
            const auto slice = [&](field::entrant& e) {
                const auto before = where.seen();
                // Each takes one more turn, behind the end of the time.
                const auto count = double(turns(e, clients, ms) + clients);
                const auto after = where.seen();
                return std::vector{double(after.notifications - before.notifications) / count,
                                   double(after.packets - before.packets) / count,
                                   double(after.bytes - before.bytes) / count};
            };
            compare(out, {"herd", 0, clients, options.servers}, one.contestants(slice),
                    {{"notifications a release", "notifications"},
                     {"packets a release", "packets"},
                     {"bytes a release", "bytes"}},
                    {std::min(options.rounds, options.full ? 3 : 2), 1});
        }
    }
}

} // namespace bench
