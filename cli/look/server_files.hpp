// The transaction logs and snapshots in a directory of a ZooKeeper server.
#pragma once

#include "look/past.hpp"

#include <string>
#include <vector>

namespace colock::cli {

struct told_by_files {
    past told;
    std::vector<std::string> notes; // files that could not be used, and why
};

// Reads one file after the other. The directories are those of one server: `dataDir`, `dataLogDir`, or `version-2` in them. Throws
// failure when nothing can be told.
[[nodiscard]] told_by_files read_past(const std::vector<std::string>& directories,
                                      const std::string& path);

} // namespace colock::cli
