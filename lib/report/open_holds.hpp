// The holds of one node that the client's observer is to hear the end of.
#pragma once

#include "report/telemetry.hpp"

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>

namespace colock::detail {

// By turn. Where nobody observes it is one pointer: there is one of these in each contender.
class open_holds {
public:
    void add(std::uint64_t turn, const observed_hold& h)
    {
        if (!all_) {
            all_ = std::make_unique<holds>();
        }
        if (all_->one.id == 0) {
            all_->one = h;
            all_->turn = turn;
        } else {
            all_->others.emplace(turn, h);
        }
    }

    // Without an id when there is none.
    [[nodiscard]] observed_hold take(std::uint64_t turn)
    {
        if (!all_) {
            return {};
        }
        if (all_->one.id != 0 && all_->turn == turn) {
            const auto found = all_->one;
            all_->one.id = 0;
            return found;
        }
        const auto at = all_->others.find(turn);
        if (at == all_->others.end()) {
            return {};
        }
        const auto found = at->second;
        all_->others.erase(at);
        return found;
    }

    template <class Visit>
    void take_all(Visit&& visit)
    {
        const auto all = std::exchange(all_, nullptr);
        if (!all) {
            return;
        }
        if (all->one.id != 0) {
            visit(all->one);
        }
        for (const auto& [turn, each] : all->others) {
            visit(each);
        }
    }

private:
    // Most nodes have one user at a time.
    struct holds {
        observed_hold one{};
        std::uint64_t turn = 0;
        std::unordered_map<std::uint64_t, observed_hold> others;
    };
    std::unique_ptr<holds> all_;
};

} // namespace colock::detail
