// The log of a client's user, and the text of the last error.
#pragma once

#include <colock/client_options.hpp>
#include <colock/log.hpp>

#include "report/log_lines.hpp"

#include <atomic>
#include <mutex>
#include <string>

namespace colock::detail {

class client_log {
public:
    // The options outlive this.
    explicit client_log(const client_options& options) noexcept : options_{options} {}

    // Any thread: whether the user wants lines of this level.
    [[nodiscard]] bool wants(log_level level) const noexcept
    {
        return options_.log && level >= options_.log_threshold;
    }

    // On the strand.
    void write(log_level level, const std::string& line)
    {
        if (wants(level)) {
            writing_.store(true, std::memory_order_relaxed);
            options_.log(level, printable(line, longest_line));
            writing_.store(false, std::memory_order_relaxed);
        }
    }
    // The user's log is on the strand's stack.
    [[nodiscard]] bool is_writing() const noexcept
    {
        return writing_.load(std::memory_order_relaxed);
    }

    // Lines of any thread, on their way to the strand.
    [[nodiscard]] log_lines& lines() noexcept { return lines_; }
    // On the strand: writes those.
    void write_lines()
    {
        for (const auto& [level, text] : lines_.take()) {
            write(level, text);
        }
    }

    // Any thread.
    void note_error(const std::string& detail)
    {
        const std::lock_guard lock{mutex_};
        last_error_ = printable(detail, longest_line);
    }
    [[nodiscard]] std::string last_error() const
    {
        const std::lock_guard lock{mutex_};
        return last_error_;
    }

private:
    const client_options& options_;
    std::atomic<bool> writing_{false};
    log_lines lines_;
    mutable std::mutex mutex_;
    std::string last_error_; // under the mutex
};

} // namespace colock::detail
