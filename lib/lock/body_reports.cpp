#include <colock/detail/access.hpp>
#include <colock/detail/body_reports.hpp>
#include <colock/held_lock.hpp>
#include <colock/lock_options.hpp>

#include "client/core.hpp"

namespace colock::detail {

void body_reports::cancelled(const held_lock& held)
{
    access::core(held)->count.bodies_cancelled.fetch_add(1, std::memory_order_relaxed);
}

void body_reports::overdue(const held_lock& held, const lock_options& options)
{
    access::core(held)->count.bodies_overdue.fetch_add(1, std::memory_order_relaxed);
    access::core(held)->dispatch(
        [core = access::core(held), path = held.path(), grace = options.body_grace.count()] {
            core->log(log_level::warning, "lock " + path + ": its body goes on, " +
                                              std::to_string(grace) + " ms after it was cancelled");
        });
}

} // namespace colock::detail
