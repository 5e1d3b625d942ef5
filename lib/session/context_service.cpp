#include "session/context_service.hpp"

#include "session/core.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace colock::detail {

boost::asio::execution_context::id context_service::id;

context_service::context_service(boost::asio::execution_context& context)
    : boost::asio::execution_context::service{context}
{
}

void context_service::add(const std::shared_ptr<client_core>& core)
{
    const std::lock_guard lock{mutex_};
    cores_[core.get()] = {++added_, core};
}

void context_service::remove(client_core& core) noexcept
{
    const std::lock_guard lock{mutex_};
    cores_.erase(&core);
}

void context_service::shutdown()
{
    std::vector<std::pair<std::uint64_t, std::shared_ptr<client_core>>> alive;
    {
        const std::lock_guard lock{mutex_};
        for (const auto& [address, each] : cores_) {
            if (auto held = each.core.lock()) {
                alive.emplace_back(each.number, std::move(held));
            }
        }
        cores_.clear();
    }
    // Not in the order of their addresses, which is another one in each run.
    std::ranges::sort(alive);
    for (auto& [number, core] : alive) {
        if (core->is_inherited()) {
            zk::keep_to_the_end(std::move(core));
        } else {
            core->context_gone();
        }
    }
}

} // namespace colock::detail
