#include <colock/detail/access.hpp>
#include <colock/detail/body_reports.hpp>
#include <colock/multi_guard.hpp>

#include "client/core.hpp"

#include <cstddef>
#include <string>
#include <utility>

namespace colock::detail {

namespace {

template <class Guard>
void count_cancelled(const Guard& held)
{
    access::core(held)->count.bodies_cancelled.fetch_add(1, std::memory_order_relaxed);
}

template <class Guard>
void report_overdue(const Guard& held, std::string what, std::chrono::milliseconds grace)
{
    const auto& core = access::core(held);
    core->count.bodies_overdue.fetch_add(1, std::memory_order_relaxed);
    core->dispatch([core, what = std::move(what), grace = grace.count()] {
        core->log(log_level::warning, what + ": its body goes on, " + std::to_string(grace) +
                                          " ms after it was cancelled");
    });
}

} // namespace

void body_reports::cancelled(const held_lock& held)
{
    count_cancelled(held);
}

void body_reports::cancelled(const multi_guard& held)
{
    count_cancelled(held);
}

void body_reports::cancelled(const permit& held)
{
    count_cancelled(held);
}

void body_reports::overdue(const held_lock& held, std::chrono::milliseconds grace)
{
    report_overdue(held, "lock " + held.path(), grace);
}

void body_reports::overdue(const multi_guard& held, std::chrono::milliseconds grace)
{
    std::string paths;
    for (std::size_t i = 0; i != held.size(); ++i) {
        const auto lock = held[i].path();
        paths += (i == 0 ? "" : ", ") + (lock.empty() ? held.permits(i).path() : lock);
    }
    report_overdue(held, "multi_lock " + paths, grace);
}

void body_reports::overdue(const permit& held, std::chrono::milliseconds grace)
{
    report_overdue(held, "semaphore " + held.path(), grace);
}

} // namespace colock::detail
