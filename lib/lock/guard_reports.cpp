// Reports lost guards, and the bodies that run under them.
#include <colock/detail/access.hpp>
#include <colock/detail/body_reports.hpp>
#include <colock/detail/operation.hpp>
#include <colock/multi_guard.hpp>
#include <colock/permit.hpp>
#include <colock/unique_lock.hpp>

#include "session/core.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace colock::detail {

namespace {

// Of the part that is lost; or empty.
std::string name_of_lost(const multi_guard& held)
{
    for (std::size_t i = 0; i != held.size(); ++i) {
        if (held[i].state() == lock_state::lost) {
            return body_reports::name_of(held[i]);
        }
        if (held.permits(i).state() == lock_state::lost) {
            return body_reports::name_of(held.permits(i));
        }
    }
    return {};
}

template <class Guard>
std::string name_of_lost(const Guard& held)
{
    return body_reports::name_of(held);
}

template <class Guard>
void refuse(error_code& ec, Guard& held, diagnostics* told)
{
    const auto why = ec ? error_code{} : held.loss_reason();
    if (!why || why == errc::not_held) {
        return;
    }
    ec = why;
    if (told != nullptr) {
        const auto name = name_of_lost(held);
        told->assign(printable((name.empty() ? "multi_lock" : name) +
                                   ": granted, and lost before the handler ran: " + why.message(),
                               longest_line));
    }
    held = access::make<Guard>(std::shared_ptr{access::core(held)}); // it has an executor
}

template <class Guard>
void count_cancelled(const Guard& held)
{
    access::core(held)->count.bodies.cancelled.fetch_add(1, std::memory_order_relaxed);
}

template <class Guard>
void report_overdue(const Guard& held, std::string what, std::chrono::milliseconds grace)
{
    const auto& core = access::core(held);
    core->count.bodies.overdue.fetch_add(1, std::memory_order_relaxed);
    core->dispatch([core, what = std::move(what), grace = grace.count()] {
        core->log(log_level::warning, what + ": its body goes on, " + std::to_string(grace) +
                                          " ms after it was cancelled");
    });
}

} // namespace

std::string body_reports::name_of(const held_lock& held)
{
    return "lock " + held.path();
}

std::string body_reports::name_of(const permit& held)
{
    return "semaphore " + held.path();
}

std::string body_reports::name_of(const multi_guard& held)
{
    std::string paths;
    for (std::size_t i = 0; i != held.size(); ++i) {
        const auto lock = held[i].path();
        paths += (i == 0 ? "" : ", ") + (lock.empty() ? held.permits(i).path() : lock);
    }
    return "multi_lock " + paths;
}

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
    report_overdue(held, name_of(held), grace);
}

void body_reports::overdue(const multi_guard& held, std::chrono::milliseconds grace)
{
    report_overdue(held, name_of(held), grace);
}

void body_reports::overdue(const permit& held, std::chrono::milliseconds grace)
{
    report_overdue(held, name_of(held), grace);
}

std::string body_reports::loss_words(const held_lock& held, const error_code& why)
{
    return words_about(name_of(held), why);
}

std::string body_reports::loss_words(const permit& held, const error_code& why)
{
    return words_about(name_of(held), why);
}

std::string body_reports::loss_words(const multi_guard& held, const error_code& why)
{
    const auto name = name_of_lost(held); // those that were held may have told nothing yet
    return name.empty() ? why.message() : words_about(name, why);
}

void refuse_lost(error_code& ec, unique_lock& held, diagnostics* told)
{
    refuse(ec, held, told);
}

void refuse_lost(error_code& ec, permit& held, diagnostics* told)
{
    refuse(ec, held, told);
}

void refuse_lost(error_code& ec, multi_guard& held, diagnostics* told)
{
    refuse(ec, held, told);
}

} // namespace colock::detail
