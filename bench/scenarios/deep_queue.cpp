// A queue of many waiters of one session: how long it takes to form, and how fast it moves when each
// answer takes ten milliseconds. Of colock alone: the others need a thread, or two, for each waiter.
#include "arena.hpp"
#include "compare.hpp"
#include "scenario.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string>

namespace bench {

namespace {

struct depth {
    int waiters;
    int grants; // with the delay
};

using seconds = std::chrono::duration<double>;

std::vector<double> measure(const run_options& options, report& out, const depth& d)
{
    arena where{options, {.servers = options.servers, .proxied = true}};
    field all{out, options, where, {colock_system}, 1};
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
    // In parts: each who joins is answered with a list of all, and the answers to ten thousand at a time
    // would outlast the session.
    for (int missing = d.waiters; missing > 0; missing -= 500) {
        process.ask(with("queue-up", std::min(missing, 500)), "queued");
    }
    const auto queued = seconds{std::chrono::steady_clock::now() - begin}.count();

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

} // namespace

void deep_queue(const run_options& options, report& out)
{
    std::vector<depth> depths{{100, 60}, {1000, 100}};
    if (options.full) {
        depths.push_back({10'000, 200});
    }
    for (const auto& d : depths) {
        const int rounds = d.waiters < 10'000 ? std::min(options.rounds, 3) : 1;
        const auto outcomes =
            interleave({{"colock", [&] { return measure(options, out, d); }}}, {rounds, 1});
        if (!outcomes[0].failure.empty()) {
            out.remark("deep_queue, " + std::to_string(d.waiters) +
                       " waiters: " + outcomes[0].failure);
            continue;
        }
        const struct {
            double rtt_ms;
            const char* metric;
            const char* unit;
        } measured[] = {{0, "time to queue up", "s"},
                        {0, "bytes to queue up", "bytes"},
                        {10, "hand-overs", "1/s"},
                        {0, "hand-overs", "1/s"},
                        {10, "packets a hand-over", "packets"},
                        {10, "bytes a hand-over", "bytes"}};
        for (std::size_t i = 0; i != std::size(measured); ++i) {
            const auto& m = measured[i];
            out.add({"deep_queue", "colock", m.rtt_ms, d.waiters, options.servers, m.metric, m.unit,
                     outcomes[0].values[i]});
        }
    }
}

} // namespace bench
