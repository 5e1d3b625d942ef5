// What happened in a run: what the processes and the store noted, and what was done to them.
//
// All times are of CLOCK_MONOTONIC, in nanoseconds: the processes run on one machine.
#ifndef COLOCK_TEST_SHARD_SOAK_HISTORY_HPP
#define COLOCK_TEST_SHARD_SOAK_HISTORY_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace soak {

using nanoseconds = std::int64_t;

// A body of a shard, from its beginning to its end.
struct turn {
    std::size_t shard = 0;
    std::string token;
    nanoseconds began = 0;
    std::optional<nanoseconds> ended = {}; // empty: it was killed, or runs still
    bool lost = false;                     // it ended because the lock was lost
};

struct interval {
    nanoseconds from = 0;
    nanoseconds to = 0;
};

struct process {
    std::string name;
    std::vector<turn> turns = {};
    std::vector<interval> stops = {};        // SIGSTOP until SIGCONT
    std::optional<nanoseconds> killed = {};  // SIGKILL
    std::optional<nanoseconds> told_to = {}; // end: SIGTERM
};

// A write that the store received.
struct write {
    std::size_t shard = 0;
    std::string process;
    std::string token;
    nanoseconds looked = 0; // the process read the clock, then its guard, which held
    nanoseconds bound = 0;  // until when the guard said that nobody else can be granted the shard
    nanoseconds at = 0;     // it came
    bool accepted = true;   // by the fence
};

struct history {
    std::size_t shards = 0;
    nanoseconds from = 0; // all shards were owned, evenly, and the faults began
    nanoseconds to = 0;   // all faults were over, and what they did was repaired
    std::vector<process> processes = {};
    std::vector<write> writes = {};     // in the order in which they came
    std::vector<interval> outages = {}; // no server served
};

// A process' journal: lines "TIME began|ended|lost SHARD TOKEN". Throws std::runtime_error when a line is none.
std::vector<turn> read_turns(const std::string& file);

} // namespace soak

#endif
