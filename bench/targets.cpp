#include "targets.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <optional>

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
    int servers = 1;
    const char* system = "colock";
};

// The medians of its rounds are held against these.
constexpr target targets[] = {
    {"uncontended", 0, 1, "lock + unlock, relative to raw", bound::at_most, 1.03},
    {"uncontended", 10, 1, "lock, in round trips", bound::at_most, 1.15},
    {"uncontended", 10, 1, "lock + unlock, in round trips", bound::at_most, 2.1},
    // Of 1 / (round trip + hold time).
    {"handover", 10, 8, "hand-overs, part of the most there can be", bound::at_least, 0.9},
    {"handover", 10, 32, "hand-overs, part of the most there can be", bound::at_least, 0.9},
    {"handover", 10, 128, "hand-overs, part of the most there can be", bound::at_least, 0.9},
    {"handover", 10, 8, "hand-overs, held 1 ms, part of the most there can be", bound::at_least,
     0.9},
    {"handover", 10, 32, "hand-overs, held 1 ms, part of the most there can be", bound::at_least,
     0.9},
    {"handover", 10, 128, "hand-overs, held 1 ms, part of the most there can be", bound::at_least,
     0.9},
    {"many_locks", 0, 1, "cycles, relative to raw", bound::at_least, 0.95},
    {"requests", 0, 1, "requests a cycle", bound::exactly, 3},
    {"requests", 0, 8, "requests a hand-over", bound::at_most, 7},
    {"requests", 0, 3, "clients woken by a release", bound::at_most, 2},
    {"requests", 0, 201, "clients woken by a release", bound::at_most, 2},
    {"costs", 0, 1, "instructions a cycle, relative to raw", bound::at_most, 1.5},
    {"costs", 0, 1, "allocations a cycle", bound::at_most, 50},
    {"costs", 0, 1, "bytes allocated a cycle", bound::at_most, 3350},
    {"memory", 0, 1, "a client without a lock", bound::at_most, 64e3},
    {"memory", 0, 100, "100,000 held locks", bound::at_most, 500},
    {"memory", 0, 1000, "a waiter with a node of its own, beyond such a coroutine", bound::at_most,
     3000},
    {"memory", 0, 1000, "a waiter behind others of its client, beyond such a coroutine",
     bound::at_most, 120},
    {"idle", 0, 1, "wake-ups in a third of the time-out", bound::at_most, 5},
    {"in_process", 0, 64, "grant, released by the guard", bound::at_most, 1000},
    {"in_process", 0, 64, "grant, released by the guard, relative to channel", bound::at_most, 1.2},
    {"in_process", 0, 64, "grant, unlock awaited, relative to channel", bound::at_most, 1.1},
    {"in_process", 0, 64, "hand-off, observed or not, relative to colock", bound::at_most, 1.1, 1,
     "colock with observer"},
    {"linger", 0, 1, "cycles a second", bound::at_least, 1e6},
    {"linger", 0, 1, "packets in so many cycles, less heartbeats", bound::at_most, 0},
    {"away", 0, 1, "processor", bound::at_most, 1},
    {"away", 0, 1, "connect attempts in the worst second", bound::at_most, 10},
    {"away", 0, 1, "back after", bound::at_most, 3},
};

// The same over TLS, beside colock without it.
constexpr target tls_targets[] = {
    {"uncontended", 0, 1, "lock + unlock, relative to colock", bound::at_most, 1.35, 1,
     "colock-tls"},
    {"uncontended", 10, 1, "lock, in round trips", bound::at_most, 1.15, 1, "colock-tls"},
    {"uncontended", 10, 1, "lock + unlock, in round trips", bound::at_most, 2.1, 1, "colock-tls"},
    {"handover", 10, 8, "hand-overs, part of the most there can be", bound::at_least, 0.9, 1,
     "colock-tls"},
    {"handover", 10, 32, "hand-overs, part of the most there can be", bound::at_least, 0.9, 1,
     "colock-tls"},
    {"handover", 10, 128, "hand-overs, part of the most there can be", bound::at_least, 0.9, 1,
     "colock-tls"},
};

// So many times as good as another figure: the same of another system, or colock's own with another
// number of clients.
struct comparison {
    const char* scenario;
    double rtt_ms;
    int clients;
    const char* metric;
    const char* system;
    double times;
    int servers = 1;
    int other_clients = 0; // the same unless told
};

