// What a contender's driver asks of the users that it serves, and tells them. A local_queue is one.
#pragma once

#include <colock/unique_lock.hpp>

#include "client/core.hpp"
#include "lock/driver/contenders_ahead.hpp"
#include "lock/lock_config.hpp"
#include "protocol/directory/memory.hpp"
#include "protocol/remote_contention.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace colock::detail {

class contender_driver;
class directory_lister;

// The nodes of a single_node_mutex that contenders of this client know to be theirs, by czxid; 0 is none. Their name
// does not tell whose they are.
class own_nodes {
public:
    void replace(std::int64_t before, std::int64_t now)
    {
        if (before == now) {
            return;
        }
        std::erase(nodes_, before);
        if (now != 0) {
            nodes_.push_back(now);
        }
    }
    [[nodiscard]] bool contains(std::int64_t czxid) const noexcept
    {
        return std::ranges::find(nodes_, czxid) != nodes_.end();
    }
    [[nodiscard]] bool empty() const noexcept { return nodes_.empty(); }

private:
    std::vector<std::int64_t> nodes_;
};

class contender_owner {
public:
    // ---- any thread

    [[nodiscard]] const std::shared_ptr<client_core>& core() const noexcept { return core_; }
    [[nodiscard]] const lock_config_ptr& config() const noexcept { return config_; }
    [[nodiscard]] const std::string& path() const noexcept { return config_->path; }
    [[nodiscard]] const lock_options& options() const noexcept { return config_->options; }
    [[nodiscard]] lock_kind kind() const noexcept { return config_->kind; }
    // Whether somebody wants to know why users wait: the log, or who tries with a deadline and diagnostics.
    [[nodiscard]] bool listens() const noexcept { return listens_.load(std::memory_order_relaxed); }
    // Whether its users hold the lock together.
    [[nodiscard]] bool is_shared() const noexcept { return shared_; }
    // How long an unused node is kept. A shared one is not.
    [[nodiscard]] std::chrono::milliseconds linger() const noexcept
    {
        return shared_ ? std::chrono::milliseconds{0} : options().linger;
    }

    // A guard's turn ends. The operation of `unlock` completes when the lock is released.
    virtual void release(std::shared_ptr<client_core>&& core, grant&& held) = 0;
    virtual void unlock(operation_ptr<error_code> op, grant&& held) = 0;
    // From the exclusive lock to a shared one.
    virtual void step_down(operation_ptr<error_code, unique_lock> op, grant&& held) = 0;
    // Whether the lock is held by this driver, and by this turn.
    [[nodiscard]] virtual bool is_current(const contender_driver& driver, std::uint64_t turn) = 0;
    // Whether the driver joins for all users that wait.
    [[nodiscard]] virtual bool is_contender(const contender_driver& driver) = 0;
    // The owner for users that share the lock at this path.
    [[nodiscard]] virtual std::shared_ptr<contender_owner> owner_of_readers() = 0;

    // ---- on the strand: what becomes of contenders

    // The driver holds the lock: for `op`, whose caller tried or stepped down; without it, for the waiters. Turns
    // continue from `least_turn`, so tokens never get smaller.
    virtual void granted(const std::shared_ptr<contender_driver>& driver,
                         protocol::remote_contention c, operation_ptr<error_code, unique_lock> op,
                         std::uint64_t least_turn = 0) = 0;
    // All waiters fail if `driver` is their contender.
    virtual void failed(const contender_driver& driver, const error_code& ec,
                        const std::string& why) = 0;
    // All waiters fail.
    virtual void fail_all(const error_code& ec, const std::string& why) = 0;
    // Returns whether a user held the lock.
    virtual bool lost(contender_driver& driver) = 0;
    // What the driver knows now of the contenders before it. Called while somebody listens, also when that is nothing new.
    virtual void blocked(const contender_driver& driver, contenders_ahead now) = 0;
    virtual void met(const contender_driver& driver, protocol::remote_contention c) = 0;
    virtual void connected(const contender_driver& driver) = 0;
    // Another client asks for the driver's node.
    virtual void revoked(const contender_driver& driver) = 0;
    // The client goes without a word: waiters are destroyed.
    virtual void discarded() noexcept = 0;

    // The client's memory of the lock's directory: one for all owners of the path.
    [[nodiscard]] virtual protocol::directory_memory& directory() = 0;
    // Lists the directory for all contenders of the path.
    [[nodiscard]] virtual directory_lister& lister() = 0;

    own_nodes claimed;

protected:
    contender_owner(std::shared_ptr<client_core> core, lock_config_ptr config, bool shared)
        : core_{std::move(core)}, config_{std::move(config)}, shared_{shared}
    {
    }
    ~contender_owner() = default;

    const std::shared_ptr<client_core> core_;
    const lock_config_ptr config_;
    const bool shared_;
    std::atomic<bool> listens_{false}; // from then on
};

} // namespace colock::detail
