// How a run measures.
#pragma once

#include <support/certificates.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace bench {

struct run_options {
    bool quick = false;
    bool full = false;
    int rounds = 5;
    int servers = 1; // more: an ensemble
    bool fsync = false;
    // colock over TLS beside colock, and nothing else. Whom servers and clients trust.
    std::shared_ptr<const colock::test::certificate_authority> tls = {};
    std::string self; // the path of this program, which is its own worker
    std::string log;  // a file for what servers and peers have to say
    std::chrono::milliseconds session_timeout{30'000};
    // Of `overlap`: the troubles whose names contain one of these texts, and these systems. None: all.
    std::vector<std::string> troubles = {};
    std::vector<std::string> systems = {};
};

} // namespace bench