constexpr comparison comparisons[] = {
    {"uncontended", 0, 1, "lock + unlock", "curator", 1.5},
    {"uncontended", 0, 1, "lock + unlock", "kazoo", 3},
    {"handover", 0, 8, "hand-overs", "curator", 2},
    {"handover", 0, 32, "hand-overs", "curator", 2},
    {"handover", 0, 128, "hand-overs", "curator", 2},
    {"handover", 0, 8, "hand-overs", "kazoo", 3},
    {"handover", 0, 32, "hand-overs", "kazoo", 3},
    {"handover", 0, 128, "hand-overs", "kazoo", 3},
    {"handover", 10, 8, "hand-overs", "curator", 2},
    {"handover", 10, 32, "hand-overs", "curator", 2},
    {"handover", 10, 128, "hand-overs", "curator", 2},
    {"handover", 0, 8, "hand-overs", "go-zookeeper", 2},
    {"handover", 0, 32, "hand-overs", "go-zookeeper", 2},
    {"handover", 0, 128, "hand-overs", "go-zookeeper", 2},
    {"handover", 0, 8, "hand-overs", "curator", 2, 3},
    {"handover", 0, 32, "hand-overs", "curator", 2, 3},
    {"handover", 0, 128, "hand-overs", "curator", 2, 3},
    {"handover", 0, 8, "hand-overs", "kazoo", 3, 3},
    {"handover", 0, 32, "hand-overs", "kazoo", 3, 3},
    {"handover", 0, 128, "hand-overs", "kazoo", 3, 3},
    {"handover", 0, 8, "hand-overs", "go-zookeeper", 2, 3},
    {"handover", 0, 32, "hand-overs", "go-zookeeper", 2, 3},
    {"handover", 0, 128, "hand-overs", "go-zookeeper", 2, 3},
    {"many_locks", 0, 1, "cycles", "etcd", 1.1},
    {"in_process", 0, 8, "grants", "curator", 1000},
    {"in_process", 0, 64, "grants", "curator", 1000},
    {"in_process", 0, 1000, "grants", "curator", 1000},
    {"deep_queue", 10, 1000, "hand-overs", "colock", 0.9, 1, 100},
    {"deep_queue", 10, 10'000, "hand-overs", "colock", 0.9, 1, 100},
    {"herd", 0, 128, "packets a release", "colock", 0.9, 1, 8},
};

bool met(bound direction, double value, double limit)
{
    switch (direction) {
    case bound::at_most: return value <= limit;
    case bound::at_least: return value >= limit;
    case bound::exactly: return value == limit;
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

std::string number(const char* format, double value)
{
    char text[32];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

verdict judge(std::string text, double value, bound direction, double limit)
{
    const bool fine = met(direction, value, limit);
    text += ", must be " + std::string{name(direction)} + ' ' + number("%.4g", limit);
    if (!fine) {
        text += " (off by " + number("%.3g", std::fabs(value - limit));
        text +=
            limit != 0 ? ", " + number("%.0f", 100 * std::fabs(value / limit - 1)) + " %)" : ")";
    }
    return {fine, (fine ? "met     " : "MISSED  ") + text};
}

std::string spread(const figure& f, const char* format = "%.4g")
{
    return " (" + number(format, f.min()) + " to " + number(format, f.max()) + ')';
}

// By round, where they took turns; else of the medians.
figure times_as_good(const figure& own, const figure& other)
{
    const auto times = [&](double a, double b) { return more_is_better(own.unit) ? a / b : b / a; };
    figure all;
    if (own.in_turns && other.in_turns && own.clients == other.clients) {
        std::ranges::transform(own.rounds, other.rounds, std::back_inserter(all.rounds), times);
    } else {
        all.rounds = {times(own.median(), other.median())};
    }
    return all;
}

// A figure is not there. That is a fault if those of third systems are; else it was not to be measured.
std::optional<verdict> missing(const report& r, const report::heading& h, const std::string& system)
{
    const bool measured = std::ranges::any_of(r.figures(), [&](const figure& f) {
        return report::heading_of(f) == h && f.system != system && !f.system.starts_with("colock");
    });
    if (!measured) {
        return std::nullopt;
    }
    return verdict{false, "MISSED  " + text_of(h.where) + ", " + h.metric +
                              ": there is no figure of " + system};
}

std::optional<verdict> judge(const report& r, const target& t)
{
    const report::heading h{{t.scenario, t.rtt_ms, t.clients, t.servers}, t.metric};
    const auto* own = r.find(h, t.system);
    if (own == nullptr) {
        return missing(r, h, t.system);
    }
    const auto value = own->median();
    const std::string whose = own->system == "colock" ? "" : own->system + ", ";
    return judge(text_of(h.where) + ", " + whose + t.metric + ": " + number("%.4g", value) +
                     spread(*own),
                 value, t.direction, t.limit);
}

std::optional<verdict> judge(const report& r, const comparison& c)
{
    const report::heading h{{c.scenario, c.rtt_ms, c.clients, c.servers}, c.metric};
    auto other_h = h;
    if (c.other_clients != 0) {
        other_h.where.clients = c.other_clients;
    }
    const auto* own = r.find(h, "colock");
    if (own == nullptr) {
        return missing(r, h, "colock");
    }
    const auto* other = r.find(other_h, c.system);
    if (other == nullptr) {
        return missing(r, other_h, c.system);
    }
    const auto times = times_as_good(*own, *other);
    const auto with = h == other_h ? std::string{c.system} + "'s"
                                   : "that of " + std::to_string(c.other_clients) + " client(s)";
    return judge(text_of(h.where) + ", " + c.metric + ": " + number("%.4g", own->median()) + ' ' +
                     own->unit + ", " + number("%.3g", times.median()) + " times as good as " +
                     with + (times.rounds.size() > 1 ? spread(times, "%.3g") : std::string{}),
                 times.median(), bound::at_least, c.times);
}

} // namespace

std::vector<verdict> check_targets(const report& r)
{
    std::vector<verdict> all;
    const auto add = [&](const auto& list) {
        for (const auto& each : list) {
            if (auto v = judge(r, each)) {
                all.push_back(std::move(*v));
            }
        }
    };
    add(targets);
    if (std::ranges::any_of(r.figures(),
                            [](const figure& f) { return f.system == "colock-tls"; })) {
        add(tls_targets);
    }
    add(comparisons);
    return all;
}

} // namespace bench
