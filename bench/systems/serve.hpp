// What this program does when it is started again, as a process of one of its own systems.
#pragma once

#include <string>

namespace bench {

// Speaks the protocol of peers/README.md on the standard input and output, until it ends.
void serve(const std::string& system, const std::string& hosts, int timeout_ms);

// So many uncontended cycles of one system, and nothing else: for a profiler.
void repeat(const std::string& system, const std::string& hosts, int cycles);

} // namespace bench
