// Starts the command, in a process group of its own.
#pragma once

#include "run/inherited_signals.hpp"
#include "run/shared_bound.hpp"
#include "run/terminal.hpp"
#include "run/variables.hpp"

#include <sys/types.h>

#include <string>
#include <vector>

namespace colock::cli {

struct command_line {
    std::string file; // a path, as find_command() gives it
    std::vector<std::string> words;
};

// The command line for these words: found in PATH where the first one has no slash; with `shell`, one for `sh -c`. Throws
// failure when there is no such command, or it is not executable.
[[nodiscard]] command_line find_command(std::vector<std::string> words, bool shell);

// Why a command with this name is not started, for people; `error` is errno.
[[nodiscard]] std::string cannot_start(const std::string& name, int error);

struct started_command {
    pid_t id = -1;
    int error = 0; // errno, when it could not be started; ETIME when the lock was lost before
};

// Only in a process without threads. The command is killed when this process ends in any way. It takes the start that
// `bound` has for it, or there is none.
[[nodiscard]] started_command start_command(const command_line& command,
                                            const std::vector<variable>& environment,
                                            const inherited_signals& signals, const terminal& tty,
                                            shared_bound& bound);

} // namespace colock::cli
