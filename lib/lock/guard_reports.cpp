// Reports lost guards, and the bodies that run under them.
#include <colock/detail/access.hpp>
#include <colock/detail/body_reports.hpp>
#include <colock/detail/operation.hpp>
#include <colock/multi_guard.hpp>
#include <colock/permit.hpp>
#include <colock/unique_lock.hpp>

#include "session/core.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/experimental/channel_error.hpp>
#include <boost/asio/multiple_exceptions.hpp>
#include <boost/system/system_error.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace colock::detail {

namespace {

template <class Guard>
void take_back(error_code& ec, Guard& held, diagnostics* told)
{
    const auto why = ec ? error_code{} : held.loss_reason();
    if (!why || why == errc::not_held) {
        return;
    }
    ec = why;
    if (told != nullptr) {
        const auto name = body_reports::name_of_lost(held);
        told->assign(printable((name.empty() ? "multi_lock" : name) +
                                   ": granted, and lost before the handler ran: " + why.message(),
                               longest_line));
    }
    held = access::make<Guard>(std::shared_ptr{access::core(held)}); // it has an executor
}

} // namespace

bool comes_of_cancellation(const std::exception_ptr& e) noexcept
{
    try {
        std::rethrow_exception(e);
    } catch (const boost::system::system_error& known) {
        return known.code() == asio::error::operation_aborted ||
               known.code() == asio::experimental::error::channel_cancelled;
    } catch (const asio::multiple_exceptions& several) { // it keeps the first one alone
        return several.first_exception() && comes_of_cancellation(several.first_exception());
    } catch (...) {
        return false;
    }
}

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

std::string body_reports::name_of_lost(const multi_guard& held)
{
    for (std::size_t i = 0; i != held.size(); ++i) {
        if (held[i].state() == lock_state::lost) {
            return name_of(held[i]);
        }
        if (held.permits(i).state() == lock_state::lost) {
            return name_of(held.permits(i));
        }
    }
    return {};
}

void body_reports::cancelled(const std::shared_ptr<client_core>& core)
{
    core->count.bodies.cancelled.fetch_add(1, std::memory_order_relaxed);
}

void body_reports::overdue(const std::shared_ptr<client_core>& core, std::string what,
                           std::chrono::milliseconds grace)
{
    core->count.bodies.overdue.fetch_add(1, std::memory_order_relaxed);
    core->dispatch([core, what = std::move(what), grace = grace.count()] {
        core->log(log_level::warning, what + ": its body goes on, " + std::to_string(grace) +
                                          " ms after it was cancelled");
    });
}

void refuse_lost(error_code& ec, unique_lock& held, diagnostics* told)
{
    take_back(ec, held, told);
}

void refuse_lost(error_code& ec, permit& held, diagnostics* told)
{
    take_back(ec, held, told);
}

void refuse_lost(error_code& ec, multi_guard& held, diagnostics* told)
{
    take_back(ec, held, told);
}

} // namespace colock::detail
