// Comes back to those who wait for long, to say why. One timer of a client for all of them.
#pragma once

#include <colock/error.hpp>

#include "zk/strand.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

namespace colock::detail {

// On the strand. Times are those of the boot_clock.
class reminded {
public:
    // Returns when to come back; or nothing, and then it has to be added again.
    [[nodiscard]] virtual std::optional<std::chrono::nanoseconds>
    remind(std::chrono::nanoseconds now) = 0;

protected:
    ~reminded() = default;
};

class reminders : public std::enable_shared_from_this<reminders> {
public:
    explicit reminders(const zk::strand_type& strand) : timer_{strand} {}

    // The first time comes at `when`, or a little later.
    void add(std::weak_ptr<reminded> who, std::chrono::nanoseconds when);
    // Nobody waits any more, or is to be told: all of them are asked once more, and forgotten.
    void end();

private:
    struct entry {
        std::chrono::nanoseconds when;
        std::weak_ptr<reminded> who;
    };

    void wait(std::chrono::nanoseconds until);
    void due();

    zk::timer timer_;
    std::chrono::nanoseconds set_for_ = std::chrono::nanoseconds::max();
    std::vector<entry> entries_;
};

} // namespace colock::detail
