// Virtual time: what happens, in order.
#pragma once

#include "action.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace colock::simulated {

// True time, since the world began. Machines have clocks of their own, see machine.hpp.
using instant = std::chrono::nanoseconds;

class timeline {
public:
    struct event_id {
        std::size_t slot = 0;
        std::uint64_t number = 0; // 0: of no event
    };
    using event = basic_action<80>;

    timeline() = default;
    timeline(const timeline&) = delete;
    timeline& operator=(const timeline&) = delete;

    [[nodiscard]] instant now() const noexcept { return now_; }
    // Events that have happened.
    [[nodiscard]] std::uint64_t happened() const noexcept { return happened_; }

    // Not before now. Events of one instant happen in the order in which they were planned.
    event_id at(instant when, event what);
    event_id after(std::chrono::nanoseconds delay, event what)
    {
        return at(now_ + delay, std::move(what));
    }

    // Without effect when it has happened.
    void cancel(event_id id) noexcept;

    // Moves time on to the next event, and lets it happen. False when there is none.
    bool run_next();
    // When the next one is due.
    [[nodiscard]] std::optional<instant> next();
    // All up to this instant, which is now afterwards.
    void run_until(instant when);

    // For machines: the number of the next one.
    [[nodiscard]] std::uint32_t count_machine() noexcept { return machines_++; }

private:
    struct entry {
        instant when;
        std::uint64_t number;
        std::size_t slot;
    };
    struct later;
    struct slot {
        std::uint64_t number = 0;
        event what;
    };

    void drop_cancelled();
    void happen();

    instant now_{0};
    std::uint64_t planned_ = 0;
    std::uint64_t happened_ = 0;
    std::uint32_t machines_ = 0;
    std::vector<entry> heap_;
    std::vector<slot> slots_;
    std::vector<std::size_t> free_;
};

} // namespace colock::simulated
