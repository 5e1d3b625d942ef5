// On what a run was made: machine, system, versions.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace bench {

// What it is, and its name or number; without what cannot be found out here. `self` is the path of this program.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> environment(const std::string& self);

// What the processors have counted since the machine began, in ticks: of all time, how much a hypervisor gave to
// others.
struct processor_time {
    double all = 0;
    double stolen = 0;
};
[[nodiscard]] processor_time processors();

} // namespace bench
