// What the figures must reach.
#pragma once

#include "report.hpp"

#include <string>
#include <vector>

namespace bench {

struct verdict {
    bool met;
    std::string text; // one line
};

// One for each target whose figures were measured.
[[nodiscard]] std::vector<verdict> check_targets(const report& r);

} // namespace bench
