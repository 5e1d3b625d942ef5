// What a run came to, for people: a page of Markdown.
#pragma once

#include "report.hpp"
#include "targets.hpp"

#include <string>
#include <utility>
#include <vector>

namespace bench {

// What was run, and on what.
using run_facts = std::vector<std::pair<std::string, std::string>>;

// Where a peer was better comes first; then the targets, the remarks, the run, and the figures of all
// systems side by side.
[[nodiscard]] std::string summary(const report& r, const std::vector<verdict>& verdicts,
                                  const run_facts& facts);

} // namespace bench
