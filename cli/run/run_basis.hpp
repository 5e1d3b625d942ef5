// What `colock run` and `colock elect` were asked for, whether it runs one command or one for each shard.
#pragma once

#include <colock/client_options.hpp>

#include "run/events.hpp"
#include "run/guardian_policy.hpp"
#include "run/service_manager.hpp"

#include <chrono>
#include <span>
#include <string>
#include <vector>

namespace colock::cli {

// For a release when somebody cannot wait. Not at once: timeout(1), for one, sends each signal twice, and a server that answers
// needs less.
inline constexpr std::chrono::milliseconds hurry{1000};

struct run_basis {
    std::string program; // begins each line that it says
    client_options servers;
    std::vector<std::string> words; // of the command; of one for each shard, "{}" is its number
    bool shell = false;
    ending_terms terms;
    // For the release and the end of the session, when the servers are silent.
    std::chrono::milliseconds release_limit{0};
    service_manager manager; // hears of it, too
    report_terms report;
    bool keep_identity = false;        // the command inherits the variables that hold secrets
    std::vector<std::string> warnings; // a line each
    std::span<char> shown; // the memory that /proc shows as the command line of this process
};

} // namespace colock::cli
