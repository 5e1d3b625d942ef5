// How often a lock changes hands.
#pragma once

#include "look/look_at.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <string>

namespace colock::cli {

// How often a lock has changed hands within the last minute. A look sees the node of the holder; the numbers of the nodes
// tell how many holders there were between two looks.
class hands {
public:
    void seen(const queue_entry& holder, std::chrono::steady_clock::time_point now)
    {
        if (began_ == std::chrono::steady_clock::time_point{}) {
            began_ = now;
        } else if (holder.czxid != czxid_) {
            const auto more = holder.number - number_;
            changes_.push_back({now, more > 0 ? more : 1});
        }
        czxid_ = holder.czxid;
        number_ = holder.number;
        seen_ = now;
        while (!changes_.empty() && is_old(changes_.front(), now)) {
            changes_.pop_front();
        }
    }

    // A minute; empty until it was looked at for a second.
    [[nodiscard]] std::string a_minute(std::chrono::steady_clock::time_point now) const
    {
        const auto looked = std::min<std::chrono::steady_clock::duration>(now - began_, window);
        if (began_ == std::chrono::steady_clock::time_point{} || looked < std::chrono::seconds{1}) {
            return "-";
        }
        std::int64_t sum = 0;
        for (const auto& c : changes_) {
            sum += is_old(c, now) ? 0 : c.count; // nobody may have held it since
        }
        char text[32];
        std::snprintf(text, sizeof text, "%.1f",
                      static_cast<double>(sum) * 60 /
                          std::chrono::duration<double>(looked).count());
        return text;
    }

    // Whether nobody was seen within the last minute.
    [[nodiscard]] bool is_idle(std::chrono::steady_clock::time_point now) const
    {
        return now - seen_ > window;
    }

private:
    static constexpr auto window = std::chrono::minutes{1};
    struct change {
        std::chrono::steady_clock::time_point when;
        std::int64_t count = 0;
    };
    static bool is_old(const change& c, std::chrono::steady_clock::time_point now)
    {
        return now - c.when > window;
    }

    std::chrono::steady_clock::time_point began_{};
    std::chrono::steady_clock::time_point seen_{};
    std::int64_t czxid_ = 0;
    std::int64_t number_ = 0;
    std::deque<change> changes_;
};

} // namespace colock::cli
