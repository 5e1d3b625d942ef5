#include "requests_of_all.hpp"

#include "arena.hpp"
#include "compare.hpp"

#include <algorithm>
#include <string>

namespace bench {

// Pings do not count. colock's heartbeats do, one in five seconds: the median leaves them out.
void requests_of_all(const run_options& options, report& out)
{
    const arena where{options, {.servers = options.servers, .proxied = true}};
    auto systems = colock_and_peers(false);
    systems.push_back(raw_system);
    systems.push_back(raw_tuned);
    field all{out, options, where, "requests", systems, 1};

    const auto cycles = [](field::entrant& e, int count) {
        e.processes->front().ask(
            "cycles " + path_of(e.system, "cycles") + ' ' + std::to_string(count), "cycles");
    };
    all.warm_up(out, [&](field::entrant& e) { cycles(e, 10); }); // the directories
    const schedule s{std::min(options.rounds, 3), 1};
    compare(out, {"requests", 0, 1, options.servers}, all.contestants([&](field::entrant& e) {
        constexpr int count = 50;
        const auto before = where.seen();
        cycles(e, count);
        const auto after = where.seen();
        return std::vector{double(after.requests - before.requests) / count,
                           double(after.bytes - before.bytes) / count};
    }),
            {{"requests a cycle, on the wire", "requests"}, {"bytes a cycle", "bytes"}}, s);

    std::erase_if(all.entrants(),
                  [](const field::entrant& e) { return e.system.name.starts_with("raw"); });
    const auto turns = [](field::entrant& e, int ms) {
        const auto command =
            "contend " + path_of(e.system, "contend") + ' ' + std::to_string(ms) + " 0 8";
        return e.processes->turns(command, 1) + 8; // each takes one behind the end of the time
    };
    all.warm_up(out, [&](field::entrant& e) { turns(e, 200); });
    compare(out, {"requests", 0, 8, options.servers}, all.contestants([&](field::entrant& e) {
        const auto before = where.seen();
        const auto count = double(turns(e, 500));
        const auto after = where.seen();
        return std::vector{double(after.requests - before.requests) / count,
                           double(after.bytes - before.bytes) / count};
    }),
            {{"requests a hand-over, on the wire", "requests"}, {"bytes a hand-over", "bytes"}}, s);
}

} // namespace bench
