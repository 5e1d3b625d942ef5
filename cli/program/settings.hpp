// The settings that stand in files: what an option says, for all commands that have it.
#pragma once

#include <string>
#include <vector>

namespace CLI { // NOLINT(readability-identifier-naming): CLI11 calls itself so
class App;
}

namespace colock::cli {

// A setting that stands in for an option which neither the command line nor a variable has given.
struct applied_setting {
    std::string option; // "--servers"
    std::string place;  // "/etc/colock.conf:3"
};

// The system's file and the user's, the stronger one last, whether they are there or not; or the one that --config names.
[[nodiscard]] std::vector<std::string> settings_files(const std::string& named);

// The names that a file may set.
[[nodiscard]] std::vector<std::string> setting_names();

// Reads the files for a command that was parsed, if it has --config. Throws failure that names the file and the line.
std::vector<applied_setting> apply_settings(CLI::App& to);

} // namespace colock::cli
