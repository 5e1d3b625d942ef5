#include "report/telemetry.hpp"

#include "report/boot_clock.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace colock::detail {

using std::chrono::nanoseconds;

namespace {

acquisition_info info_of(const observation& o)
{
    return {.id = o.id,
            .kind = o.of->kind,
            .shared = o.shared,
            .path = o.of->path,
            .part_of = o.part_of};
}

} // namespace

// ---- histograms

// The bounds are microseconds, 1, 2, 4 and so on.
void telemetry::times::add(nanoseconds t) noexcept
{
    const auto ns = static_cast<std::uint64_t>(std::max<nanoseconds::rep>(t.count(), 0));
    const auto most = (ns + 999) / 1000;
    const auto at = most <= 1 ? std::size_t{0} : static_cast<std::size_t>(std::bit_width(most - 1));
    counts_[std::min(at, counts_.size() - 1)].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(ns, std::memory_order_relaxed);
}

histogram telemetry::times::read() const noexcept
{
    histogram h;
    double bound = 1e-6;
    for (std::size_t i = 0; i != counts_.size(); ++i, bound *= 2) {
        h.count += counts_[i].load(std::memory_order_relaxed);
        h.buckets[i] = {.upper_bound = bound, .cumulative_count = h.count};
    }
    h.buckets.back().upper_bound = std::numeric_limits<double>::infinity();
    h.sum = static_cast<double>(sum_.load(std::memory_order_relaxed)) / 1e9;
    return h;
}

// ---- acquisitions

void telemetry::begin(observation& o, const observed_path& of, bool shared, bool tries) noexcept
{
    o.of = &of;
    o.granted = 0;
    o.holder = nullptr;
    o.source = grant_source::none;
    o.shared = shared;
    o.tries = tries;
    o.id = of.kind == acquisition_kind::multi_lock
               ? first_joint + joint_.fetch_add(1, std::memory_order_relaxed)
               : begun_.fetch_add(1, std::memory_order_relaxed) + 1;
    o.began = boot_clock::now().count();
    if (told_) {
        tell([&](observer& to) { to.acquisition_began({.what = info_of(o)}); });
    }
}

void telemetry::end(observation& o, acquisition_outcome outcome, const error_code& ec,
                    const fencing_token& token, const std::string* node) noexcept
{
    const bool granted = outcome == acquisition_outcome::granted;
    const bool handed_off = o.source == grant_source::handed_off;
    const std::unique_ptr<const seen_holder> holder{handed_off ? nullptr : o.holder};
    const auto now = granted && o.granted != 0 ? nanoseconds{o.granted} : boot_clock::now();
    const auto waited = now - nanoseconds{o.began};
    const bool counts = o.of->kind != acquisition_kind::multi_lock;
    if (granted && counts) {
        if (o.source == grant_source::handed_over) {
            handed_over_.fetch_add(1, std::memory_order_relaxed);
        }
        if (keeps_times_) {
            wait_.add(waited);
        }
    } else if (counts) {
        auto& count = outcome == acquisition_outcome::busy        ? busy_
                      : outcome == acquisition_outcome::timed_out ? timed_out_
                      : outcome == acquisition_outcome::cancelled ? cancelled_
                      : outcome == acquisition_outcome::failed    ? failed_
                                                                  : dropped_;
        count.fetch_add(1, std::memory_order_relaxed);
    }
    if (told_) {
        acquisition_end e{.what = info_of(o),
                          .outcome = outcome,
                          .error = ec,
                          .waited = waited,
                          .source = granted ? o.source : grant_source::none,
                          .token = token,
                          .previous = granted && handed_off ? o.previous : 0};
        if (node != nullptr) {
            e.node = *node;
        }
        if (holder) {
            e.holder_node = holder->node;
            e.holder_owner = holder->owner;
        }
        tell([&](observer& to) { to.acquisition_ended(e); });
    }
    o.of = nullptr;
}

void telemetry::end_hold(const observed_path& of, bool shared, const observed_hold& h,
                         nanoseconds now, const error_code& loss, nanoseconds margin) noexcept
{
    if (keeps_times_) {
        hold_.add(now - nanoseconds{h.since});
        margin_.add(margin);
    }
    if (told_) {
        tell([&](observer& to) {
            to.hold_ended({.what = {.id = h.id,
                                    .kind = of.kind,
                                    .shared = shared,
                                    .path = of.path,
                                    .part_of = h.part_of},
                           .held = now - nanoseconds{h.since},
                           .loss = loss,
                           .margin = margin});
        });
    }
}

void telemetry::add_to(client_stats& s, std::uint64_t granted) const noexcept
{
    auto& a = s.acquisitions;
    a.granted = granted;
    a.busy = busy_;
    a.timed_out = timed_out_;
    a.cancelled = cancelled_;
    a.failed = failed_;
    a.dropped = dropped_;
    a.handed_over = handed_over_;
    a.begun = begun_;
    const auto ended = a.granted + a.busy + a.timed_out + a.cancelled + a.failed + a.dropped;
    a.waiting = a.begun - std::min(a.begun, ended); // they are not counted in one order for all
    if (keeps_times_) {
        s.times = {.wait = wait_.read(),
                   .hold = hold_.read(),
                   .margin = margin_.read(),
                   .heartbeat = heartbeat_.read(),
                   .shard_gap = shard_gap_.read()};
    }
}

void telemetry::answered(const heartbeat_answer& a) noexcept
{
    if (keeps_times_) {
        heartbeat_.add(a.round_trip);
    }
    if (told_) {
        tell([&](observer& to) { to.heartbeat_answered(a); });
    }
}

// A gap is counted by one of the two clients.
void telemetry::began(const shard_start& s) noexcept
{
    if (keeps_times_ && s.gap != s.gap.zero()) {
        shard_gap_.add(s.gap);
    }
    if (told_) {
        tell([&](observer& to) { to.shard_began(s); });
    }
}

void telemetry::ended(const shard_end& s) noexcept
{
    if (keeps_times_ && s.gap != s.gap.zero()) {
        shard_gap_.add(s.gap);
    }
    if (told_) {
        tell([&](observer& to) { to.shard_ended(s); });
    }
}

} // namespace colock::detail
