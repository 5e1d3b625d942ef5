#include <colock/recursive_mutex.hpp>

#include "client/core.hpp"
#include "lock/local/lock_path.hpp"
#include "lock/local/nest.hpp"

namespace colock {

namespace detail {

// What unique_lock allows this file.
struct nesting {
    static unique_lock into(const std::shared_ptr<nest>& n, unique_lock first)
    {
        if (first.held_.member) {
            nest::begin(n, first.held_);
        }
        return first;
    }
    static unique_lock guard(std::shared_ptr<client_core> core, grant held)
    {
        return {std::move(core), std::move(held)};
    }
};

namespace {

// Stands for the owner's operation in the queue: its grant is the first of a nest.
class first_of_nest final : public operation<error_code, unique_lock> {
public:
    first_of_nest(operation_ptr<error_code, unique_lock> op, std::shared_ptr<nest> n)
        : operation{op.cancellation()}, op_{std::move(op)}, nest_{std::move(n)}
    {
    }

    void complete(error_code&& ec, unique_lock&& held) override
    {
        auto op = std::move(op_);
        auto n = std::move(nest_);
        delete this;
        auto first = nesting::into(n, std::move(held));
        n.reset(); // the handler may run, and lock again, before this returns
        op.complete(ec, std::move(first));
    }
    void destroy() noexcept override { delete this; }

private:
    ~first_of_nest() = default;

    operation_ptr<error_code, unique_lock> op_;
    std::shared_ptr<nest> nest_;
};

} // namespace

const asio::any_io_executor& path_to_lock_again::executor() const noexcept
{
    return path_->core->executor();
}

const std::shared_ptr<client_core>& path_to_lock_again::core() const noexcept
{
    return path_->core;
}

const lock_options& path_to_lock_again::options() const noexcept
{
    return path_->options;
}

void path_to_lock_again::start(operation_ptr<error_code, unique_lock> op, deadline until) const
{
    nest::entry inner;
    std::shared_ptr<nest> added;
    {
        const std::lock_guard lock{owner_->mutex};
        if (const auto found = owner_->find(*path_)) {
            inner = nest::enter(found);
        }
        if (!inner.held.member && !inner.refused) {
            added = owner_->add(*path_);
        }
    }
    if (added) {
        path_->lock(operation_ptr<error_code, unique_lock>{new first_of_nest{std::move(op),
                                                                             std::move(added)}},
                    until);
    } else {
        op.complete(inner.refused, nesting::guard(path_->core, std::move(inner.held)));
    }
}

} // namespace detail

lock_owner::lock_owner() : state_{std::make_shared<detail::owner_state>()}
{
}

recursive_mutex::recursive_mutex(client& c, std::string path)
    : recursive_mutex{c, std::move(path), lock_options{}}
{
}

recursive_mutex::recursive_mutex(client& c, std::string path, lock_options options)
    : path_{std::make_shared<detail::lock_path>(c.core_, std::move(path), std::move(options),
                                                detail::lock_kind::recursive_mutex)}
{
}

recursive_mutex::executor_type recursive_mutex::get_executor() const noexcept
{
    return path_->core->executor();
}

const std::string& recursive_mutex::path() const noexcept
{
    return path_->path;
}

const lock_options& recursive_mutex::options() const noexcept
{
    return path_->options;
}

} // namespace colock
