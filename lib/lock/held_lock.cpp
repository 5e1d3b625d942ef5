#include <colock/held_lock.hpp>
#include <colock/recursive_lock.hpp>

#include "lock/local_queue.hpp"
#include "lock/recursion.hpp"

#include <boost/system/system_error.hpp>

namespace colock {

namespace {

std::string subject_of(const detail::contender_driver& driver)
{
    return "lock " + driver.path();
}

} // namespace

held_lock& held_lock::operator=(held_lock&& other) noexcept
{
    held_lock taken{std::move(other)};
    swap(taken);
    return *this;
}

std::size_t recursive_lock::depth() const noexcept
{
    return held_.level && !detail::is_inherited(core_) ? held_.level->recursion->depth() : 0;
}

void held_lock::release_in_background() noexcept
{
    if (held_.driver->core().is_inherited()) {
        zk::keep_to_the_end(std::move(held_.driver)); // its owner's mutex may be locked
        return;
    }
    if (held_.level) {
        const auto left = detail::recursion::leave(std::exchange(held_.level, nullptr));
        if (!left.last) {
            held_.driver.reset();
            return;
        }
    }
    auto& queue = detail::local_queue::of(*held_.driver);
    queue.release(std::move(core_), std::move(held_));
}

held_lock::operator bool() const noexcept
{
    return held_.driver && !held_.driver->lost();
}

lock_state held_lock::state() const noexcept
{
    return held_.driver ? held_.driver->loss().state() : lock_state::not_held;
}

error_code held_lock::loss_reason() const noexcept
{
    return held_.driver ? held_.driver->lost() : error_code{errc::not_held};
}

std::chrono::steady_clock::time_point held_lock::safe_until() const noexcept
{
    return held_.driver ? held_.driver->loss().safe_until()
                        : std::chrono::steady_clock::time_point::min();
}

std::chrono::steady_clock::duration held_lock::remaining() const noexcept
{
    return held_.driver ? held_.driver->loss().remaining() : std::chrono::steady_clock::duration{};
}

fencing_token held_lock::token() const noexcept
{
    return held_.driver ? fencing_token{held_.driver->czxid(), held_.turn} : fencing_token{};
}

std::string held_lock::path() const
{
    return held_.driver ? held_.driver->path() : std::string{};
}

std::string held_lock::node() const
{
    return held_.driver ? held_.driver->node() : std::string{};
}

std::vector<transaction_op> held_lock::guarded(std::vector<transaction_op> ops) const
{
    if (!held_.driver) {
        throw boost::system::system_error{errc::not_held, "guarded"};
    }
    if (!held_.driver->config().kind.has_queue) {
        throw boost::system::system_error{errc::cannot_guard, "guarded"};
    }
    ops.insert(ops.begin(), check_op(held_.driver->node()));
    return ops;
}

held_lock::executor_type held_lock::get_executor() const noexcept
{
    return detail::executor_of(core_);
}

void held_lock::start_wait_lost(const std::shared_ptr<detail::client_core>& core,
                                detail::operation_ptr<error_code, error_code> op,
                                std::shared_ptr<detail::contender_driver> driver,
                                std::uint64_t turn)
{
    if (!driver) {
        op.complete(errc::not_held, {});
        return;
    }
    op->name([&] { return subject_of(*driver); });
    core->dispatch([op = std::move(op), driver = std::move(driver), turn]() mutable {
        detail::local_queue::of(*driver).wait_lost(std::move(op), *driver, turn);
    });
}

void held_lock::start_wait_revoked(const std::shared_ptr<detail::client_core>& core,
                                   detail::operation_ptr<error_code> op,
                                   std::shared_ptr<detail::contender_driver> driver,
                                   std::uint64_t turn)
{
    if (!driver) {
        op.complete(errc::not_held);
        return;
    }
    op->name([&] { return subject_of(*driver); });
    core->dispatch([op = std::move(op), driver = std::move(driver), turn]() mutable {
        detail::local_queue::of(*driver).wait_revoked(std::move(op), *driver, turn);
    });
}

void held_lock::start_release(const std::shared_ptr<detail::client_core>&,
                              detail::operation_ptr<error_code> op, held_lock held)
{
    if (!held.held_.driver) {
        op.complete(errc::not_held);
        return;
    }
    if (held.held_.level) {
        const auto left = detail::recursion::leave(std::exchange(held.held_.level, nullptr));
        if (!left.last) {
            const auto why = held.held_.driver->lost();
            const auto driver = std::exchange(held.held_.driver, nullptr);
            op->explain(why, [&] { return detail::words_about(subject_of(*driver), why); });
            op.complete(left.in_order ? why : errc::unlock_out_of_order);
            return;
        }
    }
    auto& queue = detail::local_queue::of(*held.held_.driver);
    queue.unlock(std::move(op), std::move(held.held_));
}

} // namespace colock
