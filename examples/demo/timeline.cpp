#include "timeline.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <stdexcept>

namespace demo {

namespace {

constexpr std::size_t clock_width = 8;

std::string padded(std::string text, std::size_t width)
{
    text.resize(std::max(width, text.size()), ' ');
    return text;
}

} // namespace

timeline::timeline() : colours_{::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr}
{
}

void timeline::line(tone t, const std::string& text) const
{
    std::cout << coloured(t, text) << '\n' << std::flush;
    if (!std::cout) {
        throw std::runtime_error{"cannot write to the standard output"};
    }
}

void timeline::header(const std::vector<std::string>& names)
{
    std::string text = padded("time", clock_width + 2) + padded("turn", 6);
    widths_.clear();
    for (const auto& name : names) {
        widths_.push_back(std::max<std::size_t>(name.size(), 4) + 2);
        text += padded(name, widths_.back());
    }
    line(tone::quiet, text + padded("token", 20) + "file");
}

void timeline::grant(microseconds at, std::size_t turn, const std::vector<std::string>& lanes,
                     const std::string& token, std::uint64_t found) const
{
    std::string text = clock(at) + "  " + padded(std::to_string(turn), 6);
    for (std::size_t i = 0; i != lanes.size(); ++i) {
        // Marks are coloured one by one, so padding comes first.
        for (const char mark : padded(lanes[i], widths_[i])) {
            const auto t = mark == mark_holding        ? tone::good
                           : mark == mark_disconnected ? tone::warning
                           : mark == mark_dead         ? tone::bad
                                                       : tone::quiet;
            text += mark == mark_absent ? std::string{' '} : coloured(t, {mark});
        }
    }
    line(tone::plain, text + padded(short_token(token), 20) + std::to_string(found) + " -> " +
                          std::to_string(found + 1));
}

void timeline::note(microseconds at, tone t, const std::string& text) const
{
    line(t, clock(at) + "  " + text);
}

std::string timeline::clock(microseconds at) const
{
    auto text = seconds(at - origin_);
    return std::string(clock_width - std::min(clock_width, text.size()), ' ') + text;
}

std::string timeline::coloured(tone t, const std::string& text) const
{
    if (!colours_ || t == tone::plain) {
        return text;
    }
    const char* code = t == tone::quiet     ? "2"
                       : t == tone::good    ? "1;32"
                       : t == tone::warning ? "1;33"
                                            : "1;31";
    return std::string{"\x1b["} + code + 'm' + text + "\x1b[0m";
}

std::string short_token(const std::string& token)
{
    const auto half = [&](std::size_t from) {
        const auto digits = token.substr(from, 16);
        const auto first = digits.find_first_not_of('0');
        return first == std::string::npos ? std::string{} : digits.substr(first);
    };
    if (token.size() != 32) {
        return token;
    }
    const auto low = half(16);
    return half(0) + (low.empty() ? "" : ':' + low);
}

std::string seconds(microseconds duration)
{
    std::ostringstream text;
    text << std::fixed << std::setprecision(2) << static_cast<double>(duration.count()) / 1e6
         << " s";
    return text.str();
}

std::string counted(std::size_t number, const std::string& noun)
{
    return std::to_string(number) + ' ' + noun + (number == 1 ? "" : "s");
}

} // namespace demo
