// The state behind a semaphore object: its own, and that which the objects of one path and client share.
#pragma once

#include <colock/detail/deadline.hpp>
#include <colock/lock_options.hpp>
#include <colock/permit.hpp>

#include "client/core.hpp"
#include "lock/local/lock_path.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace colock::detail {

class semaphore_state;

// Immutable.
class semaphore_path {
public:
    semaphore_path(std::shared_ptr<client_core> core, std::string path,
                   std::optional<std::int64_t> permits, std::string counter, lock_options options);

    const std::shared_ptr<client_core> core;
    const std::string path;
    const std::optional<std::int64_t> permits; // or they are in `counter`
    const std::string counter;
    const lock_options options;

    // Tells the client's observer, if it has one. Any thread.
    void begin(operation<error_code, permit>& op, deadline until) const;
    // On the strand.
    void start_acquire(operation_ptr<error_code, permit> op, std::int64_t count,
                       deadline until) const;
    [[nodiscard]] std::shared_ptr<semaphore_state> find(error_code& why, std::string& detail) const;
    // How many permits can be had in one transaction.
    [[nodiscard]] std::int64_t most_at_once() const;

    // Null when there was a fault. It keeps the state from being forgotten.
    std::shared_ptr<semaphore_state> state;

    std::shared_ptr<const observed_path> observed; // null when nobody observes
};

class semaphore_state final : public path_entry,
                              public std::enable_shared_from_this<semaphore_state> {
public:
    // `p` has no state yet.
    explicit semaphore_state(const semaphore_path& p);
    ~semaphore_state() override { of.core->forget_path(of.path); }
    [[nodiscard]] lock_kind kind() const noexcept override { return lock_kind::semaphore; }

    // For people; empty when there is none.
    [[nodiscard]] std::string difference_to(const semaphore_path& other) const;

    // On the strand.
    void acquire(operation_ptr<error_code, permit> op, std::int64_t count, deadline until);
    [[nodiscard]] const lock_path& queue_lock();

    void discarded() noexcept override {}

    const semaphore_path of;
    const std::string leases; // their directory
    bool compared = false;    // with what others have written; on the strand

private:
    std::optional<lock_path>
        queue_lock_; // not made in the constructor: the table of paths is in use then
};

} // namespace colock::detail
