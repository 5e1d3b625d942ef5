#include <colock/multi_lock.hpp>
#include <colock/recursive_mutex.hpp>
#include <colock/shared_mutex.hpp>

#include "lock/lock_path.hpp"
#include "lock/option_faults.hpp"
#include "recipes/multi_lock/lock_list.hpp"
#include "recipes/multi_lock/lock_target.hpp"

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
    acquire_request what{access::behind(lock), m, std::move(owner)};
    what.serve_body(); // the multi_lock refuses what is for bodies only
    return std::make_shared<lock_target>(lock_target{
        what.core(), lock.path(), lock.options(), [what](acquisition a, deadline until) {
            what.start(acquiring<unique_lock>::make(std::move(a)), until);
        }});
}

} // namespace

} // namespace detail

lock_entry::lock_entry(const detail::exclusive_lock& lock) : face_of{detail::target_of(lock)}
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

multi_lock::multi_lock(const std::vector<lock_entry>& locks)
    : lock_functions{std::make_shared<detail::lock_list>(locks)}
{
}

multi_lock::executor_type multi_lock::get_executor() const noexcept
{
    return detail::executor_of(behind()->core);
}

std::size_t multi_lock::size() const noexcept
{
    return behind()->in_order.size();
}

namespace detail {

const asio::any_io_executor& lockables::get_executor() const noexcept
{
    return executor_of(of_->core);
}

namespace {

// The lock that allows the shortest time; null when none limits it.
const lock_target* shortest_hold(const lock_list& locks)
{
    const lock_target* found = nullptr;
    for (const auto& each : locks.in_order) {
        const auto& limit = each.target->options.max_hold;
        if (limit && (found == nullptr || *limit < *found->options.max_hold)) {
            found = each.target.get();
        }
    }
    return found;
}

} // namespace

std::chrono::milliseconds lockables::body_grace() const noexcept
{
    auto shortest = lock_options{}.body_grace;
    for (bool first = true; const auto& each : of_->in_order) {
        const auto grace = each.target->options.body_grace;
        shortest = std::exchange(first, false) ? grace : std::min(shortest, grace);
    }
    return shortest;
}

std::optional<std::chrono::milliseconds> lockables::max_hold() const noexcept
{
    const auto* const shortest = shortest_hold(*of_);
    return shortest != nullptr ? shortest->options.max_hold : std::nullopt;
}

bool lockables::is_cancelled_when_revoked(std::size_t i) const noexcept
{
    const auto named = std::ranges::find(of_->in_order, i, &lock_list::place::number);
    return named->target->options.cancel_when_revoked;
}

const std::shared_ptr<client_core>& lockables::core() const noexcept
{
    return of_->core;
}

void lockables::start(operation_ptr<error_code, multi_guard> op,
                      std::shared_ptr<const lock_list> locks, deadline until, bool for_body)
{
    if (locks->observed) {
        locks->observed->to.begin(op->observed, *locks->observed, false,
                                  until != never && until <= std::chrono::steady_clock::now());
    }
    const auto* const limited = for_body || locks->fault ? nullptr : shortest_hold(*locks);
    const auto refused = limited != nullptr ? fault_of_guard(limited->options) : fault{};
    if (const auto& error = locks->fault ? locks->fault : refused.error) {
        const auto& path = refused.error ? limited->path : locks->fault_path;
        const auto why = "multi_lock: " + path + (path.empty() ? "" : ": ") +
                         (refused.error ? refused.detail : error.message());
        if (locks->core) {
            locks->core->note_error(why);
        }
        op->explain(error, why);
        op.complete(error, multi_guard{});
        return;
    }
    const auto core = locks->core;
    core->dispatch([locks = std::move(locks), op = std::move(op),
                    until]() mutable { // the locks outlive the operation
        lock_together(std::move(op), std::move(locks), until);
    });
}

} // namespace detail

} // namespace colock
