// What `colock bench` measures, and what each figure means.
#pragma once

#include <colock/client.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace colock::cli {

struct measured {
    std::string name;   // for programs
    std::string title;  // for people
    std::string figure; // "0.62 ms, p99 1.9 ms", "1,860 a second"
    std::string meaning;
    std::uint64_t samples = 0;
    double median_ms = 0; // 0: was not taken
    double p99_ms = 0;
    double per_second = 0;
};

inline constexpr std::size_t bench_clients = 8;

// Measures with these clients, each connected, below `path`, and gives each result to `report`. `time` is for all of it.
[[nodiscard]] boost::asio::awaitable<void>
run_bench(const std::vector<std::unique_ptr<client>>& clients, std::string path,
          std::chrono::milliseconds time, const std::function<void(const measured&)>& report);

} // namespace colock::cli
