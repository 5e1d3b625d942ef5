// The scenarios, and what they are given.
#pragma once

#include "report.hpp"

#include <string>

namespace bench {

struct run_options {
    bool quick = false;
    bool full = false;
    int rounds = 5;
    std::string self; // the path of this program, which is its own worker
};

void uncontended(const run_options& options, report& out);
void handover(const run_options& options, report& out);
void requests(const run_options& options, report& out);
void idle(const run_options& options, report& out);
void in_process(const run_options& options, report& out);
void linger(const run_options& options, report& out);

} // namespace bench
