// What a run came to, for people: a page of Markdown.
#pragma once

#include "report.hpp"
#include "targets.hpp"

#include <string>
#include <vector>

namespace bench {

// Where a peer was better comes first; then the targets, the remarks, and the figures of all
// systems side by side.
[[nodiscard]] std::string summary(const report& r, const std::vector<verdict>& verdicts);

} // namespace bench
