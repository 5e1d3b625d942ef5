// A thread that nothing joins: it may never return from the kernel, or from the system's resolver.
#pragma once

#include <functional>

namespace colock::cli {

// The thread takes no signals of the program: each of them reaches a thread that acts on it, and none stops or ends the
// process by way of this one. Throws std::system_error.
void start_detached(std::function<void()> body);

// Ends the process, with what was written for the standard output. Beside threads that go on, no destructor of a static
// object runs: they may be using it.
[[noreturn]] void leave(int status);

} // namespace colock::cli
