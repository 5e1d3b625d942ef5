// One contending process: this program, started again.
#pragma once

#include <string>

namespace bench {

// Connects, prints "ready", and waits for a line on its input; then takes turns for the time given, and
// prints how many it had. Returns the exit status.
int work(const std::string& hosts, const std::string& path, int milliseconds);

} // namespace bench
