// Virtual time: what happens, in order.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace world {

// True time, since the world began. Machines have clocks of their own, see machine.hpp.
using instant = std::chrono::nanoseconds;

class timeline {
public:
    struct event_id {
        std::size_t slot = 0;
        std::uint64_t number = 0; // 0: of no event
    };

    [[nodiscard]] instant now() const noexcept { return now_; }

    // Not before now. Events of one instant happen in the order in which they were planned.
    event_id at(instant when, std::function<void()> what);
    event_id after(std::chrono::nanoseconds delay, std::function<void()> what)
    {
        return at(now_ + delay, std::move(what));
    }

    // Without effect when it has happened.
    void cancel(event_id event) noexcept;

    // Moves time on to the next event, and lets it happen. False when there is none.
    bool run_next();
    // All up to this instant, which is now afterwards.
    void run_until(instant when);

private:
    struct entry {
        instant when;
        std::uint64_t number;
        std::size_t slot;
    };
    struct later;
    struct slot {
        std::uint64_t number = 0;
        std::function<void()> what;
    };

    void drop_cancelled();

    instant now_{0};
    std::uint64_t planned_ = 0;
    std::vector<entry> heap_;
    std::vector<slot> slots_;
    std::vector<std::size_t> free_;
};

} // namespace world
