// The parts of a multi_guard: what is the same to do with a lock and with permits.
#pragma once

#include <colock/detail/access.hpp>
#include <colock/multi_guard.hpp>

#include "session/core.hpp"

#include <memory>
#include <utility>

namespace colock::detail {

inline bool holds(const guard_part& p) noexcept
{
    const auto* lock = std::get_if<held_lock>(&p);
    return lock != nullptr ? access::held(*lock).driver != nullptr
                           : access::held(std::get<permit>(p)) != nullptr;
}

inline void release_part(operation_ptr<error_code> op, guard_part p)
{
    std::visit(
        [&]<class Guard>(Guard& guard) {
            const auto core = access::core(guard);
            access::start_release<Guard>(core, std::move(op), std::move(guard));
        },
        p);
}

inline watched_part watch_part(const guard_part& p)
{
    if (const auto* lock = std::get_if<held_lock>(&p)) {
        return watched_turn{access::held(*lock).driver, access::held(*lock).turn};
    }
    const auto& permits = std::get<permit>(p);
    return watched_leases{access::held(permits), access::nodes(permits).front()};
}

inline void wait_for_loss(const std::shared_ptr<client_core>& core,
                          operation_ptr<error_code, error_code> op, watched_part watched)
{
    if (auto* of = std::get_if<watched_turn>(&watched)) {
        access::start_wait_lost<held_lock>(core, std::move(op), std::move(of->driver), of->turn);
    } else {
        auto& leases = std::get<watched_leases>(watched);
        access::start_wait_lost<permit>(core, std::move(op), std::move(leases.nodes),
                                        std::move(leases.one_of_them));
    }
}

} // namespace colock::detail
