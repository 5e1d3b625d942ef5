// The holds of one node that the client's observer is to hear the end of.
#pragma once

#include "report/telemetry.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace colock::detail {

// By turn. Most nodes have one user at a time.
class open_holds {
public:
    void add(std::uint64_t turn, const observed_hold& h) { all_.emplace_back(turn, h); }

    // Without an id when there is none.
    [[nodiscard]] observed_hold take(std::uint64_t turn) noexcept
    {
        const auto at = std::ranges::find(all_, turn, &hold::first);
        if (at == all_.end()) {
            return {};
        }
        const auto found = at->second;
        *at = all_.back();
        all_.pop_back();
        return found;
    }

    template <class Visit>
    void take_all(Visit&& visit)
    {
        for (const auto& [turn, each] : std::exchange(all_, {})) {
            visit(each);
        }
    }

private:
    using hold = std::pair<std::uint64_t, observed_hold>;
    std::vector<hold> all_;
};

} // namespace colock::detail
