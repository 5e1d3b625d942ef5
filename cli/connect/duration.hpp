// Times on the command line: "10", "1.5s", "500ms", "2m", "1h30m"; and in words.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace CLI { // NOLINT(readability-identifier-naming): its own name
class App;
class Option;
} // namespace CLI

namespace colock::cli {

// Numbers, which may have a fraction, and their units: ms, s, m, h, d or w, the larger ones first. A number alone is in seconds.
// Throws std::invalid_argument.
[[nodiscard]] std::chrono::milliseconds parse_duration(std::string_view text);

// As people read it: "350 ms", "12.3 s", "4 min 10 s", "3 h 20 min", "2 d 3 h".
[[nodiscard]] std::string shown(std::chrono::nanoseconds time);

// In milliseconds since 1970: within what std::chrono can tell in nanoseconds.
inline constexpr std::int64_t latest_time = 9'000'000'000'000; // in 2255
[[nodiscard]] constexpr bool is_possible_time(std::int64_t milliseconds) noexcept
{
    return milliseconds >= 0 && milliseconds <= latest_time;
}

// "2026-11-24T19:28:00Z", rounded down; and with milliseconds, "2026-11-24T19:28:00.123Z". Of a time after 1970.
[[nodiscard]] std::string time_words(std::chrono::system_clock::time_point t);
[[nodiscard]] std::string moment_words(std::chrono::system_clock::time_point t);

CLI::Option* add_duration(CLI::App& to, const std::string& name, std::chrono::milliseconds& value,
                          const std::string& description);

CLI::Option* add_duration(CLI::App& to, const std::string& name,
                          std::optional<std::chrono::milliseconds>& value,
                          const std::string& description);

} // namespace colock::cli
