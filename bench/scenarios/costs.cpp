// What a lock costs the process that takes it, counted: memory asked for, instructions. Of colock and of the raw
// clients, which are of this program.
#include <support/allocation_count.hpp>
#include <support/subprocess.hpp>

#include "arena.hpp"
#include "compare.hpp"
#include "scenario.hpp"
#include "systems/own_system.hpp"

#include <optional>
#include <stdexcept>
#include <string>

namespace bench {

namespace {

using colock::test::allocation_count;
using colock::test::exit_status;
using colock::test::find_program;
using colock::test::subprocess;

std::vector<double> allocations(const arena& where, const lock_system& s, int cycles)
{
    const auto path = path_of(s, "costs");
    const auto system = make(s.name, where.hosts(s.server), std::chrono::seconds{30});
    system->cycles(path, cycles); // what recycles memory has some then
    const allocation_count count;
    system->cycles(path, cycles);
    return {double(count.calls()) / cycles, double(count.bytes()) / cycles};
}

// Of a whole process that takes the lock so often.
double instructions(const arena& where, const lock_system& s, const std::string& self, int cycles)
{
    subprocess counted{{"valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                        "--log-fd=1", self, "--cycles", std::string{s.name}, where.hosts(s.server),
                        std::to_string(cycles)},
                       {.capture_output = true}};
    std::optional<double> collected;
    constexpr std::string_view key = "Collected : ";
    while (const auto line = counted.read_line(std::chrono::minutes{2})) {
        if (const auto at = line->find(key); at != line->npos) {
            collected = std::stod(line->substr(at + key.size()));
        }
    }
    const auto status = counted.wait_for(std::chrono::seconds{10});
    if (!status || !status->success() || !collected) {
        throw std::runtime_error{"callgrind did not count"};
    }
    return *collected;
}

} // namespace

void costs(const run_options& options, report& out)
{
    const arena where{options, {.servers = options.servers}};
    const std::vector systems{colock_system, raw_tuned, raw_system};
    const auto measure = [&](const std::vector<metric>& metrics, auto slice) {
        std::vector<contestant> all;
        for (const auto& s : systems) {
            all.push_back({std::string{s.name}, [=] { return slice(s); }});
        }
        compare(out, {"costs", 0, 1, options.servers}, all, metrics,
                {std::min(options.rounds, 2), 1});
    };
    measure({{"allocations a cycle", "allocations"}, {"bytes allocated a cycle", "bytes"}},
            [&where](const lock_system& s) { return allocations(where, s, 1000); });
    if (find_program("valgrind").empty()) {
        out.remark("costs: instructions are not counted without valgrind");
    } else {
        // What it takes to begin and end is in both.
        measure({{"instructions a cycle", "instructions", "raw"}},
                [&where, &options](const lock_system& s) {
                    const auto few = instructions(where, s, options.self, 200);
                    return std::vector{(instructions(where, s, options.self, 1200) - few) / 1000};
                });
    }
}

} // namespace bench
