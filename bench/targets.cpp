#include "targets.hpp"

#include <cmath>
#include <cstdio>

namespace bench {

namespace {

enum class bound { at_most, at_least, exactly };

struct target {
    const char* scenario;
    double rtt_ms;
    int clients;
    const char* metric;
    bound direction;
    double limit;
};

// The medians of the rounds are held against these.
constexpr target targets[] = {
    {"uncontended", 0, 1, "lock + unlock, relative to raw", bound::at_most, 1.10},
    {"uncontended", 10, 1, "lock, in round trips", bound::at_most, 1.15},
    {"uncontended", 10, 1, "lock + unlock, in round trips", bound::at_most, 2.25},
    {"handover", 10, 8, "hand-overs", bound::at_least, 80},
    {"requests", 0, 1, "requests a cycle", bound::exactly, 3},
    {"requests", 0, 8, "requests a hand-over", bound::at_most, 7},
    {"requests", 0, 3, "clients woken by a release", bound::at_most, 2},
    {"requests", 0, 201, "clients woken by a release", bound::at_most, 2},
    {"idle", 0, 1, "wake-ups in a third of the time-out", bound::at_most, 5},
    {"in_process", 0, 64, "grant, released by the guard", bound::at_most, 1000},
    {"in_process", 0, 64, "grant, released by the guard, relative to channel", bound::at_most, 1.5},
    {"in_process", 0, 64, "grant, unlock awaited, relative to channel", bound::at_most, 1.5},
    {"linger", 0, 1, "cycles a second", bound::at_least, 1e6},
    {"linger", 0, 1, "packets in so many cycles, less heartbeats", bound::at_most, 0},
    {"away", 0, 1, "processor", bound::at_most, 1},
    {"away", 0, 1, "connect attempts in the worst second", bound::at_most, 10},
    {"away", 0, 1, "back after", bound::at_most, 3},
};

bool met(const target& t, double value)
{
    switch (t.direction) {
    case bound::at_most: return value <= t.limit;
    case bound::at_least: return value >= t.limit;
    case bound::exactly: return value == t.limit;
    }
    return false;
}

const char* name(bound direction)
{
    switch (direction) {
    case bound::at_most: return "at most";
    case bound::at_least: return "at least";
    case bound::exactly: return "exactly";
    }
    return "";
}

} // namespace

bool check_targets(const report& r)
{
    bool all_met = true;
    for (const auto& t : targets) {
        const auto* measured = r.find(t.scenario, "colock", t.rtt_ms, t.clients, t.metric);
        if (measured == nullptr) {
            continue;
        }
        const double value = measured->median();
        const bool fine = met(t, value);
        all_met = all_met && fine;
        std::printf("%s  %s, %g ms, %d client(s), %s: %.4g, must be %s %g",
                    fine ? "met   " : "MISSED", t.scenario, t.rtt_ms, t.clients, t.metric, value,
                    name(t.direction), t.limit);
        if (!fine) {
            std::printf(" (off by %.3g, %.0f %%)", std::fabs(value - t.limit),
                        100 * std::fabs(value / t.limit - 1));
        }
        std::printf("\n");
    }
    return all_met;
}

} // namespace bench
