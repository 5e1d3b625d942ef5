// A journal in which processes note that they are alive, and what it proves.
#ifndef COLOCK_TEST_CLI_JOURNAL_HPP
#define COLOCK_TEST_CLI_JOURNAL_HPP

#include <cstdint>
#include <string>
#include <vector>

namespace colock::test {

// The time in which some process of one run was alive, from its first beat to its last one. A run is a command and all
// that it has started.
struct life {
    std::string run;
    std::int64_t first = 0, last = 0; // nanoseconds of CLOCK_MONOTONIC
    int processes = 0;
};

// The runs of a file that `journal_writer` processes have written, in the order in which they began.
std::vector<life> read_journal(const std::string& file);

// Pairs of runs of which one was alive when the other one began.
int overlaps(const std::vector<life>& runs);

} // namespace colock::test

#endif
