// Ends what is below a process: the rule alone, without the system.
#pragma once

#include <sys/types.h>

#include <functional>
#include <vector>

namespace colock::cli {

// The children of the process that ends them. It adopts orphans: when a child ends, the children of that child become its own.
struct children_access {
    // The kernel knows of no child at all.
    std::function<bool()> none;
    // One look at those to end. Each child that has not been reaped is there, whether it has ended or not.
    std::function<std::vector<pid_t>()> look;
    // True when the child had ended. Its children are found by the next look, not by the last one.
    std::function<bool(pid_t)> reap;
    // Sends SIGKILL to all that is below.
    std::function<void()> kill;
    // Some children are not to be ended, so the kernel may never say that there is none.
    bool spares = false;
};

enum class round_end {
    over,   // nothing is left below the process
    reaped, // something is gone; what it has left behind is to be looked for at once
    waits,  // the kernel needs a moment for each, and some cannot be killed
};

// One round; to be repeated until all is over.
[[nodiscard]] round_end end_children(const children_access& of);

} // namespace colock::cli
