// The supervisor: holds the lock while a command runs under its guardian.
#pragma once

#include "run/lock_choice.hpp"
#include "run/once_per.hpp"
#include "run/restarts.hpp"
#include "run/run_basis.hpp"

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace colock::cli {

inline constexpr auto without_limit = std::numeric_limits<std::uint64_t>::max();

// Of an election.
struct candidate_terms {
    restart again = restart::never; // when the command has ended by itself
    std::string enabled_by;         // a node; empty: nobody switches the work off
};

// What `colock run` and `colock elect` were asked for.
struct supervision : run_basis {
    lock_choice lock;
    bool list_of_parent = false; // for its nodes
    // For the lock, from the connection on; zero waits for no lock.
    std::optional<std::chrono::milliseconds> limit;
    // How often a server is looked for again, or the command is started again after its lock was lost.
    std::uint64_t retries = 0;
    candidate_terms candidate;
    std::optional<int> busy_status; // in place of busy and timed_out
    job_terms job;
    std::optional<std::chrono::milliseconds> max_hold; // of the command
};

// Runs the command under the lock, and gives the exit status: that of the command, or one of exit_status. Throws failure
// for what is wrong before the command is started. Nothing is left behind: no process of the command, and no node, unless no
// server can be reached to delete it.
int supervise(const supervision& what);

} // namespace colock::cli
