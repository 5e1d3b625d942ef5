// The users of one path in one client: the waiters, in the order in which they came, and the users that hold the lock by
// the one contender that they share. local_users decides, this class carries out.
#pragma once

#include <colock/detail/deadline.hpp>
#include <colock/unique_lock.hpp>

#include "lock/local_contenders.hpp"
#include "lock/local_users.hpp"
#include "lock/long_waits.hpp"
#include "lock/path_report.hpp"
#include "queue/contender_driver.hpp"
#include "session/core.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace colock::detail {

// A release passes the lock on under the short mutex of this object and one post to the next one's executor;
// neither the strand nor the servers hear of it. Handlers are completed, and the strand is entered, when the
// mutex has been left.
class local_queue final : public path_entry,
                          public waiting_room,
                          public std::enable_shared_from_this<local_queue> {
public:
    // By one of the constructors below. Not by make_shared: for seconds after the last user has gone a reminder may point to
    // the queue. Its memory, but for a count of references, shall go with that user.
    template <class... Args>
    [[nodiscard]] static std::shared_ptr<local_queue> make(Args&&... args)
    {
        return std::shared_ptr<local_queue>{new local_queue{std::forward<Args>(args)...}};
    }
    ~local_queue() override;

    // Any thread. Of the same path.
    [[nodiscard]] std::shared_ptr<local_queue> readers();
    // The queue whose users the contender serves.
    [[nodiscard]] static local_queue& of(const contender_driver& driver)
    {
        return static_cast<local_contenders&>(*driver.user()).queue();
    }

    // ---- any thread: what does not change

    [[nodiscard]] const std::shared_ptr<client_core>& core() const noexcept { return core_; }
    [[nodiscard]] const lock_config_ptr& config() const noexcept { return config_; }
    [[nodiscard]] const std::string& path() const noexcept { return config_->path; }
    [[nodiscard]] const lock_options& options() const noexcept override { return config_->options; }
    [[nodiscard]] const lock_kind& kind() const noexcept override { return config_->kind; }
    // Its users hold the lock together.
    [[nodiscard]] bool is_shared() const noexcept { return shared_; }
    // How long an unused node is kept. A shared one is not.
    [[nodiscard]] std::chrono::milliseconds linger() const noexcept
    {
        return shared_ ? std::chrono::milliseconds{0} : options().linger;
    }
    [[nodiscard]] std::shared_ptr<contender_user> contenders()
    {
        return {shared_from_this(), &contenders_};
    }

    // ---- any thread: what users want

    // Waits until the deadline; one that has passed means: not even for a connection.
    void lock(operation_ptr<error_code, unique_lock> op, deadline until);
    // A guard's turn ends. The operation of `unlock` completes when the lock is released.
    void release(std::shared_ptr<client_core>&& core, grant&& held);
    void unlock(operation_ptr<error_code> op, grant&& held);
    // From the exclusive lock to a shared one.
    void step_down(operation_ptr<error_code, unique_lock> op, grant&& held);
    void cancel(cancel_link& of, asio::cancellation_type type) override;

    // ---- on the strand: what users want

    void wait_lost(operation_ptr<error_code, error_code> op, contender_driver& by,
                   std::uint64_t turn);
    // Until somebody asks for the node.
    void wait_revoked(operation_ptr<error_code> op, contender_driver& by, std::uint64_t turn);

    // ---- on the strand: what happens to a contender

    // For `op`, or for those who wait.
    void granted(contender_driver& to, protocol::remote_contention c,
                 operation_ptr<error_code, unique_lock> op, std::uint64_t least_turn = 0);
    void heard(const contender_driver& from, const contender_event& event);
    void lost(contender_driver& driver);
    void fail_all(const error_code& ec, const std::string& why);
    void discarded() noexcept override;

    // ---- for the parts of this object

    // Under the mutex.
    template <class Function>
    auto locked(Function function)
    {
        const std::lock_guard lock{mutex_};
        return function();
    }
    [[nodiscard]] local_users& users() noexcept { return users_; }
    [[nodiscard]] path_report& report() noexcept { return report_; }

    struct outcome;
    // One input: `change` is done under the mutex, and what comes of it, after that.
    template <class Change>
    void input(Change&& change);

private:
    using waiter = local_users::waiter;

    // The queue that the client lists at this path. Path and options are valid.
    local_queue(std::shared_ptr<client_core> core, lock_config_ptr config);
    // For a single user of the queue in the table; or for its readers.
    local_queue(std::shared_ptr<local_queue> in_table, bool shared);

    [[nodiscard]] protocol::cohort::rules rules() const;
    void try_lock(operation_ptr<error_code, unique_lock> op);
    void give_up_idle_node();
    void deadline_reached(cancel_link& of);
    void withdraw(cancel_link& of, const error_code& answer, bool answer_now);
    void carry_out(outcome& out);
    void enter_strand(outcome& out, const std::shared_ptr<local_queue>& self);

    // Under the mutex.
    void wait(waiter& op, deadline until, std::chrono::nanoseconds now);
    void wait_for_deadline(const cancel_link_ptr& link, deadline until);
    static void wait_no_longer(const waiter& op) noexcept;
    void drop_lost_holder(std::chrono::nanoseconds now, outcome& out);
    error_code end_turn(grant& held, outcome& out);
    void note(outcome& out);

    const std::shared_ptr<client_core> core_;
    const lock_config_ptr config_;
    const bool shared_;
    // The queue of this path in the client's table; null in that queue itself.
    const std::shared_ptr<local_queue> queue_in_table_;
    local_contenders contenders_{*this};
    long_waits long_waits_{*this};

    std::mutex mutex_; // of what follows
    path_report report_;
    local_users users_;
    std::weak_ptr<local_queue> readers_;
};

// What follows from an input.
struct local_queue::outcome : local_users::effects {
    std::shared_ptr<client_core> core; // for those who are admitted; or empty
    bool in_background = false;        // nobody hears of what fails
    // See contender_work.
    operation_ptr<error_code> unlocking;
    std::shared_ptr<contender_driver> turn_over;
    std::uint64_t turn_ended = 0;
    // Where another thread may end the last user, and this object, as soon as the mutex has been left.
    std::shared_ptr<local_queue> self;
    path_report::of_input reported;

    [[nodiscard]] bool concerns_strand() const noexcept
    {
        return reconcile || !leaving.empty() || turn_over;
    }
    // The time of the input: the clock is read once.
    std::chrono::nanoseconds time()
    {
        if (time_ == std::chrono::nanoseconds{0}) {
            time_ = boot_clock::now();
        }
        return time_;
    }

private:
    std::chrono::nanoseconds time_{0};
};

template <class Change>
void local_queue::input(Change&& change)
{
    outcome out;
    {
        const std::lock_guard lock{mutex_};
        change(out);
        note(out);
    }
    carry_out(out);
}

} // namespace colock::detail
