#include "connect/duration.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <stdexcept>

namespace colock::cli {

namespace {

struct unit {
    std::string_view name;
    double milliseconds;
};
constexpr std::array units{unit{"ms", 1},        unit{"s", 1000},     unit{"", 1000},
                           unit{"m", 60'000},    unit{"min", 60'000}, unit{"h", 3'600'000},
                           unit{"d", 86'400'000}};

} // namespace

std::chrono::milliseconds parse_duration(std::string_view text)
{
    double number = 0;
    const auto* const end = text.data() + text.size();
    const auto [rest, ec] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
    const std::string_view name{rest, static_cast<std::size_t>(end - rest)};
    for (const auto& u : units) {
        if (ec == std::errc{} && name == u.name) {
            const auto ms = number * u.milliseconds;
            constexpr double longest = 1e12; // 31 years
            if (ms < 0 || !(ms <= longest)) {
                break;
            }
            return std::chrono::milliseconds{std::llround(ms)};
        }
    }
    throw std::invalid_argument{'"' + std::string{text} +
                                "\" is not a time; write it like 10, 500ms, 2m or 1h"};
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
