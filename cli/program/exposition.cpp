#include "program/exposition.hpp"

#include <colock/log.hpp>

#include <charconv>
#include <cmath>

namespace colock::cli {

namespace {

std::string in_label(const std::string& value)
{
    constexpr std::size_t longest = 4096; // of a path, say
    std::string out;
    for (const char c : printable(value, longest)) {
        if (c == '\\' || c == '"') {
            out += '\\';
        }
        out += c;
    }
    return out;
}

// 1764281226.25, with as many digits as it takes to read the same again.
std::string digits_of(double value)
{
    char text[64];
    const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed);
    return end.ec == std::errc{} ? std::string{text, end.ptr} : "NaN";
}

bool belongs_to(std::string_view series, const metric_family& family)
{
    const auto name = series.substr(0, series.find('{'));
    if (family.type != "summary") {
        return name == family.name;
    }
    return name.starts_with(family.name) && (name.substr(family.name.size()) == "_sum" ||
                                             name.substr(family.name.size()) == "_count");
}

} // namespace

std::string series_of(std::string_view name,
                      const std::vector<std::pair<std::string_view, std::string>>& labels)
{
    std::string out{name};
    for (const auto& [label, value] : labels) {
        out += (&label == &labels.front().first ? '{' : ',') + std::string{label} + "=\"" +
               in_label(value) + '"';
    }
    return labels.empty() ? out : out + '}';
}

std::string exposition_of(std::span<const metric_family> families, const series_values& values)
{
    std::string out;
    for (const auto& family : families) {
        std::string lines;
        for (const auto& [series, value] : values) {
            if (belongs_to(series, family)) {
                lines += series + ' ' + digits_of(value) + '\n';
            }
        }
        if (!lines.empty()) {
            const std::string name{family.name};
            out += "# HELP " + name + ' ' + std::string{family.help} + "\n# TYPE " + name + ' ' +
                   std::string{family.type} + '\n' + lines;
        }
    }
    return out;
}

series_values values_in(std::string_view exposition)
{
    series_values all;
    while (!exposition.empty()) {
        const auto line = exposition.substr(0, exposition.find('\n'));
        exposition.remove_prefix(std::min(line.size() + 1, exposition.size()));
        const auto blank = line.rfind(' ');
        if (line.starts_with('#') || blank == line.npos || blank == 0) {
            continue;
        }
        double value = 0;
        const auto* const end = line.data() + line.size();
        const auto [rest, ec] = std::from_chars(line.data() + blank + 1, end, value);
        if (ec == std::errc{} && rest == end && std::isfinite(value)) {
            all[std::string{line.substr(0, blank)}] = value;
        }
    }
    return all;
}

} // namespace colock::cli
