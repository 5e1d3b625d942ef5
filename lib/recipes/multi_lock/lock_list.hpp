// The locks of a multi_lock.
#pragma once

#include <colock/multi_lock.hpp>

#include "recipes/multi_lock/lock_target.hpp"
#include "session/core.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace colock::detail {

// Immutable.
class lock_list {
public:
    template <class Entries>
    explicit lock_list(const Entries& entries)
    {
        for (const lock_entry& each : entries) {
            in_order.push_back({access::behind(each), in_order.size()});
        }
        // The order of the absolute paths is the same: they begin with the same chroot. The order of equal paths does
        // not matter, because they are an error.
        std::ranges::sort(
            in_order, {}, [](const place& p) -> auto& { return p.target->path; });
        if (in_order.empty()) {
            fault = errc::nothing_to_lock;
            return;
        }
        core = in_order.front().target->core;
        if (auto* const to = core->telemetry()) {
            observed.emplace(observed_path{*to, {}, acquisition_kind::multi_lock});
        }
        const auto foreign = [&](const place& p) { return p.target->core != core; };
        const auto twice = std::ranges::adjacent_find(
            in_order, {}, [](const place& p) -> auto& { return p.target->path; });
        if (std::ranges::any_of(in_order, foreign)) {
            fault = errc::several_clients;
        } else if (twice != in_order.end()) {
            fault = errc::path_twice;
            fault_path = twice->target->path;
        }
    }

    struct place {
        std::shared_ptr<const lock_target> target;
        std::size_t number; // in the order of the user
    };
    std::vector<place> in_order; // the canonical one
    std::shared_ptr<client_core> core;
    std::optional<observed_path> observed; // empty when nobody observes
    error_code fault;
    std::string fault_path;
};

// On the strand. Completes with the guard of all the locks of the list, in the order of the user; or without one.
void lock_together(operation_ptr<error_code, multi_guard> op, std::shared_ptr<const lock_list> list,
                   deadline until);

} // namespace colock::detail
