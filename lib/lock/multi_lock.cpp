#include <colock/detail/initiate_lock.hpp>
#include <colock/multi_lock.hpp>
#include <colock/mutex.hpp>
#include <colock/recursive_mutex.hpp>
#include <colock/semaphore.hpp>
#include <colock/shared_mutex.hpp>
#include <colock/single_node_mutex.hpp>

#include "lock/local/lock_path.hpp"
#include "lock/multi/lock_list.hpp"
#include "lock/multi/lock_target.hpp"
#include "lock/multi/multi_operation.hpp"

#include <memory>
#include <utility>

namespace colock {

namespace detail {

namespace {

// A lock with a queue: Locker is what its own operations start with.
template <class Locker>
class queue_target final : public lock_target {
public:
    queue_target(std::shared_ptr<const lock_path> path, Locker locker)
        : path_{std::move(path)}, locker_{std::move(locker)}
    {
    }

    [[nodiscard]] const std::shared_ptr<client_core>& core() const noexcept override
    {
        return path_->core;
    }
    [[nodiscard]] const std::string& path() const noexcept override { return path_->path; }
    [[nodiscard]] bool rejoins_on_expiry() const noexcept override
    {
        return path_->options.rejoin_on_expiry;
    }
    void start(acquisition a, deadline until) const override
    {
        locker_.start(acquiring<unique_lock>::make(std::move(a)), until);
    }

private:
    const std::shared_ptr<const lock_path> path_;
    const Locker locker_;
};

template <class Locker>
std::shared_ptr<const lock_target> target_of(std::shared_ptr<const lock_path> path, Locker locker)
{
    return std::make_shared<queue_target<Locker>>(std::move(path), std::move(locker));
}

} // namespace

} // namespace detail

lock_entry::lock_entry(const mutex& m)
    : target_{detail::target_of(m.path_, detail::path_to_lock{m.path_})}
{
}

lock_entry::lock_entry(const shared_mutex& m)
    : target_{detail::target_of(m.path_, detail::path_to_lock{m.path_})}
{
}

lock_entry::lock_entry(const shared_mutex& m, share_lock_t)
    : target_{detail::target_of(m.path_, detail::path_to_share{m.path_})}
{
}

lock_entry::lock_entry(const semaphore& s, std::int64_t count) : target_{s.target(count)}
{
}

lock_entry::lock_entry(const recursive_mutex& m, lock_owner& owner)
    : target_{detail::target_of(m.path_, detail::path_to_lock_again{m.path_, owner.state_})}
{
}

lock_entry::lock_entry(const single_node_mutex& m)
    : target_{detail::target_of(m.path_, detail::path_to_lock{m.path_})}
{
}

multi_lock::multi_lock(const std::vector<lock_entry>& locks)
    : locks_{std::make_shared<detail::lock_list>(locks)}
{
}

multi_lock::executor_type multi_lock::get_executor() const noexcept
{
    return detail::executor_of(locks_->core);
}

std::size_t multi_lock::size() const noexcept
{
    return locks_->in_order.size();
}

const std::shared_ptr<detail::client_core>& multi_lock::core() const noexcept
{
    return locks_->core;
}

void multi_lock::start_lock(op o, list l, detail::deadline until)
{
    if (const auto& fault = l->fault) {
        if (l->core) {
            l->core->note_error("multi_lock: " + l->fault_path +
                                (l->fault_path.empty() ? "" : ": ") + fault.message());
        }
        o.complete(fault, multi_guard{});
        return;
    }
    const auto core = l->core;
    core->dispatch([o = std::move(o), l = std::move(l), until]() mutable {
        detail::lock_together(std::move(o), std::move(l), until);
    });
}

} // namespace colock
