// The reports of async_with_lock to the log and the counters of its client.
#ifndef COLOCK_DETAIL_BODY_REPORTS_HPP
#define COLOCK_DETAIL_BODY_REPORTS_HPP

#include <colock/detail/config.hpp>
#include <colock/fwd.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <string>

namespace colock::detail {

// Any thread.
struct COLOCK_DECL body_reports {
    static void cancelled(const std::shared_ptr<client_core>& core);
    // `what` is the name of the guard.
    static void overdue(const std::shared_ptr<client_core>& core, std::string what,
                        std::chrono::milliseconds grace);
    // "lock /path", of all of them.
    [[nodiscard]] static std::string name_of(const held_lock& held);
    [[nodiscard]] static std::string name_of(const multi_guard& held);
    [[nodiscard]] static std::string name_of(const permit& held);
    // Of the one that is lost; of several: empty while none of them says so.
    template <class Guard>
    [[nodiscard]] static std::string name_of_lost(const Guard& held)
    {
        return name_of(held);
    }
    [[nodiscard]] static std::string name_of_lost(const multi_guard& held);
};

// Whether a body that was cancelled has thrown this because of it. Of operations that it awaited together (a && b) Asio
// makes multiple_exceptions, and a channel has a code of its own.
[[nodiscard]] COLOCK_DECL bool comes_of_cancellation(const std::exception_ptr& e) noexcept;

} // namespace colock::detail

#endif
