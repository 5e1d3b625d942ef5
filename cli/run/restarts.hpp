// When a command is started again after it has ended, and after which pause. Sans-io.
#pragma once

#include <algorithm>
#include <chrono>
#include <utility>

namespace colock::cli {

enum class restart {
    never,
    on_failure, // its status is not 0
    always,
};

// One second, twice as long each time, one minute at most; from the beginning after a run of more than a minute.
class restart_pauses {
public:
    static constexpr std::chrono::milliseconds first = std::chrono::seconds{1};
    static constexpr std::chrono::milliseconds longest = std::chrono::minutes{1};

    // After a run that has lasted so long.
    [[nodiscard]] std::chrono::milliseconds next(std::chrono::steady_clock::duration run) noexcept
    {
        if (run > longest) {
            next_ = first;
        }
        return std::exchange(next_, std::min(2 * next_, longest));
    }

private:
    std::chrono::milliseconds next_ = first;
};

} // namespace colock::cli
