// The reports of async_with_lock to the log and the counters of its client.
#ifndef COLOCK_DETAIL_BODY_REPORTS_HPP
#define COLOCK_DETAIL_BODY_REPORTS_HPP

#include <colock/detail/config.hpp>
#include <colock/error.hpp>
#include <colock/fwd.hpp>

#include <chrono>
#include <string>

namespace colock::detail {

// Any thread. For each kind of guard.
struct COLOCK_DECL body_reports {
    static void cancelled(const held_lock& held);
    static void cancelled(const multi_guard& held);
    static void cancelled(const permit& held);
    static void overdue(const held_lock& held, std::chrono::milliseconds grace);
    static void overdue(const multi_guard& held, std::chrono::milliseconds grace);
    static void overdue(const permit& held, std::chrono::milliseconds grace);
    // "lock /path", of all of them.
    [[nodiscard]] static std::string name_of(const held_lock& held);
    [[nodiscard]] static std::string name_of(const multi_guard& held);
    [[nodiscard]] static std::string name_of(const permit& held);
    // "lock /path: the session expired ...", of the one that is lost.
    [[nodiscard]] static std::string loss_words(const held_lock& held, const error_code& why);
    [[nodiscard]] static std::string loss_words(const multi_guard& held, const error_code& why);
    [[nodiscard]] static std::string loss_words(const permit& held, const error_code& why);
};

} // namespace colock::detail

#endif
