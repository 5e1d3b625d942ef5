// How a lock behaves.
#ifndef COLOCK_LOCK_OPTIONS_HPP
#define COLOCK_LOCK_OPTIONS_HPP

#include <colock/layout.hpp>
#include <colock/node.hpp>

#include <optional>
#include <string>

namespace colock {

/// Options of a lock. They belong to the path within a client: while one lock object uses a path, an
/// operation of a second one with other options completes with `errc::conflicting_use`.
struct lock_options {
    colock::layout layout = curator_layout();

    /// Access control of the lock's nodes; `client_options::acl` when empty.
    std::optional<access_control_list> acl = {};

    /// Data of the lock's nodes, for people who look at the queue; by default host and process.
    std::optional<std::string> owner_data = {};

    /// What a waiter does when its session expires: join the queue again at its end (true), or complete
    /// with `errc::session_expired`.
    bool rejoin_on_expiry = true;

    friend bool operator==(const lock_options&, const lock_options&) = default;
};

} // namespace colock

#endif
