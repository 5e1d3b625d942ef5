// The leader's knowledge of which sessions live, who serves them, and when they expire.
#pragma once

#include "status.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

namespace colock::simulated {

// Times are those of the leader's clock, in milliseconds. Sessions expire by ticks, rounded up: at the earliest a whole
// time-out after the last touch, at the latest a tick later.
class session_tracker {
public:
    using owner = std::uint64_t; // a connection from a follower, or the leader itself

    session_tracker(std::chrono::milliseconds tick, std::chrono::milliseconds now);

    void track(std::int64_t session, std::chrono::milliseconds timeout,
               std::chrono::milliseconds now);
    // False when there is no such session, or it is about to end.
    bool touch(std::int64_t session, std::chrono::milliseconds timeout,
               std::chrono::milliseconds now);
    void set_owner(std::int64_t session, owner who);
    // Whether this owner may write for the session. A session without an owner gets this one.
    [[nodiscard]] status check(std::int64_t session, owner who);
    void set_closing(std::int64_t session);
    void remove(std::int64_t session);

    // When there is something to do again.
    [[nodiscard]] std::chrono::milliseconds next() const noexcept { return next_; }
    // Those that have expired by now; they are closing from here on.
    [[nodiscard]] std::vector<std::int64_t> expire(std::chrono::milliseconds now);

private:
    struct entry {
        std::chrono::milliseconds expires{};
        owner who = 0;
        bool owned = false;
        bool closing = false;
    };

    [[nodiscard]] std::chrono::milliseconds round_up(std::chrono::milliseconds t) const noexcept;
    void update(std::int64_t session, entry& e, std::chrono::milliseconds expires);

    std::chrono::milliseconds tick_;
    std::chrono::milliseconds next_;
    std::unordered_map<std::int64_t, entry> sessions_;
    std::map<std::chrono::milliseconds, std::set<std::int64_t>> buckets_;
};

} // namespace colock::simulated
