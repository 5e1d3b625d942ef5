// The supervisor: holds the lock while a command runs under its guardian.
#pragma once

#include <colock/client_options.hpp>

#include "run/guardian_policy.hpp"
#include "run/lock_choice.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace colock::cli {

// What `colock run` and `colock elect` were asked for.
struct supervision {
    std::string program; // begins each line that it says
    lock_choice lock;
    client_options servers;
    std::vector<std::string> words; // of the command
    bool shell = false;
    // For the connection and the lock together; zero waits for no lock.
    std::optional<std::chrono::milliseconds> limit;
    ending_terms terms;
    // How often the command is started again after its lock was lost.
    std::uint64_t retries = 0;
    std::optional<int> busy_status; // in place of busy and timed_out
    bool json = false;
};

// Runs the command under the lock, and gives the exit status: that of the command, or one of exit_status. Throws failure
// for what is wrong before the command is started. Nothing is left behind: no process of the command, and no node, unless no
// server can be reached to delete it.
int supervise(const supervision& what);

} // namespace colock::cli
