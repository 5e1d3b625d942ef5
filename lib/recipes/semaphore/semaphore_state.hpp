// The state of semaphore objects: of each its own, and that which the objects of one path and client share.
#pragma once

#include <colock/detail/deadline.hpp>
#include <colock/lock_options.hpp>
#include <colock/permit.hpp>
#include <colock/queue_view.hpp>

#include "lock/lock_path.hpp"
#include "lock/option_faults.hpp"
#include "names/kinds.hpp"
#include "names/path.hpp"
#include "session/core.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace colock::detail {

// What a semaphore object was made with. Immutable.
struct semaphore_config {
    std::shared_ptr<client_core> core;
    std::string path;
    std::optional<std::int64_t> permits; // or they are in `counter`
    std::string counter;
    lock_options options;
    std::shared_ptr<const observed_path> observed; // null when nobody observes

    [[nodiscard]] const std::string& owner_data() const
    {
        return options.owner_data ? *options.owner_data : default_owner_data();
    }
    // For people.
    [[nodiscard]] std::string name() const { return "semaphore " + path; }
    [[nodiscard]] std::string about(const std::string& what) const { return name() + ": " + what; }
    // Of permits, for people.
    [[nodiscard]] std::string number() const
    {
        return permits ? std::to_string(*permits) : "in " + counter;
    }
};

// On the strand.
class semaphore_state final : public path_entry {
public:
    explicit semaphore_state(const semaphore_config& c) : of{c} {}
    ~semaphore_state() override { of.core->forget_path(of.path); }
    [[nodiscard]] const lock_kind& kind() const noexcept override { return kinds::semaphore; }
    [[nodiscard]] const lock_options& options() const noexcept override { return of.options; }

    const semaphore_config of;
    const std::string leases = protocol::join_path(of.path, "leases"); // their directory
    // The directory that was compared with what others have written: its czxid, 0 if none was.
    std::int64_t compared = 0;
    // Not made in the constructor: the table of paths is in use then.
    std::optional<lock_path> queue_lock;
};

// On the strand.
void begin_to_acquire(std::shared_ptr<semaphore_state> of, operation_ptr<error_code, permit> op,
                      std::int64_t count, deadline until);

// Immutable.
class semaphore_path : public semaphore_config {
public:
    explicit semaphore_path(semaphore_config c);

    // On the strand.
    void start_acquire(operation_ptr<error_code, permit> op, std::int64_t count, deadline until,
                       bool for_body) const;

private:
    [[nodiscard]] std::shared_ptr<semaphore_state> find(fault& why) const;
    [[nodiscard]] fault fault_of_count(std::int64_t count) const;

    std::shared_ptr<semaphore_state> state_; // it is not forgotten; null when there was a fault
};

} // namespace colock::detail
