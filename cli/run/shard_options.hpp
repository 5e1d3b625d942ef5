// The options of `colock run --shards`.
#pragma once

#include "run/run_options.hpp"
#include "run/shard_supervisor.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace colock::cli {

// Those that were not given have the library's defaults.
struct shard_run_options {
    std::optional<std::size_t> count; // without it the others make no sense
    std::string member;
    std::optional<std::uint32_t> weight;
    std::optional<std::chrono::milliseconds> settle;
    std::optional<std::size_t> moves;
    std::string when_ended;
    std::optional<std::chrono::milliseconds> leave_timeout;
    bool redefine = false;
};

void add_shard_options(CLI::App& to, shard_run_options& options);

// Throws failure when one of them was given without --shards.
void refuse_without_shards(const shard_run_options& options);

// Throws failure for options that contradict each other.
[[nodiscard]] shard_supervision supervision_of(const run_options& common,
                                               const shard_run_options& options,
                                               const std::string& name, const program& p);

} // namespace colock::cli
