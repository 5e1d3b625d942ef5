// Which failed attempts to connect have a line in the log. Sans-io.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace colock::protocol::session {

// A client makes up to ten attempts a second, for as long as an outage lasts. A failure has a line at first, and when it
// repeats ever more seldom: after ten seconds, after twenty more, and at most every ten minutes.
class failure_lines {
public:
    using time_point = std::chrono::nanoseconds; // of a clock that does not go back

    // The line for a failure; "" when it has none now.
    [[nodiscard]] std::string line(const std::string& failure, time_point now)
    {
        const auto at = std::ranges::find(known_, failure, &known::text);
        if (at == known_.end()) {
            if (known_.size() == most) {
                known_.erase(known_.begin());
            }
            known_.push_back({failure, now + first_pause, first_pause});
            return failure;
        }
        if (now < at->next) {
            ++at->left_out;
            return {};
        }
        auto text = failure;
        if (at->left_out != 0) {
            text += ", as " + std::to_string(at->left_out) + " times since the last such line";
        }
        at->pause = std::min(2 * at->pause, longest_pause);
        at->next = now + at->pause;
        at->left_out = 0;
        return text;
    }

    void connected() noexcept { known_.clear(); }

private:
    struct known {
        std::string text;
        time_point next; // from when on it has a line again
        std::chrono::seconds pause;
        std::size_t left_out = 0;
    };

    static constexpr std::chrono::seconds first_pause{10}, longest_pause{600};
    static constexpr std::size_t most = 32; // servers, and what they do

    std::vector<known> known_; // the oldest one first
};

} // namespace colock::protocol::session
