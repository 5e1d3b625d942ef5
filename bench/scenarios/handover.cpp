// Clients, each with a session of its own, that all want the same lock all the time: in one process, and in eight.
#include "arena.hpp"
#include "compare.hpp"
#include "scenario.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

namespace bench {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using seconds = std::chrono::duration<double>;

constexpr int processes = std::ranges::max(arrangements, {}, &arrangement::processes).processes;

struct contest {
    int clients;
    milliseconds hold{0};
};

long turns(
    field::entrant& e, const contest& c, const arrangement& how, milliseconds time,
    const std::function<void()>& meanwhile = [] {})
{
    const int used = std::min(c.clients, how.processes);
    const auto command =
        "contend " + path_of(e.system, "handover") + ' ' + std::to_string(time.count()) + ' ' +
        std::to_string(c.hold.count() * 1000) + ' ' + std::to_string(c.clients / used);
    return e.processes->turns(command, used, meanwhile);
}

std::string metric_of(const contest& c)
{
    return c.hold.count() == 0 ? "hand-overs"
                               : "hand-overs, held " + std::to_string(c.hold.count()) + " ms";
}

double rate(long turns, milliseconds time)
{
    return double(turns) / seconds{time}.count();
}

// The rate, and what part it is of the most that there can be: of 1 / (round trip + hold time), with the
// round trip that the same process has just before and just after it, and with what the proxy alone makes of it.
std::vector<double> delayed_slice(field::entrant& e, const contest& c, const arrangement& how,
                                  arena& where, milliseconds time, milliseconds rtt)
{
    auto& process = e.processes->front();
    where.set_round_trip(rtt);
    const double before = process.round_trip() / 1e6;
    const auto count = turns(e, c, how, time, [&] {
        // The last turn of each, which does not count, is not waited for that long.
        std::this_thread::sleep_for(time + time / 10);
        where.set_round_trip({});
    });
    where.set_round_trip(rtt);
    const double behind = process.round_trip() / 1e6;
    const double per_second = rate(count, time);
    const double hold = seconds{c.hold}.count();
    const double nominal = per_second * (seconds{rtt}.count() + hold);
    if (nominal > 1) {
        throw std::runtime_error{"turns were counted that were taken without the delay"};
    }
    return {per_second, per_second * ((before + behind) / 2 + hold), nominal};
}

// The first one where there are no figures.
arrangement best_without_delay(const report& out, const field::entrant& e, const contest& c,
                               int servers)
{
    const auto* best = &arrangements[0];
    double most = 0;
    for (const auto& how : arrangements) {
        const auto* const f =
            out.find({{"handover", 0, c.clients, servers}, metric_of(c) + ", " + how.name},
                     std::string{e.system.name});
        if (f != nullptr && f->median() > most) {
            most = f->median();
            best = &how;
        }
    }
    return *best;
}

// From few clients to many, as sessions that were made stay.
void contend(const run_options& options, report& out, arena& where, field& all, int rtt_ms,
             const std::vector<contest>& contests)
{
    for (const auto& c : contests) {
        // With a delay there are few turns in a second, and the first is no hand-over. Without one short slices do,
        // of which there are more: who wakes whom differs between them. A slice of a hundred clients is long anyway,
        // as all of them take their last turn.
        const bool many = rtt_ms == 0 && c.clients < 100 && !options.quick && !options.full;
        const milliseconds time{options.quick ? 700 : options.full ? 4000 : many ? 300 : 900};
        where.set_round_trip({});
        all.warm_up(out, [&](field::entrant& e) {
            for (const auto& how : arrangements) {
                turns(e, c, how, milliseconds{300});
            }
        });
        std::vector<metric> metrics{{metric_of(c), "1/s"}};
        if (rtt_ms != 0) {
            metrics.push_back({metric_of(c) + ", part of the most there can be", "ratio"});
            metrics.push_back({metric_of(c) + ", part of 1 / (delay + hold)", "ratio"});
        }
        const circumstances here{"handover", double(rtt_ms), c.clients, where.servers()};
        if (rtt_ms != 0) {
            // The processors have time enough for either arrangement: in that which was better without a delay.
            compare(out, here, all.contestants([&](field::entrant& e) {
                return delayed_slice(e, c, best_without_delay(out, e, c, where.servers()), where,
                                     time, milliseconds{rtt_ms});
            }),
                    metrics, {options.full ? options.rounds : std::min(options.rounds, 2), 1});
            continue;
        }
        const auto slice = [&](field::entrant& e, const arrangement& how) {
            return std::vector{rate(turns(e, c, how, time), time)};
        };
        const bool few = !options.full && (!many || where.servers() != 1);
        compare_best(out, here, all.contestants(slice), metrics,
                     {few ? std::min(options.rounds, 2) : options.rounds, many ? 2 : 1});
    }
}

// All processes, so that the compilers of the server and of the peers have seen enough: of cycles, of which contention
// alone would have too few, as each process has but one turn in eight, and of contention, whose rate grows for seconds.
void warm_up(const run_options& options, report& out, field& all, milliseconds cycles, int contests)
{
    all.warm_up(out, [&](field::entrant& e) {
        const auto end = steady_clock::now() + (options.quick ? cycles / 4 : cycles);
        do {
            e.processes->cycle(path_of(e.system, "warm-up"), 50);
        } while (steady_clock::now() < end);
    });
    for (int i = 0; i != (options.quick ? 1 : contests); ++i) {
        all.warm_up(out, [&](field::entrant& e) {
            for (const auto& how : arrangements) {
                turns(e, {processes}, how, milliseconds{700});
            }
        });
    }
}

constexpr milliseconds hold_time{1};

std::vector<contest> contests_without_delay(const run_options& options)
{
    if (options.quick) {
        return {{2}, {8}, {32}};
    }
    if (options.full) {
        return {{2},  {2, hold_time},  {8},   {8, hold_time},
                {32}, {32, hold_time}, {128}, {128, hold_time}};
    }
    return {{8}, {32}, {128}};
}

std::vector<contest> contests_with_delay(const run_options& options)
{
    return options.quick ? std::vector<contest>{{8}} : contests_without_delay(options);
}

std::vector<lock_system> systems(const run_options& options)
{
    return options.tls ? colock_both_ways() : colock_and_peers();
}

} // namespace

void handover(const run_options& options, report& out)
{
    {
        arena where{options, {.servers = options.servers, .etcd = !options.tls}};
        field all{out, options, where, "handover", systems(options), processes};
        warm_up(options, out, all, milliseconds{3000}, 3);
        contend(options, out, where, all, 0, contests_without_delay(options));
    }
    {
        arena where{options, {.servers = options.servers, .proxied = true, .etcd = !options.tls}};
        field all{out, options, where, "handover", systems(options), processes};
        // Without the delay, and not for long: that leaves the processors time.
        warm_up(options, out, all, milliseconds{1000}, 1);
        for (const int rtt_ms : options.quick ? std::vector{10} : std::vector{1, 10}) {
            contend(options, out, where, all, rtt_ms, contests_with_delay(options));
        }
    }
    if (options.servers == 1 && !options.quick) {
        arena where{options, {.servers = 3, .etcd = !options.tls}};
        field all{out, options, where, "handover", systems(options), processes};
        warm_up(options, out, all, milliseconds{2000}, 3);
        contend(options, out, where, all, 0, contests_without_delay(options));
    }
}

} // namespace bench
