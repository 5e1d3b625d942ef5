// The guardian: a process between the supervisor, which holds the lock, and the command.
#pragma once

#include "run/daemons.hpp"
#include "run/guardian_policy.hpp"
#include "run/inherited_signals.hpp"
#include "run/shared_bound.hpp"
#include "run/start_command.hpp"
#include "run/terminal.hpp"

#include <span>

namespace colock::cli {

struct guardian_task {
    command_line command;
    ending_terms terms;
    shared_bound& bound;
    const inherited_signals& signals;
    const terminal& tty;
    // The memory that /proc shows as the command line of this process.
    std::span<char> shown;
    daemons left = daemons{}; // which it does not end
};

// What the guardian process does until the supervisor has gone and no process of a command is left. It starts the command
// when it is told to, passes signals on, and tells how the command ends. It needs neither the supervisor nor ZooKeeper to
// end the command in time. Has no threads.
// `consent`: gets a byte when the supervisor has gone and nothing is left: the session guard may end the session.
[[noreturn]] void be_guardian(int supervisor, int consent, const guardian_task& task);

// Takes this process, which guards, out of the group and the reach of the terminal that the supervisor has. Gives a signalfd
// that tells of children.
[[nodiscard]] int stand_apart();

// Answers each start with why no command can be started, until the supervisor has gone; then ends this process. A socket that is
// closed earlier would take no start, and the guardian would pass for killed. `consent`: as above.
[[noreturn]] void refuse_start(int supervisor, int consent, int error);

// Somebody who kills processes by a name or a pattern, such as "colock", "colock run" or the path of the lock, means the
// supervisor, and must not hit this process, which then ends what is left. `shown`: as in guardian_task.
void show_as(const char* name, std::span<char> shown);

} // namespace colock::cli
