// What async_with_lock tells the log and the counters of its client.
#ifndef COLOCK_DETAIL_BODY_REPORTS_HPP
#define COLOCK_DETAIL_BODY_REPORTS_HPP

#include <colock/detail/config.hpp>
#include <colock/fwd.hpp>

namespace colock::detail {

// Any thread.
struct COLOCK_DECL body_reports {
    static void cancelled(const held_lock& held);
    static void overdue(const held_lock& held, const lock_options& options);
};

} // namespace colock::detail

#endif
