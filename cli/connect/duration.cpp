#include "connect/duration.hpp"

#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>
#include <stdexcept>

namespace colock::cli {

namespace {

struct unit {
    std::string_view name;
    double milliseconds;
};
constexpr std::array units{
    unit{"ms", 1},       unit{"s", 1000},      unit{"sec", 1000},     unit{"m", 60'000},
    unit{"min", 60'000}, unit{"h", 3'600'000}, unit{"d", 86'400'000}, unit{"w", 7 * 86'400'000.0}};

constexpr double longest_time = 1e12; // 31 years

void skip_blanks(std::string_view& text)
{
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
}

// Takes "1h" of "1h30m". A number without a unit has to be all there is.
std::optional<unit> take_unit(std::string_view& text, bool is_first)
{
    const auto name = text.substr(0, text.find_first_not_of("abcdefghijklmnopqrstuvwxyz"));
    text.remove_prefix(name.size());
    if (name.empty()) {
        return is_first && text.empty() ? std::optional{unit{"s", 1000}} : std::nullopt;
    }
    const auto* const at = std::ranges::find(units, name, &unit::name);
    return at == units.end() ? std::nullopt : std::optional{*at};
}

// In milliseconds. A unit stands before those that are smaller.
std::optional<double> sum_of(std::string_view text)
{
    double all = 0;
    auto last = longest_time;
    for (bool is_first = true; is_first || !text.empty(); is_first = false) {
        double number = 0;
        const auto* const end = text.data() + text.size();
        const auto [rest, ec] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
        if (ec != std::errc{} || !(number >= 0)) {
            return std::nullopt;
        }
        text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
        skip_blanks(text);
        const auto of = take_unit(text, is_first);
        if (!of || of->milliseconds >= last) {
            return std::nullopt;
        }
        skip_blanks(text);
        last = of->milliseconds;
        all += number * last;
    }
    return all;
}

} // namespace

std::chrono::milliseconds parse_duration(std::string_view text)
{
    if (const auto ms = sum_of(text); ms && *ms <= longest_time) {
        return std::chrono::milliseconds{std::llround(*ms)};
    }
    throw std::invalid_argument{'"' + std::string{text} +
                                "\" is not a time; write it like 10, 1.5s, 500ms, 2m or 1h30m"};
}

std::string shown(std::chrono::nanoseconds time)
{
    using namespace std::chrono;
    const auto s = duration_cast<seconds>(time).count();
    if (time < seconds{1}) {
        return std::to_string(duration_cast<milliseconds>(time).count()) + " ms";
    }
    if (s < 60) {
        char text[32];
        std::snprintf(text, sizeof text, "%.1f s", duration<double>(time).count());
        return text;
    }
    if (s < 3600) {
        return std::to_string(s / 60) + " min" +
               (s % 60 ? ' ' + std::to_string(s % 60) + " s" : "");
    }
    if (s < 86'400) {
        return std::to_string(s / 3600) + " h" +
               (s % 3600 >= 60 ? ' ' + std::to_string(s % 3600 / 60) + " min" : "");
    }
    return std::to_string(s / 86'400) + " d" +
           (s % 86'400 >= 3600 ? ' ' + std::to_string(s % 86'400 / 3600) + " h" : "");
}

std::string time_words(std::chrono::system_clock::time_point t)
{
    const auto seconds = std::chrono::system_clock::to_time_t(t);
    tm parts{};
    ::gmtime_r(&seconds, &parts);
    char text[40];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text;
}

std::string moment_words(std::chrono::system_clock::time_point t)
{
    using std::chrono::milliseconds;
    const auto time = std::chrono::duration_cast<milliseconds>(t.time_since_epoch());
    const auto seconds = time_words(t); // "...:00Z"
    char text[16];
    std::snprintf(text, sizeof text, ".%03dZ", static_cast<int>(time.count() % 1000));
    return seconds.substr(0, seconds.size() - 1) + text;
}

namespace {

template <class Value>
CLI::Option* add(CLI::App& to, const std::string& name, Value& value,
                 const std::string& description)
{
    return to
        .add_option_function<std::string>(
            name,
            [&value, name](const std::string& text) {
                try {
                    value = parse_duration(text);
                } catch (const std::invalid_argument& e) {
                    throw CLI::ValidationError{name, e.what()};
                }
            },
            description)
        ->type_name("TIME");
}

} // namespace

CLI::Option* add_duration(CLI::App& to, const std::string& name, std::chrono::milliseconds& value,
                          const std::string& description)
{
    return add(to, name, value, description);
}

CLI::Option* add_duration(CLI::App& to, const std::string& name,
                          std::optional<std::chrono::milliseconds>& value,
                          const std::string& description)
{
    return add(to, name, value, description);
}

} // namespace colock::cli
