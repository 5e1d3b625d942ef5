// The supervisor of `colock run --shards`: a command for each shard that this process owns.
#pragma once

#include <colock/client_options.hpp>
#include <colock/shards.hpp>

#include "run/events.hpp"
#include "run/guardian_policy.hpp"

#include <chrono>
#include <span>
#include <string>
#include <vector>

namespace colock::cli {

struct shard_supervision {
    std::string program; // begins each line that it says
    std::string path;
    shards_options shards;
    client_options servers;
    std::vector<std::string> words; // of the commands; "{}" is the number of the shard
    bool shell = false;
    ending_terms terms;
    service_manager manager;                  // hears of it, too
    std::chrono::milliseconds leave_limit{0}; // to hand the shards on
    std::chrono::milliseconds release_limit{
        0}; // for the end of the session, when the servers are silent
    report_terms report;
    bool keep_identity = false;        // the commands inherit the variables that hold secrets
    std::vector<std::string> warnings; // a line each
    std::span<char> shown; // the memory that /proc shows as the command line of this process
};

// Runs until it is asked to end by a signal, or fails. Gives the exit status. Throws failure for what is wrong before it is a
// member. No process of a command is left behind.
int supervise(const shard_supervision& what);

} // namespace colock::cli
