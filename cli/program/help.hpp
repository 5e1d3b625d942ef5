// What `--help` says.
#pragma once

#include <string>

namespace colock::cli {

class program;
struct command;

[[nodiscard]] std::string help_of(const program& p);
[[nodiscard]] std::string help_of(const command& c);

// The statuses that are colock's own, a line each.
[[nodiscard]] std::string exit_status_table();

} // namespace colock::cli
