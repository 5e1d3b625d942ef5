// The supervisor: holds the lock while a command runs under its guardian.
#pragma once

#include <colock/client_options.hpp>

#include "run/daemons.hpp"
#include "run/events.hpp"
#include "run/guardian_policy.hpp"
#include "run/lock_choice.hpp"
#include "run/once_per.hpp"
#include "run/restarts.hpp"
#include "run/service_manager.hpp"

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace colock::cli {

inline constexpr auto without_limit = std::numeric_limits<std::uint64_t>::max();

// Of an election.
struct candidate_terms {
    restart again = restart::never; // when the command has ended by itself
    std::string enabled_by;         // a node; empty: nobody switches the work off
};

// What `colock run` and `colock elect` were asked for.
struct supervision {
    std::string program; // begins each line that it says
    lock_choice lock;
    bool list_of_parent = false; // for its nodes
    client_options servers;
    std::vector<std::string> words; // of the command
    bool shell = false;
    // For the lock, from the connection on; zero waits for no lock.
    std::optional<std::chrono::milliseconds> limit;
    ending_terms terms;
    // How often a server is looked for again, or the command is started again after its lock was lost.
    std::uint64_t retries = 0;
    candidate_terms candidate;
    // For the release and the end of the session, when the servers are silent.
    std::chrono::milliseconds release_limit{0};
    std::optional<int> busy_status; // in place of busy and timed_out
    job_terms job;
    std::optional<std::chrono::milliseconds> max_hold; // of the command
    service_manager manager;                           // hears of it, too
    report_terms report;
    daemons leave;                     // of the command
    bool keep_identity = false;        // the command inherits the variables that hold secrets
    std::vector<std::string> warnings; // a line each
    std::span<char> shown; // the memory that /proc shows as the command line of this process
};

// Runs the command under the lock, and gives the exit status: that of the command, or one of exit_status. Throws failure
// for what is wrong before the command is started. Nothing is left behind: no process of the command, and no node, unless no
// server can be reached to delete it.
int supervise(const supervision& what);

} // namespace colock::cli
