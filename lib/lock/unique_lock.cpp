#include <colock/unique_lock.hpp>

#include "queue_member.hpp"

#include <boost/asio/system_executor.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>

namespace colock {

unique_lock::unique_lock(detached_lock&& held, std::adopt_lock_t) noexcept
    : core_{held.member_ ? held.member_->core() : nullptr}, member_{std::move(held.member_)}
{
}

unique_lock& unique_lock::operator=(unique_lock&& other) noexcept
{
    unique_lock taken{std::move(other)};
    swap(taken);
    return *this;
}

unique_lock::~unique_lock()
{
    if (member_) {
        core_->dispatch([member = std::move(member_)] { member->leave(); });
    }
}

unique_lock::operator bool() const noexcept
{
    return member_ && !member_->lost();
}

lock_state unique_lock::state() const noexcept
{
    if (!member_) {
        return lock_state::not_held;
    }
    if (member_->lost()) {
        return lock_state::lost;
    }
    return core_->connection_id() != 0 ? lock_state::held : lock_state::suspended;
}

error_code unique_lock::lost() const noexcept
{
    return member_ ? member_->lost() : error_code{errc::not_held};
}

std::chrono::steady_clock::time_point unique_lock::safe_until() const noexcept
{
    using clock = std::chrono::steady_clock;
    return member_ && !member_->lost() ? clock::now() + member_->remaining()
                                       : clock::time_point::min();
}

std::chrono::steady_clock::duration unique_lock::remaining() const noexcept
{
    return std::max<std::chrono::nanoseconds>(
        member_ && !member_->lost() ? member_->remaining() : std::chrono::nanoseconds{0},
        std::chrono::nanoseconds{0});
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

std::vector<transaction_op> unique_lock::guarded(std::vector<transaction_op> ops) const
{
    if (!member_) {
        throw boost::system::system_error{errc::not_held, "colock::unique_lock::guarded"};
    }
    ops.insert(ops.begin(), check_op(member_->node()));
    return ops;
}

unique_lock::executor_type unique_lock::get_executor() const noexcept
{
    return core_ ? core_->executor() : executor_type{asio::system_executor{}};
}

void unique_lock::start_wait_lost(const std::shared_ptr<detail::client_core>& core,
                                  detail::operation_ptr<error_code, error_code> op,
                                  std::shared_ptr<detail::queue_member> member)
{
    if (!member) {
        op.complete(errc::not_held, {});
        return;
    }
    core->dispatch([op = std::move(op), member = std::move(member)]() mutable {
        member->wait_lost(std::move(op));
    });
}

void unique_lock::start_unlock(const std::shared_ptr<detail::client_core>& core,
                               detail::operation_ptr<error_code> op, unique_lock held)
{
    if (!held.member_) {
        op.complete(errc::not_held);
        return;
    }
    core->dispatch([op = std::move(op), member = std::move(held.member_)]() mutable {
        member->unlock(std::move(op));
    });
}

} // namespace colock
