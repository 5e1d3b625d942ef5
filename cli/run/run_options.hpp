// The options that `colock run` and `colock elect` have in common.
#pragma once

#include "connect/server_options.hpp"
#include "run/supervisor.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI { // NOLINT(readability-identifier-naming): CLI11 calls itself so
class App;
}

namespace colock::cli {

struct run_options {
    server_options servers;
    std::string path;
    std::optional<std::chrono::milliseconds> timeout;
    std::chrono::milliseconds grace = std::chrono::seconds{3};
    std::optional<std::chrono::milliseconds> safety_margin;
    std::uint64_t retries = 0;
    std::string name;
    std::string acl = "open";
    bool shell = false;
    std::optional<int> busy_status;
    bool json = false;
};

void add_run_options(CLI::App& to, run_options& options);

// What is the same for every kind of lock. Throws failure when options contradict each other, or there is no command.
[[nodiscard]] supervision supervision_of(const run_options& options, std::string program,
                                         lock_kind kind, const std::vector<std::string>& words);

} // namespace colock::cli
