// Lines for the user's log that come up on any thread, on their way to the strand.
#pragma once

#include <colock/log.hpp>

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace colock::detail {

// Any thread. They are added under the mutex of what they tell about, so they keep its order.
class log_lines {
public:
    using lines = std::vector<std::pair<log_level, std::string>>;

    void add(log_level level, std::string text)
    {
        const std::lock_guard lock{mutex_};
        lines_.emplace_back(level, std::move(text));
    }

    // True: the caller sends somebody to take(). False: there is nothing, or somebody is on the way.
    [[nodiscard]] bool send()
    {
        const std::lock_guard lock{mutex_};
        return !lines_.empty() && !std::exchange(sent_, true);
    }

    [[nodiscard]] lines take()
    {
        const std::lock_guard lock{mutex_};
        sent_ = false;
        return std::exchange(lines_, {});
    }

private:
    std::mutex mutex_; // of what follows
    lines lines_;
    bool sent_ = false;
};

} // namespace colock::detail
