#include <colock/detail/initiate_lock.hpp>
#include <colock/multi_lock.hpp>
#include <colock/mutex.hpp>
#include <colock/recursive_mutex.hpp>
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

// A lock with one guard.
class queue_target final : public lock_target {
public:
    explicit queue_target(acquire_request what) : what_{std::move(what)} {}

    [[nodiscard]] const std::shared_ptr<client_core>& core() const noexcept override
    {
        return what_.core();
    }
    [[nodiscard]] const std::string& path() const noexcept override { return what_.path().path; }
    [[nodiscard]] bool rejoins_on_expiry() const noexcept override
    {
        return what_.options().rejoin_on_expiry;
    }
    void start(acquisition a, deadline until) const override
    {
        what_.start(acquiring<unique_lock>::make(std::move(a)), until);
    }

private:
    const acquire_request what_;
};

using mode = acquire_request::mode;

std::shared_ptr<const lock_target> target_of(const basic_lock& lock, mode m = mode::exclusive,
                                             std::shared_ptr<owner_state> owner = nullptr)
{
    return std::make_shared<queue_target>(
        acquire_request{access::behind(lock), m, std::move(owner)});
}

} // namespace

} // namespace detail

lock_entry::lock_entry(const mutex& m) : face_of{detail::target_of(m)}
{
}

lock_entry::lock_entry(const shared_mutex& m) : face_of{detail::target_of(m)}
{
}

lock_entry::lock_entry(const shared_mutex& m, share_lock_t)
    : face_of{detail::target_of(m, detail::mode::shared)}
{
}

lock_entry::lock_entry(const recursive_mutex& m, lock_owner& owner)
    : face_of{detail::target_of(m, detail::mode::exclusive, detail::access::behind(owner))}
{
}

lock_entry::lock_entry(const single_node_mutex& m) : face_of{detail::target_of(m)}
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
