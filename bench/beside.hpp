// What became better or worse than an earlier report.
#pragma once

#include "report.hpp"

#include <string>

namespace bench {

// The figures of a report's JSON. Throws std::runtime_error when the file is none.
[[nodiscard]] report read_report(const std::string& path);

// For people: colock's figures that differ from those of the earlier report by more than their rounds do, then how many
// do not; and how the machine itself did, by the figures of the raw clients.
[[nodiscard]] std::string beside(const report& now, const report& earlier,
                                 const std::string& name_of_earlier);

} // namespace bench
