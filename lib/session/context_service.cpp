#include "session/context_service.hpp"

#include "session/core.hpp"

namespace colock::detail {

boost::asio::execution_context::id context_service::id;

context_service::context_service(boost::asio::execution_context& context)
    : boost::asio::execution_context::service{context}
{
}

void context_service::add(const std::shared_ptr<client_core>& core)
{
    const std::lock_guard lock{mutex_};
    cores_.emplace_back(core.get(), core);
}

void context_service::remove(client_core& core) noexcept
{
    const std::lock_guard lock{mutex_};
    std::erase_if(cores_, [&](const auto& each) { return each.first == &core; });
}

void context_service::shutdown()
{
    std::vector<std::shared_ptr<client_core>> alive;
    {
        const std::lock_guard lock{mutex_};
        for (const auto& [address, each] : cores_) {
            if (auto held = each.lock()) {
                alive.push_back(std::move(held));
            }
        }
        cores_.clear();
    }
    for (auto& core : alive) {
        if (core->is_inherited()) {
            zk::keep_to_the_end(std::move(core));
        } else {
            core->context_gone();
        }
    }
}

} // namespace colock::detail
