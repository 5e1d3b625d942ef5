// One comparison: contestants that are measured in turns, and what becomes of it in the report.
#pragma once

#include "report.hpp"
#include "runner.hpp"

#include <optional>
#include <string>
#include <vector>

namespace bench {

struct circumstances {
    std::string scenario;
    double rtt_ms = 0;
    int clients = 1;
    int servers = 1;
};

struct metric {
    std::string name;
    std::string unit;
    bool relative = false;             // also as a ratio to the last contestant's
    std::optional<double> rtt_ms = {}; // where it is another one than that of the circumstances
};

// Whoever fails is left out, with a remark. Precondition: a slice begins with a value for each metric.
void compare(report& out, const circumstances& where, const std::vector<contestant>& all,
             const std::vector<metric>& metrics, schedule s);

} // namespace bench
