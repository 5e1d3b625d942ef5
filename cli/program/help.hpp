// What `--help` says.
#pragma once

#include <string>

namespace colock::cli {

class program;
struct command;
struct page;

[[nodiscard]] std::string help_of(const program& p);
[[nodiscard]] std::string help_of(const command& c);
[[nodiscard]] std::string help_of(const page& p);

} // namespace colock::cli
