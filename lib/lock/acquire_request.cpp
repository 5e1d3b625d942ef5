// How an acquisition begins: of a lock, of a share in it, by an owner that may hold it already.
#include <colock/detail/initiate_lock.hpp>

#include "lock/lock_path.hpp"
#include "lock/option_faults.hpp"
#include "lock/recursion.hpp"
#include "queue/no_lock.hpp"
#include "session/core.hpp"

#include <mutex>
#include <utility>

namespace colock::detail {

namespace {

// Stands for the owner's operation in the queue: its grant is the first of a recursion.
class first_of_recursion final : public operation<error_code, unique_lock> {
public:
    first_of_recursion(operation_ptr<error_code, unique_lock> op, std::shared_ptr<recursion> n)
        : operation{op.cancellation(), op->told()}, op_{std::move(op)}, recursion_{std::move(n)}
    {
        observed.part_of = op_->observed.part_of;
    }

    void complete(error_code&& ec, unique_lock&& held) override
    {
        auto op = std::move(op_);
        auto n = std::move(recursion_);
        delete this;
        if (access::held(held).driver) {
            recursion::begin(n, access::held(held));
        }
        n.reset(); // the handler may run, and lock again, before this returns
        op.complete(ec, std::move(held));
    }
    void destroy() noexcept override { delete this; }

private:
    ~first_of_recursion() = default;

    operation_ptr<error_code, unique_lock> op_;
    std::shared_ptr<recursion> recursion_;
};

} // namespace

void acquire_request::start_for_owner(operation_ptr<error_code, unique_lock> op,
                                      deadline until) const
{
    recursion::entry inner;
    std::shared_ptr<recursion> added;
    {
        const std::lock_guard lock{owner_->mutex};
        if (const auto found = owner_->find(*path_)) {
            inner = recursion::enter(found);
        }
        if (!inner.held.driver && !inner.refused) {
            added = owner_->add(*path_);
        }
    }
    if (added) {
        path_->lock(operation_ptr<error_code, unique_lock>{new first_of_recursion{
                        std::move(op), std::move(added)}},
                    until);
    } else {
        op->explain(inner.refused,
                    [&] { return words_about("lock " + path_->path(), inner.refused); });
        op.complete(inner.refused, access::make<unique_lock>(path_->core, std::move(inner.held)));
    }
}

const asio::any_io_executor& acquire_request::executor() const noexcept
{
    return path_->core->executor();
}

const std::shared_ptr<client_core>& acquire_request::core() const noexcept
{
    return path_->core;
}

const lock_options& acquire_request::options() const noexcept
{
    return path_->options();
}

void acquire_request::start(operation_ptr<error_code, unique_lock> op, deadline until) const
{
    if (path_->core->is_inherited()) {
        op.complete(errc::forked, no_lock(path_->core));
    } else if (options().max_hold && !for_body_) {
        path_->turn_away(std::move(op), fault_of_guard(options()), mode_ == mode::shared);
    } else if (owner_) {
        start_for_owner(std::move(op), until);
    } else if (mode_ == mode::shared) {
        path_->lock_shared(std::move(op), until);
    } else {
        path_->lock(std::move(op), until);
    }
}

void acquire_request::downgrade(operation_ptr<error_code, unique_lock> op, unique_lock from) const
{
    if (path_->core->is_inherited()) {
        op.complete(errc::forked, no_lock(path_->core));
    } else {
        path_->downgrade(std::move(op), std::move(from));
    }
}

} // namespace colock::detail
