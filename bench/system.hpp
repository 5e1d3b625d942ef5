// A system under measurement: one client, one session, one lock.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

using clock = std::chrono::steady_clock;

struct cycle_time {
    clock::duration lock;  // until it is held
    clock::duration cycle; // until it is released again
};

class lock_client {
public:
    virtual ~lock_client() = default;

    // Takes and releases the lock so many times. Throws std::runtime_error.
    virtual std::vector<cycle_time> cycles(int count) = 0;

    // Reads a node, so many times, one after the other: the time of one round trip each.
    virtual std::vector<clock::duration> round_trips(int count) = 0;
};

// Connected when they return.
[[nodiscard]] std::unique_ptr<lock_client> make_colock_client(const std::string& hosts,
                                                              const std::string& path);
[[nodiscard]] std::unique_ptr<lock_client> make_raw_client(const std::string& hosts,
                                                           const std::string& path);

struct lock_system {
    std::string_view name;
    std::unique_ptr<lock_client> (*connect)(const std::string& hosts, const std::string& path);
};

// What colock is compared with comes last.
inline constexpr lock_system systems[] = {{"colock", &make_colock_client},
                                          {"raw", &make_raw_client}};

} // namespace bench
