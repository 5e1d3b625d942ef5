// The place that a lock object refers to: a client, a path, options.
#pragma once

#include <colock/detail/deadline.hpp>
#include <colock/lock_options.hpp>
#include <colock/unique_lock.hpp>

#include "queue/lock_config.hpp"
#include "session/core.hpp"

#include <memory>
#include <string>

namespace colock::detail {

struct fault;

// Immutable.
class lock_path {
public:
    lock_path(std::shared_ptr<client_core> core, std::string path, lock_options options,
              const lock_kind& kind);

    // Any thread. Completes with an error if path or options are bad, or not those of others who use the
    // path.
    void lock(operation_ptr<error_code, unique_lock> op, deadline until) const;
    // The same, of a shared_mutex, together with others.
    void lock_shared(operation_ptr<error_code, unique_lock> op, deadline until) const;
    // From the exclusive lock to a shared one.
    void downgrade(operation_ptr<error_code, unique_lock> op, unique_lock from) const;

    // Completes it with an error, before anything has begun.
    void turn_away(operation_ptr<error_code, unique_lock> op, const fault& why, bool shared) const;

    const std::shared_ptr<client_core> core;
    [[nodiscard]] const std::string& path() const noexcept { return config_->path; }
    [[nodiscard]] const lock_options& options() const noexcept { return config_->options; }

private:
    [[nodiscard]] std::shared_ptr<local_queue> find_queue(fault& why) const;
    // The queue; or null, and the operation has completed.
    [[nodiscard]] std::shared_ptr<local_queue> queue_for(operation_ptr<error_code, unique_lock>& op,
                                                         bool shared) const;

    std::shared_ptr<local_queue> queue_; // null when there was a fault
    lock_config_ptr config_;             // that of the queue, where it is the same
};

} // namespace colock::detail
