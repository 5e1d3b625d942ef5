// The processes below one process.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace colock::cli {

// From now on, a process below this one whose parent ends becomes a child of this one. So whatever a command starts stays
// below the process that watches over it, also in sessions and groups of its own. A supervisor calls this before a command
// starts, for what a killed guardian leaves; and not before the client is connected, whose session guard is nobody's child.
void adopt_orphans() noexcept;

// Whether /proc is that of this process's PID namespace, and of its children's. Below another one, or none, no process is found.
[[nodiscard]] bool sees_processes() noexcept;

struct process {
    pid_t id;
    pid_t parent;
    std::string name; // 15 characters at most, and what others have chosen
    bool has_ended;   // and waits for its parent
};
// All that /proc shows; and those of them below this process, without `spared` and what is below them.
[[nodiscard]] std::vector<process> all_processes();
[[nodiscard]] std::vector<process> processes_below_this(const std::vector<pid_t>& spared = {});

[[nodiscard]] inline bool contains(const std::vector<pid_t>& all, pid_t one)
{
    return std::ranges::find(all, one) != all.end();
}

// The children of a process.
[[nodiscard]] std::vector<pid_t> children_of(pid_t parent);

// Those of this process, without a look at all others: cheap, and some may be missing.
[[nodiscard]] std::vector<pid_t> some_own_children();

// By both looks: /proc may hide those of other users from the one at all (hidepid).
[[nodiscard]] std::vector<pid_t> own_children();

// Sends a signal to each process below this one, but not to `spared` and what is below them. SIGTERM is followed by SIGCONT,
// or a stopped process would not hear of it. Gives the number of processes that this process may not signal: those of
// another user. `reap` reaps those that have ended; it is called between looks.
int signal_all_below_this(int number, const std::function<void()>& reap,
                          const std::vector<pid_t>& spared = {});

} // namespace colock::cli
