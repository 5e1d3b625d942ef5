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

#include <algorithm>
#include <memory>
#include <utility>

namespace colock {

namespace detail {

namespace {

using mode = acquire_request::mode;

// A lock with one guard.
std::shared_ptr<const lock_target> target_of(const basic_lock& lock, mode m = mode::exclusive,
                                             std::shared_ptr<owner_state> owner = nullptr)
{
    const acquire_request what{access::behind(lock), m, std::move(owner)};
    return std::make_shared<lock_target>(lock_target{
        what.core(), lock.path(), lock.options(), [what](acquisition a, deadline until) {
            what.start(acquiring<unique_lock>::make(std::move(a)), until);
        }});
}

} // namespace

} // namespace detail

lock_entry::lock_entry(const mutex& lock) : face_of{detail::target_of(lock)}
{
}

lock_entry::lock_entry(const shared_mutex& lock) : face_of{detail::target_of(lock)}
{
}

lock_entry::lock_entry(const shared_mutex& lock, for_reading_t)
    : face_of{detail::target_of(lock, detail::mode::shared)}
{
}

lock_entry::lock_entry(const recursive_mutex& lock, lock_owner& owner)
    : face_of{detail::target_of(lock, detail::mode::exclusive, detail::access::behind(owner))}
{
}

lock_entry::lock_entry(const single_node_mutex& lock) : face_of{detail::target_of(lock)}
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

std::chrono::milliseconds multi_lock::body_grace() const noexcept
{
    auto shortest = lock_options{}.body_grace;
    for (bool first = true; const auto& each : locks_->in_order) {
        const auto grace = each.target->options.body_grace;
        shortest = std::exchange(first, false) ? grace : std::min(shortest, grace);
    }
    return shortest;
}

bool multi_lock::is_cancelled_when_revoked(std::size_t i) const noexcept
{
    const auto named = std::ranges::find(locks_->in_order, i, &detail::lock_list::place::number);
    return named->target->options.cancel_when_revoked;
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
    if (l->observed) {
        l->observed->to.begin(o->observed, *l->observed, false,
                              until != detail::never && until <= std::chrono::steady_clock::now());
    }
    if (const auto& fault = l->fault) {
        const auto why =
            "multi_lock: " + l->fault_path + (l->fault_path.empty() ? "" : ": ") + fault.message();
        if (l->core) {
            l->core->note_error(why);
        }
        o->explain(fault, why);
        o.complete(fault, multi_guard{});
        return;
    }
    const auto core = l->core;
    core->dispatch([l = std::move(l), o = std::move(o), until]() mutable { // l outlives o
        detail::lock_together(std::move(o), std::move(l), until);
    });
}

} // namespace colock
