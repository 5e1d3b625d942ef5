// Acquisition by an owner, who may hold the lock already.
#include <colock/detail/initiate_lock.hpp>

#include "client/core.hpp"
#include "lock/local/lock_path.hpp"
#include "lock/local/recursion.hpp"

#include <mutex>
#include <utility>

namespace colock::detail {

namespace {

// Stands for the owner's operation in the queue: its grant is the first of a recursion.
class first_of_recursion final : public operation<error_code, unique_lock> {
public:
    first_of_recursion(operation_ptr<error_code, unique_lock> op, std::shared_ptr<recursion> n)
        : operation{op.cancellation()}, op_{std::move(op)}, recursion_{std::move(n)}
    {
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
        op.complete(inner.refused, access::make<unique_lock>(path_->core, std::move(inner.held)));
    }
}

} // namespace colock::detail
