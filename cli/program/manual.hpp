// Pages of the manual, for man(1).
#pragma once

#include <string>

namespace colock::cli {

class program;
struct page;

// In roff, with the macros man(7). Section 1.
[[nodiscard]] std::string manual_of(const page& p, const program& all);

} // namespace colock::cli
