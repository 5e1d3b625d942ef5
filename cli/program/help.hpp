// What `--help` says.
#pragma once

#include <string>

namespace colock::cli {

class program;
struct subcommand;
struct page;

[[nodiscard]] std::string help_of(const program& p);
[[nodiscard]] std::string help_of(const subcommand& c);
[[nodiscard]] std::string help_of(const page& p);

} // namespace colock::cli
