// What a colock client counts, as metrics of prometheus-cpp. Copy this file into your program. docs/metrics.md says what
// each metric means, and what to alert on.
#pragma once

#include <colock/colock.hpp>

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace metrics {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

struct sample {
    std::vector<std::pair<std::string, std::string>> labels;
    double value;
};

inline MetricFamily family(std::string name, std::string help, MetricType type,
                           const std::vector<sample>& samples)
{
    MetricFamily f{std::move(name), std::move(help), type, {}};
    for (const auto& each : samples) {
        auto& metric = f.metric.emplace_back();
        for (const auto& [label, value] : each.labels) {
            metric.label.push_back({label, value});
        }
        (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = each.value;
    }
    return f;
}

inline MetricFamily family(std::string name, std::string help, const colock::histogram& h)
{
    MetricFamily f{std::move(name), std::move(help), MetricType::Histogram, {}};
    auto& metric = f.metric.emplace_back().histogram;
    metric.sample_count = h.count;
    metric.sample_sum = h.sum;
    for (const auto& each : h.buckets) {
        metric.bucket.push_back({each.cumulative_count, each.upper_bound});
    }
    return f;
}

// Of one client, whose `client_options::histograms` is set. The client has to outlive this.
class of_client final : public prometheus::Collectable {
public:
    explicit of_client(const colock::client& zk) : zk_{zk} {}

    [[nodiscard]] std::vector<MetricFamily> Collect() const override
    {
        const auto s = zk_.stats();
        const auto& a = s.acquisitions;
        const auto& l = s.losses;
        const auto counter = [](const char* name, const char* help, std::uint64_t value) {
            return family(name, help, MetricType::Counter, {{{}, double(value)}});
        };
        const auto gauge = [](const char* name, const char* help, double value) {
            return family(name, help, MetricType::Gauge, {{{}, value}});
        };
        const auto by = [](const char* label,
                           std::initializer_list<std::pair<const char*, std::uint64_t>> all) {
            std::vector<sample> found;
            for (const auto& [name, value] : all) {
                found.push_back({{{label, name}}, double(value)});
            }
            return found;
        };
        // A lock that is lost at once may count as lost a moment before it counts as granted.
        const auto held = std::max(
            double(s.locks_granted) - double(s.locks_released) - double(s.locks_lost), 0.0);
        const bool connected = zk_.state() == colock::connection_state::connected;
        return {
            family("colock_acquisitions_total", "Acquisitions that ended, by what they came to",
                   MetricType::Counter,
                   by("outcome", {{"granted", a.granted},
                                  {"busy", a.busy},
                                  {"timed_out", a.timed_out},
                                  {"cancelled", a.cancelled},
                                  {"failed", a.failed},
                                  {"dropped", a.dropped}})),
            gauge("colock_waiting", "Acquisitions under way", double(a.waiting)),
            counter("colock_grants_total", "Grants", s.locks_granted),
            counter("colock_server_grants_total", "Grants by the servers",
                    s.locks_granted_by_servers),
            counter("colock_handovers_total", "Grants by the servers behind another contender",
                    a.handed_over),
            counter("colock_releases_total", "Grants that were released", s.locks_released),
            gauge("colock_held", "Grants that are held", held),
            family("colock_losses_total", "Grants that were lost, by reason", MetricType::Counter,
                   by("reason", {{"session_expired", l.session_expired},
                                 {"node_deleted", l.node_deleted},
                                 {"safe_until_passed", l.safe_until_passed},
                                 {"client_closed", l.client_closed}})),
            family("colock_wait_seconds", "From the call to the grant", s.times.wait),
            family("colock_hold_seconds", "From the grant to its end", s.times.hold),
            family("colock_margin_seconds", "Left until safe_until() at the end of a hold",
                   s.times.margin),
            family("colock_heartbeat_seconds", "Round trips of heartbeats", s.times.heartbeat),
            gauge("colock_safe_for_seconds", "Left until the session may end",
                  std::chrono::duration<double>(s.safe_for).count()),
            gauge("colock_connected", "Whether there is a connection", connected ? 1 : 0),
            counter("colock_connections_total", "Connections that were made", s.connections),
            counter("colock_expirations_total", "Sessions that expired", s.expirations),
            counter("colock_requests_total", "Requests that were sent", s.requests),
            gauge("colock_shards_owned", "Shards that this client owns", double(s.shards.owned)),
            counter("colock_shards_taken_total", "Shards that were taken", s.shards.taken),
            counter("colock_shards_given_up_total", "Shards that were given up", s.shards.given_up),
            counter("colock_shards_lost_total", "Shards that were lost", s.shards.lost),
            family("colock_shard_gap_seconds", "Of shards: without an owner", s.times.shard_gap)};
    }

private:
    const colock::client& zk_;
};

// By path, for a program that uses a bounded number of paths: each path stays in memory, and is a time series of its own.
// Set it as `client_options::observer`.
class of_paths final : public prometheus::Collectable, public colock::observer {
public:
    void acquisition_began(const colock::acquisition_start& e) noexcept override
    {
        change(e.what, [](path& p) { ++p.waiting; });
    }
    void acquisition_ended(const colock::acquisition_end& e) noexcept override
    {
        const bool granted = e.outcome == colock::acquisition_outcome::granted;
        change(e.what, [&](path& p) {
            --p.waiting;
            p.granted += granted ? 1 : 0;
            p.held += granted ? 1 : 0;
        });
    }
    void hold_ended(const colock::hold_end& e) noexcept override
    {
        change(e.what, [&](path& p) {
            --p.held;
            p.lost += e.loss ? 1 : 0;
        });
    }

    [[nodiscard]] std::vector<MetricFamily> Collect() const override
    {
        const std::lock_guard lock{mutex_};
        const auto all = [this](const char* name, const char* help, MetricType type, auto member) {
            std::vector<sample> found;
            for (const auto& [name_of_path, counts] : paths_) {
                found.push_back({{{"path", name_of_path}}, double(counts.*member)});
            }
            return family(name, help, type, found);
        };
        return {
            all("colock_path_granted_total", "Grants", MetricType::Counter, &path::granted),
            all("colock_path_lost_total", "Grants that were lost", MetricType::Counter,
                &path::lost),
            all("colock_path_waiting", "Acquisitions under way", MetricType::Gauge, &path::waiting),
            all("colock_path_held", "Whether this client holds it, or how often", MetricType::Gauge,
                &path::held)};
    }

private:
    struct path {
        std::int64_t waiting = 0, granted = 0, held = 0, lost = 0;
    };

    template <class Change>
    void change(const colock::acquisition_info& what, Change&& change)
    {
        if (what.kind != colock::acquisition_kind::multi_lock) { // its parts have paths
            const std::lock_guard lock{mutex_};
            change(paths_[std::string{what.path}]);
        }
    }

    mutable std::mutex mutex_;
    std::map<std::string, path> paths_;
};

} // namespace metrics
