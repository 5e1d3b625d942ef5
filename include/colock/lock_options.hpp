// How a lock behaves.
#ifndef COLOCK_LOCK_OPTIONS_HPP
#define COLOCK_LOCK_OPTIONS_HPP

#include <colock/layout.hpp>
#include <colock/node.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace colock {

/// Options of a lock. They belong to the path within a client: while one lock object uses a path, an
/// operation of a second one with other options completes with `errc::conflicting_use`.
///
/// GCC 12 destroys twice what an aggregate holds that is made within a `co_await` expression. There, give the
/// options, or the lock that has some, a name first.
struct lock_options {
    colock::layout layout = curator_layout();

    /// Access control of the lock's nodes; `client_options::acl` when empty.
    std::optional<access_control_list> acl = {};

    /// Data of the lock's nodes, for people who look at the queue; by default host and process.
    std::optional<std::string> owner_data = {};

    /// What a waiter does when its session expires: join the queue again at its end (true), or complete
    /// with `errc::session_expired`.
    bool rejoin_on_expiry = true;

    /// How long before the servers could grant the lock to somebody else its holder is told that it is
    /// lost, when they are not heard of: the time in which to stop. The lock is held for so much less
    /// when connections fail. Must be less than about two fifths of the session time-out, and is refused
    /// as `errc::invalid_option` otherwise; `client::last_error_detail` tells the limit.
    std::chrono::milliseconds lost_lead{0};

    /// How long a body of `async_with_lock` that was cancelled may go on before that is reported. It is
    /// waited for all the same.
    std::chrono::milliseconds body_grace = std::chrono::seconds{1};

    friend bool operator==(const lock_options&, const lock_options&) = default;
};

} // namespace colock

#endif
