#include <colock/held_lock.hpp>

#include "lock/local/local_queue.hpp"
#include "lock/local/recursion.hpp"

#include <boost/system/system_error.hpp>

#include <algorithm>

namespace colock {

held_lock& held_lock::operator=(held_lock&& other) noexcept
{
    held_lock taken{std::move(other)};
    swap(taken);
    return *this;
}

std::size_t held_lock::depth() const noexcept
{
    if (!held_.member) {
        return 0;
    }
    return held_.level ? held_.level->recursion->depth() : 1;
}

void held_lock::release_in_background() noexcept
{
    if (held_.level) {
        const auto left = detail::recursion::leave(std::exchange(held_.level, nullptr));
        if (!left.last) {
            held_.member.reset();
            return;
        }
    }
    auto& queue = *held_.member->queue();
    queue.release(std::move(core_), std::move(held_));
}

held_lock::operator bool() const noexcept
{
    return held_.member && !held_.member->lost();
}

lock_state held_lock::state() const noexcept
{
    if (!held_.member) {
        return lock_state::not_held;
    }
    if (held_.member->lost()) {
        return lock_state::lost;
    }
    return core_->connection_id() != 0 ? lock_state::held : lock_state::suspended;
}

error_code held_lock::lost() const noexcept
{
    return held_.member ? held_.member->lost() : error_code{errc::not_held};
}

std::chrono::steady_clock::time_point held_lock::safe_until() const noexcept
{
    using clock = std::chrono::steady_clock;
    return held_.member && !held_.member->lost()
               ? clock::now() + held_.member->remaining(detail::boot_clock::now())
               : clock::time_point::min();
}

std::chrono::steady_clock::duration held_lock::remaining() const noexcept
{
    return std::max<std::chrono::nanoseconds>(
        held_.member && !held_.member->lost() ? held_.member->remaining(detail::boot_clock::now())
                                              : std::chrono::nanoseconds{0},
        std::chrono::nanoseconds{0});
}

fencing_token held_lock::token() const noexcept
{
    return held_.member ? fencing_token{held_.member->czxid(), held_.turn} : fencing_token{};
}

std::string held_lock::path() const
{
    return held_.member ? held_.member->queue()->path() : std::string{};
}

std::string held_lock::node() const
{
    return held_.member ? held_.member->node() : std::string{};
}

std::vector<transaction_op> held_lock::guarded(std::vector<transaction_op> ops) const
{
    if (!held_.member) {
        throw boost::system::system_error{errc::not_held, "guarded"};
    }
    if (held_.member->queue()->kind() == detail::lock_kind::single_node_mutex) {
        throw boost::system::system_error{errc::cannot_guard, "guarded"};
    }
    ops.insert(ops.begin(), check_op(held_.member->node()));
    return ops;
}

held_lock::executor_type held_lock::get_executor() const noexcept
{
    return detail::executor_of(core_);
}

void held_lock::start_wait_lost(const std::shared_ptr<detail::client_core>& core,
                                detail::operation_ptr<error_code, error_code> op,
                                std::shared_ptr<detail::queue_member> member, std::uint64_t turn)
{
    if (!member) {
        op.complete(errc::not_held, {});
        return;
    }
    core->dispatch([op = std::move(op), member = std::move(member), turn]() mutable {
        member->wait_lost(std::move(op), turn);
    });
}

void held_lock::start_wait_revoked(const std::shared_ptr<detail::client_core>& core,
                                   detail::operation_ptr<error_code> op,
                                   std::shared_ptr<detail::queue_member> member, std::uint64_t turn)
{
    if (!member) {
        op.complete(errc::not_held);
        return;
    }
    core->dispatch([op = std::move(op), member = std::move(member), turn]() mutable {
        member->wait_revoked(std::move(op), turn);
    });
}

void held_lock::start_release(const std::shared_ptr<detail::client_core>&,
                              detail::operation_ptr<error_code> op, held_lock held)
{
    if (!held.held_.member) {
        op.complete(errc::not_held);
        return;
    }
    if (held.held_.level) {
        const auto left = detail::recursion::leave(std::exchange(held.held_.level, nullptr));
        if (!left.last) {
            const auto why = held.held_.member->lost();
            held.held_.member.reset();
            op.complete(left.in_order ? why : errc::unlock_out_of_order);
            return;
        }
    }
    auto& queue = *held.held_.member->queue();
    queue.unlock(std::move(op), std::move(held.held_));
}

} // namespace colock
