#include "targets.hpp"

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
    const char* relative_to; // a system whose figure is the unit; nullptr: none
};

// Deterministic ones are exact; of the others the median counts.
constexpr target targets[] = {
    {"uncontended", 0, 1, "lock + unlock", bound::at_most, 1.10, "raw"},
    {"uncontended", 10, 1, "lock, in round trips", bound::at_most, 1.15, nullptr},
    {"uncontended", 10, 1, "lock + unlock, in round trips", bound::at_most, 2.25, nullptr},
    {"handover", 10, 8, "hand-overs", bound::at_least, 80, nullptr},
    {"requests", 0, 1, "requests a cycle", bound::exactly, 3, nullptr},
    {"requests", 0, 8, "requests a hand-over", bound::at_most, 7, nullptr},
    {"requests", 0, 3, "clients woken by a release", bound::at_most, 2, nullptr},
    {"requests", 0, 201, "clients woken by a release", bound::at_most, 2, nullptr},
    {"idle", 0, 1, "wake-ups in a third of the time-out", bound::at_most, 5, nullptr},
    {"away", 0, 1, "processor", bound::at_most, 1, nullptr},
    {"away", 0, 1, "connect attempts", bound::at_most, 10, nullptr},
    {"away", 0, 1, "back after", bound::at_most, 3, nullptr},
};

} // namespace

bool check_targets(const report& r)
{
    bool all_met = true;
    for (const auto& t : targets) {
        const auto* ours = r.find(t.scenario, "colock", t.rtt_ms, t.clients, t.metric);
        const auto* theirs =
            t.relative_to != nullptr ? r.find(t.scenario, t.relative_to, t.rtt_ms, t.clients, t.metric) : nullptr;
        if (ours == nullptr || (t.relative_to != nullptr && theirs == nullptr)) {
            continue; // not measured
        }
        const double value = ours->median() / (theirs != nullptr ? theirs->median() : 1);
        const bool met = t.direction == bound::at_least  ? value >= t.limit
                         : t.direction == bound::at_most ? value <= t.limit
                                                         : value == t.limit;
        all_met = all_met && met;
        std::printf("%s  %s, %g ms, %d client(s), %s%s%s: %.4g, must be %s %g\n", met ? "met   " : "MISSED",
                    t.scenario, t.rtt_ms, t.clients, t.metric, t.relative_to != nullptr ? " relative to " : "",
                    t.relative_to != nullptr ? t.relative_to : "", value,
                    t.direction == bound::at_least  ? "at least"
                    : t.direction == bound::at_most ? "at most"
                                                    : "exactly",
                    t.limit);
    }
    return all_met;
}

} // namespace bench
