// Comes back to the users of one path who wait for long, so that the log can say why.
#pragma once

#include "report/reminders.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>

namespace colock::detail {

class local_queue;

// While somebody waits the client has one reminder of this object, and the servers one question at most.
class long_waits final : public reminded {
public:
    explicit long_waits(local_queue& of) noexcept : queue_{of} {}

    // Under the mutex of the queue: somebody begins to wait.
    void begin() noexcept
    {
        if (!reminded_) {
            reminded_ = true;
            due_.store(true, std::memory_order_relaxed);
        }
    }
    // Any thread: whether ask_for_reminder() has something to do.
    [[nodiscard]] bool is_due() const noexcept { return due_.load(std::memory_order_relaxed); }
    void ask_for_reminder();

    [[nodiscard]] std::optional<std::chrono::nanoseconds>
    remind(std::chrono::nanoseconds now) override;

private:
    [[nodiscard]] std::weak_ptr<long_waits> weak();
    void ask_for_holder(std::size_t before);
    // Under the mutex: since when the first one waits; nothing when nobody does, or is to be told.
    [[nodiscard]] std::optional<std::chrono::nanoseconds> waits_since();

    local_queue& queue_;
    bool reminded_ =
        false;            // the client calls remind(), or is about to be asked to; under the mutex
    bool asking_ = false; // the servers; under the mutex
    std::atomic<bool> due_{false}; // set under the mutex; or again, without memory to ask
};

} // namespace colock::detail
