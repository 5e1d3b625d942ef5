// The options of `colock run` for a job that many machines start.
#pragma once

#include "run/supervisor.hpp"

#include <chrono>
#include <optional>

namespace CLI { // NOLINT(readability-identifier-naming): CLI11 calls itself so
class App;
}

namespace colock::cli {

struct job_options {
    job_terms terms;
    std::optional<std::chrono::milliseconds> max_hold;
};

void add_job_options(CLI::App& to, job_options& options);

// Throws failure when one of them was given, and the lock is none that they are for.
void refuse_job_options(const job_options& options, const char* why);

// Throws failure for options that contradict each other.
void add_job(supervision& to, const job_options& options);

} // namespace colock::cli
