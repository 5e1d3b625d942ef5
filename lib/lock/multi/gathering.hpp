// Several locks in one: what they allow those files that take, watch and release them together.
#pragma once

#include <colock/detail/operation.hpp>
#include <colock/multi_guard.hpp>

#include "client/core.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace colock::detail {

// What the guards allow.
struct gathering {
    using part = multi_guard::part;

    static multi_guard guard(std::shared_ptr<client_core> core, std::vector<part> parts)
    {
        return {std::move(core), std::move(parts)};
    }

    static bool holds(const part& p) noexcept
    {
        const auto* lock = std::get_if<held_lock>(&p);
        return lock != nullptr ? lock->held_.member != nullptr
                               : std::get<permit>(p).held_ != nullptr;
    }

    static void release(operation_ptr<error_code> op, part p)
    {
        if (auto* lock = std::get_if<held_lock>(&p)) {
            const auto core = lock->core_;
            held_lock::start_unlock(core, std::move(op), std::move(*lock));
        } else {
            auto& permits = std::get<permit>(p);
            const auto core = permits.core_;
            permit::start_release(core, std::move(op), std::move(permits));
        }
    }

    // What a wait for its loss needs.
    static multi_guard::watched_part watched(const part& p)
    {
        if (const auto* lock = std::get_if<held_lock>(&p)) {
            return multi_guard::turn{lock->held_.member, lock->held_.turn};
        }
        const auto& permits = std::get<permit>(p);
        return multi_guard::leases{permits.held_, permits.nodes_.front()};
    }

    static void wait_lost(const std::shared_ptr<client_core>& core,
                          operation_ptr<error_code, error_code> op,
                          multi_guard::watched_part watched)
    {
        if (auto* turn = std::get_if<multi_guard::turn>(&watched)) {
            held_lock::start_wait_lost(core, std::move(op), std::move(turn->first), turn->second);
        } else {
            auto& leases = std::get<multi_guard::leases>(watched);
            permit::start_wait_lost(core, std::move(op), std::move(leases.first),
                                    std::move(leases.second));
        }
    }
};

} // namespace colock::detail
