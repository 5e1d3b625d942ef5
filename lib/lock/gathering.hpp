// Several locks in one: what they allow those files that take, watch and release them together.
#pragma once

#include <colock/detail/operation.hpp>
#include <colock/multi_guard.hpp>

#include "client/core.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace colock::detail {

// Why the first of several locks was lost. Any thread.
struct first_loss {
    std::atomic<int> why{0}; // an errc

    // The first reason stays.
    error_code conclude(const error_code& ec) noexcept
    {
        int seen = 0;
        if (why.compare_exchange_strong(seen, ec.value())) {
            seen = ec.value();
        }
        return static_cast<errc>(seen);
    }
};

// An operation on one of several locks. Whatever it comes to is told on the strand, and never inside the call that
// brought it about: what is told in this way is told in the order in which it happened there.
template <class... Results>
class part_operation final : public operation<Results...> {
public:
    using told = std::function<void(Results...)>;

    [[nodiscard]] static operation_ptr<Results...>
    make(std::shared_ptr<client_core> core, std::shared_ptr<cancel_link> link, told then)
    {
        return operation_ptr<Results...>{
            new part_operation{std::move(core), std::move(link), std::move(then)}};
    }

    void complete(Results&&... results) override
    {
        const auto core = std::move(core_);
        core->post([then = std::move(then_),
                    all = std::tuple<Results...>{std::move(results)...}]() mutable {
            std::apply([&](auto&... each) { then(std::move(each)...); }, all);
        });
        delete this;
    }
    void destroy() noexcept override { delete this; }

private:
    part_operation(std::shared_ptr<client_core>&& core, std::shared_ptr<cancel_link>&& link,
                   told&& then)
        : operation<Results...>{std::move(link)}, core_{std::move(core)}, then_{std::move(then)}
    {
    }
    ~part_operation() = default;

    std::shared_ptr<client_core> core_;
    told then_;
};

// What the guards allow.
struct gathering {
    static multi_guard guard(std::shared_ptr<client_core> core, std::vector<held_lock> locks)
    {
        return {std::move(core), std::move(locks)};
    }
    static bool holds(const held_lock& held) noexcept { return held.held_.member != nullptr; }
    static std::pair<std::shared_ptr<queue_member>, std::uint64_t> turn(const held_lock& held)
    {
        return {held.held_.member, held.held_.turn};
    }
    static void unlock(operation_ptr<error_code> op, held_lock held)
    {
        const auto core = held.core_;
        held_lock::start_unlock(core, std::move(op), std::move(held));
    }
    static void wait_lost(const std::shared_ptr<client_core>& core,
                          operation_ptr<error_code, error_code> op,
                          std::shared_ptr<queue_member> member, std::uint64_t turn)
    {
        held_lock::start_wait_lost(core, std::move(op), std::move(member), turn);
    }
};

} // namespace colock::detail
