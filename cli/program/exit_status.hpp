// What `colock` returns when it is not the status of a command that it ran.
#pragma once

#include <string_view>

namespace colock::cli {

// The numbers follow env, timeout and docker: 125 for the program's own failure, 126 and 127 for a command that cannot be
// started, 124 for a time that is over. Those below are colock's own; few programs use them.
enum exit_status : int {
    success = 0,
    not_found_here = 1, // an inspection found what it warns of, such as a path without a lock
    lost = 120,         // the lock was lost before the command and its processes had ended
    no_zookeeper = 121, // no server could be reached, or spoken to
    refused = 122,   // the servers, or the path, do not allow it: permissions, another kind of lock
    busy = 123,      // --try: somebody has the lock
    timed_out = 124, // --timeout has passed
    usage = 125,     // the command line, a file that it names, or colock itself is at fault
    not_executable = 126,
    not_found = 127,
    signalled =
        128, // and the number of the signal that ended the command, or colock while it waited
};

// For machines, why `colock run` has ended with one of these.
[[nodiscard]] constexpr std::string_view word_for(exit_status s) noexcept
{
    switch (s) {
    case lost: return "lost";
    case no_zookeeper: return "no_zookeeper";
    case refused: return "refused";
    case busy: return "busy";
    case timed_out: return "timed_out";
    case not_executable: return "not_executable";
    case not_found: return "not_found";
    case signalled: return "signal";
    default: return "usage";
    }
}

// Of `usage`, when the command has run: somebody has killed its guardian.
inline constexpr std::string_view guardian_killed = "guardian_killed";

} // namespace colock::cli
