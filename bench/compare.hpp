// One comparison: contestants that are measured in turns, and what becomes of it in the report.
#pragma once

#include "report.hpp"
#include "runner.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

struct metric {
    std::string name;
    std::string unit;
    std::string_view relative_to = {}; // the last contestant: also as a ratio to its value
    std::optional<double> rtt_ms = {}; // where it is another one than that of the circumstances
};

// Says that there are no figures of a system, there or in all that follows. A run can do without a peer; without
// any other it has failed.
void leave_out(report& out, const std::string& where, std::string_view system,
               std::string_view why);

// Whoever fails is left out. Precondition: a slice begins with a value for each metric.
void compare(report& out, const circumstances& where, const std::vector<contestant>& all,
             const std::vector<metric>& metrics, schedule s);

// Of contestants that are one system in several arrangements, that with the best first metric counts. What the others
// came to in it is a figure, too, under its name and that of the arrangement. Nothing is relative here.
void compare_best(report& out, const circumstances& where, const std::vector<contestant>& all,
                  const std::vector<metric>& metrics, schedule s);

} // namespace bench
