// Lines for the user's log that come up on any thread, on their way to the strand.
#pragma once

#include <colock/log.hpp>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace colock::detail {

// Any thread. They are added under the mutex of what they tell about, so they keep its order.
class log_lines {
public:
    using lines = std::vector<std::pair<log_level, std::string>>;

    // So many are kept for a log that is slower than what happens.
    static constexpr std::size_t most = 5000;

    void add(log_level level, std::string text)
    {
        const std::lock_guard lock{mutex_};
        if (lines_.size() == most) {
            ++left_out_;
            return;
        }
        lines_.emplace_back(level, std::move(text));
        has_lines_.store(true, std::memory_order_relaxed);
    }

    // Whoever adds a line sees it here. Costs no lock, which all threads of the client would share.
    [[nodiscard]] bool any() const noexcept { return has_lines_.load(std::memory_order_relaxed); }

    // True: the caller sends somebody to take(). False: there is nothing, or somebody is on the way.
    [[nodiscard]] bool send()
    {
        if (!any()) {
            return false;
        }
        const std::lock_guard lock{mutex_};
        return !lines_.empty() && !std::exchange(sent_, true);
    }
    // The caller of send() could send nobody.
    void not_sent()
    {
        const std::lock_guard lock{mutex_};
        sent_ = false;
    }

    [[nodiscard]] lines take()
    {
        const std::lock_guard lock{mutex_};
        sent_ = false;
        has_lines_.store(false, std::memory_order_relaxed);
        if (const auto n = std::exchange(left_out_, 0); n != 0) {
            lines_.emplace_back(log_level::warning,
                                std::to_string(n) + (n == 1 ? " line" : " lines") +
                                    " left out: they came up faster than the log took them");
        }
        return std::exchange(lines_, {});
    }

private:
    std::mutex mutex_; // of what follows
    lines lines_;
    std::size_t left_out_ = 0;
    bool sent_ = false;

    std::atomic<bool> has_lines_{false}; // set under the mutex
};

} // namespace colock::detail
