#include "run/once_per.hpp"

#include "connect/duration.hpp"
#include "names/job_record.hpp"
#include "program/text.hpp"

#include <time.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace colock::cli {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

[[noreturn]] void refuse(std::string_view text)
{
    throw std::invalid_argument{'"' + std::string{text} +
                                "\" is no period; write it like 1h, 1h@30m (at half past), "
                                "daily@03:00, daily@03:00Europe/Berlin or 1w@4d3h (Mondays, 03:00 "
                                "UTC)"};
}

// Two digits.
std::optional<int> number(std::string_view text, int most)
{
    const auto n = number_in<int>(text);
    return text.size() == 2 && n && *n >= 0 && *n <= most ? n : std::nullopt;
}

// glibc takes a zone that it does not know for UTC.
void require_zone(const std::string& zone)
{
    constexpr std::string_view letters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-/";
    std::string magic(4, ' ');
    if (zone.find_first_not_of(letters) != zone.npos || zone.front() == '/' ||
        !std::ifstream{"/usr/share/zoneinfo/" + zone}.read(magic.data(), 4) || magic != "TZif") {
        throw std::invalid_argument{'"' + zone +
                                    "\" is no time zone that this machine knows; write it like "
                                    "Europe/Berlin, or UTC (and install tzdata)"};
    }
}

// So long before the midnight of its day, in the zone of the process, or after it.
servers_time at_day(::tm day, int days, milliseconds offset)
{
    day.tm_mday += days;
    day.tm_hour = static_cast<int>(offset / 1h);
    day.tm_min = static_cast<int>(offset % 1h / 1min);
    day.tm_sec = 0;
    day.tm_isdst = -1;
    return servers_time{std::chrono::seconds{::mktime(&day)}};
}

constexpr std::uint64_t most_failures = 1'000'000'000; // which nobody counts to
constexpr std::array result_names{std::string_view{"none"}, std::string_view{"success"},
                                  std::string_view{"failure"}};

std::optional<std::string_view> field(std::string_view text, std::string_view name)
{
    const auto key = ' ' + std::string{name} + '=';
    const auto at = text.find(key);
    if (at == text.npos) {
        return {};
    }
    const auto value = text.substr(at + key.size());
    return value.substr(0, value.find(' '));
}

std::optional<servers_time> time_in(std::string_view text)
{
    ::tm t{};
    const std::string copy{text};
    const char* const end = ::strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%SZ", &t);
    if (!end || end != copy.c_str() + copy.size()) {
        return {};
    }
    return servers_time{std::chrono::seconds{::timegm(&t)}};
}

} // namespace

schedule::schedule(std::string_view text)
{
    const auto at = text.find('@');
    const auto name = text.substr(0, at);
    is_told_ = at != text.npos;
    if (name == "daily") {
        const auto when = at == text.npos ? "" : text.substr(at + 1);
        const auto hours = number(when.substr(0, 2), 23);
        const auto minutes =
            when.size() >= 5 && when[2] == ':' ? number(when.substr(3, 2), 59) : std::nullopt;
        if (!hours || !minutes) {
            refuse(text);
        }
        period_ = 24h;
        offset_ = std::chrono::hours{*hours} + std::chrono::minutes{*minutes};
        by_day_ = true;
        zone_ = when.substr(5);
        if (!zone_.empty()) {
            require_zone(zone_);
        }
        return;
    }
    try {
        period_ = parse_duration(name);
        offset_ = at == text.npos ? 0ms : parse_duration(text.substr(at + 1));
    } catch (const std::invalid_argument&) {
        refuse(text);
    }
    if (period_ < 1s || offset_ >= period_ || period_ % 1s != 0s || offset_ % 1s != 0s) {
        refuse(text);
    }
}

servers_time schedule::due_of(servers_time joined) const
{
    const auto to = is_told_ ? joined - period_ / 4 : joined;
    if (!by_day_) {
        const auto half = to - offset_ + period_ / 2;
        return servers_time{half.time_since_epoch() / period_ * period_ + offset_};
    }
    const auto seconds = std::chrono::floor<std::chrono::seconds>(to).time_since_epoch().count();
    ::tm day{};
    ::localtime_r(&seconds, &day);
    // An hour that comes twice is for mktime() that of its last call. This one makes it the same in each process.
    static_cast<void>(at_day(day, -2, offset_));
    const std::array around{at_day(day, -1, offset_), at_day(day, 0, offset_),
                            at_day(day, 1, offset_)};
    return *std::ranges::min_element(around, {},
                                     [&](servers_time due) { return std::chrono::abs(due - to); });
}

