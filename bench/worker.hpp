// What this program does when it is started again, by itself or under a profiler.
#pragma once

#include <string>

namespace bench {

// One contending process: connects, prints "ready", and waits for a line on its input; then takes
// turns for the time given, and prints how many it was granted in it.
void contend(const std::string& hosts, const std::string& path, int milliseconds);

// So many uncontended cycles of one system, and nothing else.
void repeat(const std::string& system, const std::string& hosts, int cycles);

} // namespace bench
