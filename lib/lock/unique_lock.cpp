#include <colock/unique_lock.hpp>

#include "queue_member.hpp"

#include <boost/asio/system_executor.hpp>

namespace colock {

unique_lock& unique_lock::operator=(unique_lock&& other) noexcept
{
    unique_lock taken{std::move(other)};
    swap(taken);
    return *this;
}

unique_lock::~unique_lock()
{
    if (member_) {
        const auto core = member_->core();
        core->dispatch([member = std::move(member_)] { member->leave(); });
    }
}

unique_lock::operator bool() const noexcept
{
    return member_ && !member_->lost();
}

error_code unique_lock::lost() const noexcept
{
    return member_ ? member_->lost() : error_code{errc::not_held};
}

fencing_token unique_lock::token() const noexcept
{
    return member_ ? member_->token() : fencing_token{};
}

std::string unique_lock::path() const
{
    return member_ ? member_->path() : std::string{};
}

std::string unique_lock::node() const
{
    return member_ ? member_->node() : std::string{};
}

unique_lock::executor_type unique_lock::get_executor() const noexcept
{
    return member_ ? member_->core()->executor() : executor_type{asio::system_executor{}};
}

std::shared_ptr<detail::client_core> unique_lock::core() const noexcept
{
    return member_ ? member_->core() : nullptr;
}

void unique_lock::start_unlock(const std::shared_ptr<detail::client_core>& core,
                               detail::operation_ptr<error_code> op, unique_lock held)
{
    if (!core) {
        op.complete(errc::not_held);
        return;
    }
    core->dispatch([op = std::move(op), member = std::move(held.member_)]() mutable {
        member->unlock(std::move(op));
    });
}

} // namespace colock
