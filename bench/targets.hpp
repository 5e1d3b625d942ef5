// What the figures must reach.
#pragma once

#include "report.hpp"

namespace bench {

// Prints a line for each target whose figure was measured; false when one was missed.
[[nodiscard]] bool check_targets(const report& r);

} // namespace bench
