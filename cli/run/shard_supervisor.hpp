// The supervisor of `colock run --shards`: a command for each shard that this process owns.
#pragma once

#include <colock/shards.hpp>

#include "run/run_basis.hpp"

#include <chrono>
#include <string>

namespace colock::cli {

struct shard_supervision : run_basis {
    std::string path;
    shards_options shards;
    std::chrono::milliseconds leave_limit{0}; // to hand the shards on
};

// Runs until it is asked to end by a signal, or fails. Gives the exit status. Throws failure for what is wrong before it is a
// member. No process of a command is left behind.
int supervise(const shard_supervision& what);

} // namespace colock::cli
