// A queue of many waiters of one session: how long it takes to form, and how fast it moves when each
// answer takes ten milliseconds. Of colock alone: the others need a thread, or two, for each waiter.
#include "arena.hpp"
#include "compare.hpp"
#include "interruption.hpp"
#include "scenario.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>

namespace bench {

namespace {

struct depth {
    int waiters;
    int grants; // with the delay
};

using seconds = std::chrono::duration<double>;

// Until hardly anything is sent any more: all know their places then. Heartbeats go on.
std::chrono::steady_clock::time_point wait_for_quiet(const arena& where)
{
    using clock = std::chrono::steady_clock;
    constexpr std::chrono::milliseconds while_quiet{200};
    constexpr std::int64_t heartbeats = 20'000; // in bytes
    auto last = clock::now();
    auto before = where.seen().bytes;
    for (;;) {
        check_interruption();
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
        const auto bytes = where.seen().bytes;
        if (bytes - before > heartbeats) {
            last = clock::now();
            before = bytes;
        } else if (clock::now() - last > while_quiet) {
            return last;
        }
    }
}

std::vector<double> measure(const run_options& options, report& out, const depth& d)
{
    arena where{options, {.servers = options.servers, .proxied = true}};
    field all{out, options, where, "deep_queue", {colock_system}, 1};
    if (all.entrants().empty()) {
        throw std::runtime_error{"colock is left out"};
    }
    auto& process = all.entrants().front().processes->front();
    const auto path = path_of(colock_system, "deep");
    const auto with = [&](const char* command, int number) {
        return std::string{command} + ' ' + path + ' ' + std::to_string(number);
    };
    const auto drain = [&](int grants) { // in seconds
        return numbers(process.ask(with("drain", grants), "drained")).at(0) / 1e6;
    };

    const auto nobody = where.seen();
    const auto begin = std::chrono::steady_clock::now();
    process.ask(with("queue-up", d.waiters), "queued");
    const auto queued = seconds{wait_for_quiet(where) - begin}.count();
    const auto in_queue = where.seen();

    where.set_round_trip(std::chrono::milliseconds{10});
    drain(2); // the first is faster: its successor's answer may have come before the delay
    const auto before = where.seen();
    const auto slow = drain(d.grants);
    const auto after = where.seen();
    where.set_round_trip({});
    const int more = std::min(d.waiters - 3 - d.grants, 500); // who is left goes with the process
    const auto fast = drain(more);
    const double grants = d.grants;
    return {queued,
            double(in_queue.bytes - nobody.bytes),
            grants / slow,
            more / fast,
            double(after.packets - before.packets) / grants,
            double(after.bytes - before.bytes) / grants};
}

// The same number of waiters in as many processes as each of them has.
std::vector<double> measure_crowd(const run_options& options, report& out, int processes)
{
    arena where{options, {.servers = options.servers, .proxied = true}};
    field all{out, options, where, "deep_queue", {colock_system}, processes};
    if (all.entrants().empty()) {
        throw std::runtime_error{"colock is left out"};
    }
    const auto nobody = where.seen();
    const auto begin = std::chrono::steady_clock::now();
    const auto command =
        "queue-up " + path_of(colock_system, "crowd") + ' ' + std::to_string(processes);
    all.entrants().front().processes->each(command, "queued");
    const auto queued = seconds{wait_for_quiet(where) - begin}.count();
    return {queued, double(where.seen().bytes - nobody.bytes)};
}

} // namespace

void deep_queue(const run_options& options, report& out)
{
    std::vector<depth> depths{{100, 60}, {1000, 100}};
    if (options.full) {
        depths.push_back({10'000, 200});
    }
    for (const auto& d : depths) {
        const int rounds = d.waiters < 10'000 ? std::min(options.rounds, 3) : 1;
        compare(out, {"deep_queue", 10, d.waiters, options.servers},
                {{"colock", [&] { return measure(options, out, d); }}},
                {{.name = "time to queue up", .unit = "s", .rtt_ms = 0},
                 {.name = "bytes to queue up", .unit = "bytes", .rtt_ms = 0},
                 {.name = "hand-overs", .unit = "1/s"},
                 {.name = "hand-overs", .unit = "1/s", .rtt_ms = 0},
                 {.name = "packets a hand-over", .unit = "packets"},
                 {.name = "bytes a hand-over", .unit = "bytes"}},
                {rounds, 1});
    }
    constexpr int processes = 100;
    compare(out, {"deep_queue", 0, processes * processes, options.servers},
            {{"colock", [&] { return measure_crowd(options, out, processes); }}},
            {{.name = "time to queue up, 100 processes", .unit = "s"},
             {.name = "bytes to queue up, 100 processes", .unit = "bytes"}},
            {1, 1});
}

} // namespace bench
