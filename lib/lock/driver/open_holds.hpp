// The holds of one node that the client's observer is to hear the end of.
#pragma once

#include "client/telemetry.hpp"

#include <cstdint>
#include <unordered_map>
#include <utility>

namespace colock::detail {

// By turn. Most nodes have one user at a time, who costs no memory.
class open_holds {
public:
    void add(std::uint64_t turn, const observed_hold& h)
    {
        if (one_.id == 0) {
            one_ = h;
            turn_ = turn;
        } else {
            others_.emplace(turn, h);
        }
    }

    // Without an id when there is none.
    [[nodiscard]] observed_hold take(std::uint64_t turn)
    {
        if (one_.id != 0 && turn_ == turn) {
            const auto found = one_;
            one_.id = 0;
            return found;
        }
        const auto at = others_.find(turn);
        if (at == others_.end()) {
            return {};
        }
        const auto found = at->second;
        others_.erase(at);
        return found;
    }

    template <class Visit>
    void take_all(Visit&& visit)
    {
        if (const auto one = std::exchange(one_, {}); one.id != 0) {
            visit(one);
        }
        for (const auto& [turn, each] : std::exchange(others_, {})) {
            visit(each);
        }
    }

private:
    observed_hold one_{};
    std::uint64_t turn_ = 0;
    std::unordered_map<std::uint64_t, observed_hold> others_;
};

} // namespace colock::detail
