#include <colock/permit.hpp>

#include "recipes/semaphore/permit_lease.hpp"

#include <boost/system/system_error.hpp>

#include <algorithm>

namespace colock {

permit::permit(std::shared_ptr<detail::client_core> core,
               std::shared_ptr<detail::permit_lease> held, std::vector<std::string> nodes) noexcept
    : core_{std::move(core)}, held_{std::move(held)}, nodes_{std::move(nodes)}
{
}

permit& permit::operator=(permit&& other) noexcept
{
    permit taken{std::move(other)};
    swap(taken);
    return *this;
}

permit::~permit()
{
    if (!nodes_.empty()) {
        held_->leave(std::move(nodes_));
    }
}

void permit::swap(permit& other) noexcept
{
    core_.swap(other.core_);
    held_.swap(other.held_);
    nodes_.swap(other.nodes_);
}

permit::operator bool() const noexcept
{
    return !nodes_.empty() && !held_->loss().lost();
}

lock_state permit::state() const noexcept
{
    return nodes_.empty() ? lock_state::not_held : held_->loss().state();
}

error_code permit::loss_reason() const noexcept
{
    return nodes_.empty() ? error_code{errc::not_held} : held_->loss().lost();
}

std::chrono::steady_clock::time_point permit::safe_until() const noexcept
{
    return nodes_.empty() ? std::chrono::steady_clock::time_point::min()
                          : held_->loss().safe_until();
}

std::chrono::steady_clock::duration permit::remaining() const noexcept
{
    return nodes_.empty() ? std::chrono::steady_clock::duration{} : held_->loss().remaining();
}

std::string permit::path() const
{
    return nodes_.empty() ? std::string{} : held_->path();
}

std::vector<transaction_op> permit::guarded(std::vector<transaction_op> ops) const
{
    if (nodes_.empty()) {
        throw boost::system::system_error{errc::not_held, "guarded"};
    }
    std::vector<transaction_op> all;
    for (const auto& each : nodes_) {
        all.push_back(check_op(each));
    }
    std::ranges::move(ops, std::back_inserter(all));
    return all;
}

permit permit::split(std::size_t count)
{
    const auto from = nodes_.end() - static_cast<std::ptrdiff_t>(std::min(count, nodes_.size()));
    permit off{core_, held_, {from, nodes_.end()}};
    nodes_.erase(from, nodes_.end());
    return off;
}

permit::executor_type permit::get_executor() const noexcept
{
    return detail::executor_of(core_);
}

void permit::start_wait_lost(const std::shared_ptr<detail::client_core>& core,
                             detail::operation_ptr<error_code, error_code> op,
                             std::shared_ptr<detail::permit_lease> held, std::string node)
{
    if (node.empty()) {
        op.complete(errc::not_held, {});
        return;
    }
    op->name([&] { return held->what(); });
    core->dispatch([op = std::move(op), held = std::move(held), node = std::move(node)]() mutable {
        held->wait_lost(std::move(op), node);
    });
}

void permit::start_release(const std::shared_ptr<detail::client_core>& core,
                           detail::operation_ptr<error_code> op, permit held)
{
    if (held.nodes_.empty()) {
        op.complete(errc::not_held);
        return;
    }
    op->name([&] { return held.held_->what(); });
    // Where the call cannot be made, they are released as `held` is destroyed.
    core->dispatch([op = std::move(op), held = std::move(held)]() mutable {
        held.held_->release(std::exchange(held.nodes_, {}), std::move(op));
    });
}

} // namespace colock
