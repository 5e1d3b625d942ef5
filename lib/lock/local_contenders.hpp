// The contenders that a local_queue has in the queue on the servers: they come and go as its users want them to.
#pragma once

#include "lock/local_users.hpp"
#include "queue/contender_driver.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

namespace colock::detail {

[[nodiscard]] inline std::shared_ptr<contender_driver> driver_of(local_users::node n) noexcept
{
    return std::static_pointer_cast<contender_driver>(std::move(n));
}

// What the strand does about them.
struct contender_work {
    local_users::nodes leaving;
    operation_ptr<error_code> unlocking; // completes when the last of these has gone; or empty
    // This turn has ended, and operations wait for its loss, or for a request for its node.
    std::shared_ptr<contender_driver> turn_over;
    std::uint64_t turn = 0;
};

// On the strand. What users want may change, on any thread, before the strand gets here: each function looks at what is wanted now.
class local_contenders final : public contender_user {
public:
    explicit local_contenders(local_queue& of) noexcept : queue_{of} {}

    [[nodiscard]] local_queue& queue() const noexcept { return queue_; } // any thread

    void happened(contender_driver& to, contender_event&& event) override;
    // The contenders become what is wanted.
    void reconcile(contender_work& work);
    // No user of this client has the lock. Each try asks the servers with a contender of its own.
    void try_servers(operation_ptr<error_code, unique_lock> op);
    // Completes the operation of a cancelled waiter when no trace of it is left. It had a part in this contender, or, if that is
    // null, in none.
    void end_cancelled(operation_ptr<error_code, unique_lock> op, const local_users::node& with);
    void discard() noexcept { linger_timer_.reset(); }

private:
    [[nodiscard]] std::shared_ptr<contender_driver> make_contender();
    void linger_until(std::chrono::nanoseconds end);

    local_queue& queue_;
    // One timer for all the times when nobody uses the node: most are too short for it.
    std::unique_ptr<zk::timer> linger_timer_;
};

} // namespace colock::detail
