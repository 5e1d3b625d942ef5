// The faults of a run, drawn from its seed.
#ifndef COLOCK_TEST_SHARD_SOAK_PLAN_HPP
#define COLOCK_TEST_SHARD_SOAK_PLAN_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace soak {

enum class kind {
    kill,    // SIGKILL, and a new process later
    stop,    // SIGSTOP, and SIGCONT later
    leave,   // SIGTERM, and a new process later
    restart, // the server: SIGKILL, and again later
};

struct fault {
    std::chrono::milliseconds at{0};
    std::chrono::milliseconds lasts{0};
    soak::kind kind = kind::kill;
    std::size_t place = 0; // of the process; the next one that runs
};

// In the order of their times; the same for the same arguments. In the middle the server is restarted, whatever is drawn.
std::vector<fault> plan(std::uint64_t seed, std::chrono::milliseconds time, double faults_a_minute,
                        std::size_t processes);

std::string name_of(kind k);

} // namespace soak

#endif
