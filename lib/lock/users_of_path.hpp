// The users of one client that have the lock of one path, by any node: for the log, which suspects that a user waits
// for a lock that it holds.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <utility>

namespace colock::detail {

// Any thread. Times are those of the boot_clock.
class users_of_path {
public:
    void enter(std::chrono::nanoseconds now)
    {
        const std::lock_guard lock{mutex_};
        if (users_++ == 0) {
            since_ = now;
            suspected_ = false;
        }
    }
    void leave()
    {
        const std::lock_guard lock{mutex_};
        --users_;
    }

    // Since when there is one all the time.
    [[nodiscard]] std::optional<std::chrono::nanoseconds> since() const
    {
        const std::lock_guard lock{mutex_};
        return users_ != 0 ? std::optional{since_} : std::nullopt;
    }

    // One of them has the lock for as long as somebody waits for it: since when there is one all the time. Else nothing;
    // nor is the same time told twice.
    [[nodiscard]] std::optional<std::chrono::nanoseconds>
    suspect(std::chrono::nanoseconds waits_since)
    {
        const std::lock_guard lock{mutex_};
        if (users_ == 0 || since_ > waits_since || std::exchange(suspected_, true)) {
            return std::nullopt;
        }
        return since_;
    }

private:
    mutable std::mutex mutex_; // of what follows
    std::size_t users_ = 0;
    std::chrono::nanoseconds since_{0};
    bool suspected_ = false;
};

} // namespace colock::detail