bool schedule::is_doubtful(servers_time joined) const
{
    if (period_ < 1min) { // nobody starts it at a moment
        return false;
    }
    return !is_told_ && std::chrono::abs(due_of(joined) - joined) > period_ / 4;
}

bool schedule::is_far_ahead(servers_time joined) const
{
    return is_told_ && due_of(joined) - joined > 15min;
}

process_zone::process_zone(const std::string& zone)
{
    if (!zone.empty()) {
        ::setenv("TZ", zone.c_str(), 1);
    }
    ::tzset();
}

std::string text_of(servers_time t)
{
    // A time of others may be anything.
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(t).time_since_epoch().count();
    ::tm utc{};
    char text[64];
    if (!::gmtime_r(&seconds, &utc) ||
        ::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0) {
        return "-";
    }
    return text;
}

std::string_view word_for(run_record::result ended) noexcept
{
    return result_names[static_cast<std::size_t>(ended)];
}

std::string text_of(const run_record& r)
{
    return std::string{job_record_words} + " due=" + text_of(r.due) +
           " ended=" + std::string{word_for(r.ended)} + " failed=" + std::to_string(r.failed) +
           " not-before=" + text_of(r.not_before) + " by=" + r.by;
}

std::optional<run_record> record_in(std::string_view text)
{
    if (!text.starts_with(job_record_words)) {
        return {};
    }
    const auto due = time_in(field(text, "due").value_or(""));
    const auto* const ended = std::ranges::find(result_names, field(text, "ended").value_or(""));
    const auto failed = number_in<std::uint64_t>(field(text, "failed").value_or(""));
    const auto not_before = time_in(field(text, "not-before").value_or(""));
    if (!due || ended == result_names.end() || !failed || *failed > most_failures || !not_before) {
        return {};
    }
    run_record r;
    r.due = *due;
    r.failed = *failed;
    r.ended = static_cast<run_record::result>(ended - result_names.begin());
    r.not_before = *not_before;
    r.by = field(text, "by").value_or("");
    return r;
}

std::variant<has_run, starts> decide(const job_terms& terms, const std::optional<run_record>& last,
                                     servers_time joined, servers_time newest,
                                     const std::string& token)
{
    starts s;
    if (!terms.once_per) { // what is known of a period stays known
        s.record = last.value_or(run_record{});
        s.record.by = token;
        return s;
    }
    s.record.by = token;
    const auto due = terms.once_per->due_of(joined);
    s.record.due = due;
    const bool is_own = last && last->by == token; // it was written, and the answer was lost
    if (is_own) {
        s.record.failed = last->failed;
    } else if (last && last->due == due) {
        const bool crashed = last->ended == run_record::result::none;
        s.record.failed = last->failed + (crashed ? 1 : 0);
        const bool has_failed =
            crashed ? terms.again_after_crash : last->ended == run_record::result::failure;
        if (!has_failed || s.record.failed > terms.again_on_failure) {
            return has_run{due, last->ended};
        }
    } else if (last && last->due > due && last->due <= terms.once_per->due_of(newest)) {
        return has_run{last->due, last->ended}; // another one, while this one waited for days
    } else if (last && last->due > due) {
        s.warning = "the last run was for " + text_of(last->due) + ", and the command runs for " +
                    text_of(due) +
                    ": the servers' clock was set back, or others have another --once-per at this "
                    "path";
    } else if (terms.once_per->is_doubtful(joined)) {
        s.warning = "this run, at " + text_of(joined) + ", is far from " + text_of(due) +
                    ", to which it belongs: the job does not run then any more; say when it is "
                    "due, as in --once-per 1h@30m";
    } else if (terms.once_per->is_far_ahead(joined)) {
        s.warning = "this run, at " + text_of(joined) + ", takes the place of the one at " +
                    text_of(due) + ": the job does not run then any more";
    }
    return s;
}

std::string text_of(const has_run& done)
{
    const auto when = text_of(done.due);
    switch (done.ended) {
    case run_record::result::success: break;
    case run_record::result::failure:
        return "the job has run for " + when +
               " and failed, and does not run again (--again-on-failure)";
    case run_record::result::none:
        return "the job has begun for " + when +
               ", nobody has written down how it ended, and it does not run again "
               "(--again-after-crash)";
    }
    return "the job has run for " + when + ", and does not run again";
}

} // namespace colock::cli
