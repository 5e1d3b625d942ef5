// Prometheus' text format: written, and the values of what was written read again.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::cli {

struct metric_family {
    std::string_view name;
    std::string_view type; // of a summary the series are NAME_sum and NAME_count
    std::string_view help;
};

// "NAME{path=\"/locks/a\"}": the values may be anything, and are made printable.
[[nodiscard]] std::string
series_of(std::string_view name,
          const std::vector<std::pair<std::string_view, std::string>>& labels = {});

using series_values = std::map<std::string, double>; // by series_of()

// The families in their order, each with its series; those without any are left out, and so are series of no family.
[[nodiscard]] std::string exposition_of(std::span<const metric_family> families,
                                        const series_values& values);

// What such a text says. Lines that say something else are left out.
[[nodiscard]] series_values values_in(std::string_view exposition);

} // namespace colock::cli
