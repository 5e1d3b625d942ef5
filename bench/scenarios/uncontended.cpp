// One client, nobody else: what each system adds to its servers' own time.
#include "arena.hpp"
#include "compare.hpp"
#include "scenario.hpp"

#include <string>

namespace bench {

namespace {

// What all are compared with comes last, and colock beside it.
std::vector<lock_system> systems(const run_options& options)
{
    if (options.tls) {
        return colock_both_ways();
    }
    auto all = colock_and_peers();
    all.insert(all.begin(), raw_tuned);
    all.push_back(colock_guarded);
    all.push_back(raw_system);
    return all;
}

std::string cycles(const lock_system& s, int count)
{
    return "cycles " + path_of(s, "uncontended") + ' ' + std::to_string(count);
}

// In turns, until the compilers of the server and of the peers have seen enough.
void warm_up(field& all, report& out, int cycles_each)
{
    for (int done = 0; done < cycles_each; done += 200) {
        all.warm_up(out, [](field::entrant& e) {
            e.processes->front().ask(cycles(e.system, 200), "cycles");
        });
    }
}

// What is rare counts too, a timer that fires in one cycle of many: these are means.
void without_delay(const run_options& options, report& out)
{
    const arena where{options, {.servers = options.servers, .etcd = !options.tls}};
    field all{out, options, where, "uncontended", systems(options), 1};
    // Java's ciphers are slow, by far, until they are compiled for speed.
    warm_up(all, out, options.tls ? 20'000 : options.quick ? 1000 : 3000);
    // Short ones: what else the machine does hits neighbours alike.
    const int count = options.quick ? 50 : 100;
    const auto slices = all.contestants([count](field::entrant& e) {
        const auto times = numbers(e.processes->front().ask(cycles(e.system, count), "cycles"));
        return std::vector{times.at(0), times.at(1), 1e6 / times.at(1)};
    });
    compare(out, {"uncontended", 0, 1, options.servers}, slices,
            {{"lock", "us"},
             {"lock + unlock", "us", options.tls ? "colock" : "raw"},
             {"cycles", "1/s"}},
            {options.rounds, options.quick  ? 10
                             : options.full ? 40
                                            : 6});
    // Of slices that are long enough for a clock of hundredths of a second.
    const int many = options.quick ? 500 : 2000;
    const auto uses = all.contestants([many](field::entrant& e) {
        auto& process = e.processes->front();
        const auto before = process.processor();
        process.ask(cycles(e.system, many), "cycles");
        const auto after = process.processor();
        const double user = (after.user - before.user) / many;
        const double system = (after.system - before.system) / many;
        return std::vector{user + system, user, system};
    });
    compare(out, {"uncontended", 0, 1, options.servers}, uses,
            {{"processor time a cycle", "us"},
             {"processor time a cycle, user", "us"},
             {"processor time a cycle, system", "us"}},
            {options.rounds, 1});
}

// In units of the round trip that the same client has at that moment.
void with_delay(const run_options& options, report& out)
{
    arena where{options, {.servers = options.servers, .proxied = true, .etcd = !options.tls}};
    field all{out, options, where, "uncontended", systems(options), 1};
    warm_up(all, out, options.quick ? 400 : 1000); // without the delay yet
    const auto slices = all.contestants([](field::entrant& e) {
        auto& process = e.processes->front();
        const double one = process.round_trip();
        const auto times = numbers(process.ask(cycles(e.system, 10), "cycles"));
        return std::vector{one / 1000, times.at(2) / one, times.at(3) / one, 1e6 / times.at(1)};
    });
    for (const int rtt_ms : options.full ? std::vector{1, 10} : std::vector{10}) {
        where.set_round_trip(std::chrono::milliseconds{rtt_ms});
        compare(out, {"uncontended", double(rtt_ms), 1, options.servers}, slices,
                {{"round trip", "ms"},
                 {"lock, in round trips", "round trips"},
                 {"lock + unlock, in round trips", "round trips"},
                 {"cycles", "1/s"}},
                {options.rounds, options.full ? 5 : 1});
    }
}

} // namespace

void uncontended(const run_options& options, report& out)
{
    without_delay(options, out);
    with_delay(options, out);
}

} // namespace bench
