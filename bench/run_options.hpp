// How a run measures.
#pragma once

#include <chrono>
#include <string>

namespace bench {

struct run_options {
    bool quick = false;
    bool full = false;
    int rounds = 5;
    int servers = 1; // more: an ensemble
    bool fsync = false;
    std::string self; // the path of this program, which is its own worker
    std::string log;  // a file for what servers and peers have to say
    std::chrono::milliseconds session_timeout{30'000};
};

} // namespace bench
