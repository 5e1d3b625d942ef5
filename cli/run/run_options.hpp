// The options that `colock run` and `colock elect` have in common.
#pragma once

#include "connect/server_options.hpp"
#include "run/supervisor.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI { // NOLINT(readability-identifier-naming): CLI11 calls itself so
class App;
}

namespace colock::cli {

class program;

struct run_options {
    server_options servers;
    std::vector<std::string> paths;
    bool try_only = false;
    std::optional<std::chrono::milliseconds> timeout;
    std::chrono::milliseconds grace = std::chrono::seconds{3};
    std::optional<std::chrono::milliseconds> safety_margin;
    std::optional<std::uint64_t> retries;
    std::chrono::milliseconds release_timeout = std::chrono::seconds{3};
    std::string name;
    std::string acl = "open";
    bool shell = false;
    std::optional<int> busy_status;
    std::string events; // as open_events() takes it
    report_terms report;
    bool keep_identity = false;
    bool notify = false;
    std::vector<std::string> leave;
};

// Behind those that the command adds itself. `several`: PATH may be given more than once.
void add_run_options(CLI::App& to, run_options& options, bool several = false);

// Throws failure when options contradict each other, or there is no command.
[[nodiscard]] run_basis basis_of(const run_options& options, const std::string& name,
                                 const program& p);

// What is the same for every kind of lock. Throws failure when options contradict each other, or there is no command.
[[nodiscard]] supervision supervision_of(const run_options& options, const std::string& name,
                                         lock_kind kind, const program& p);

// Gives the exit status that `run` gives. Opens the file of --events for it. Machines hear of every end, also that of what could
// not begin; without --json and --events this throws failure then.
int supervise_what(const std::function<int()>& run, run_options& options, const std::string& name);

} // namespace colock::cli
