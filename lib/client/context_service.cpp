#include "context_service.hpp"

#include "core.hpp"

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
    cores_.emplace(core.get(), core);
}

void context_service::remove(client_core& core) noexcept
{
    const std::lock_guard lock{mutex_};
    cores_.erase(&core);
}

void context_service::shutdown()
{
    std::vector<std::shared_ptr<client_core>> alive;
    {
        const std::lock_guard lock{mutex_};
        for (const auto& [address, core] : cores_) {
            if (auto held = core.lock()) {
                alive.push_back(std::move(held));
            }
        }
        cores_.clear();
    }
    for (const auto& core : alive) {
        core->context_gone();
    }
}

} // namespace colock::detail
