// The users of one path in one client: the waiters, in the order in which they came, and the users that hold the lock by
// the one contender that they share. protocol::cohort decides, this class carries out.
#pragma once

#include <colock/detail/deadline.hpp>
#include <colock/unique_lock.hpp>

#include "lock/cohort.hpp"
#include "lock/path_report.hpp"
#include "queue/contender_driver.hpp"
#include "session/core.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/intrusive/list.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

namespace colock::detail {

// A release passes the lock on under the short mutex of this object and one post to the next one's executor;
// neither the strand nor the servers hear of it. Handlers are completed, and the strand is entered, when the
// mutex has been left.
class local_queue final : public path_entry,
                          public waiting_room,
                          public contender_user,
                          public reminded,
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
        return static_cast<local_queue&>(*driver.user());
    }

    // ---- any thread: what does not change

    [[nodiscard]] const std::shared_ptr<client_core>& core() const noexcept { return core_; }
    [[nodiscard]] const lock_config_ptr& config() const noexcept { return config_; }
    [[nodiscard]] const std::string& path() const noexcept { return config_->path; }
    [[nodiscard]] const lock_options& options() const noexcept { return config_->options; }
    [[nodiscard]] const lock_kind& kind() const noexcept override { return config_->kind; }

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

    // ---- on the strand: what happens

    void happened(contender_driver& to, contender_event&& event) override;
    void discarded() noexcept override;
    // Tells the log who still waits.
    [[nodiscard]] std::optional<std::chrono::nanoseconds>
    remind(std::chrono::nanoseconds now) override;

private:
    using waiter = operation<error_code, unique_lock>;
    using waiters = boost::intrusive::list<waiter, boost::intrusive::constant_time_size<false>>;

    struct outcome;
    struct strand_work;

    // The queue that the client lists at this path. Path and options are valid.
    local_queue(std::shared_ptr<client_core> core, lock_config_ptr config);
    // For a single user of the queue in the table; or for its readers.
    local_queue(std::shared_ptr<local_queue> in_table, bool shared);

    // One input: `change` is done under the mutex, and what comes of it, after that.
    template <class Change>
    void input(Change&& change);
    // The same, of the holder; nothing happens when it is another one.
    template <class Change>
    void holder_input(const contender_driver& driver, Change&& change);

    void granted(contender_driver& driver, protocol::remote_contention c,
                 operation_ptr<error_code, unique_lock> op, std::uint64_t least_turn = 0);
    void lost(contender_driver& driver);
    void failed(const contender_driver& driver, const error_code& ec, const std::string& why);
    void fail_all(const error_code& ec, const std::string& why);
    void try_lock(operation_ptr<error_code, unique_lock> op);
    void ask(operation_ptr<error_code, unique_lock> op);
    void deadline_reached(cancel_link& of);
    void withdraw(cancel_link& of, const error_code& answer, bool answer_now);
    void carry_out(outcome& out);
    void reconcile(strand_work& work);
    // Sends the lines of the log. Asks the client to remind this queue if a waiter has come.
    void report();
    void begin_reminders();
    void ask_who_holds(std::size_t before);
    [[nodiscard]] std::shared_ptr<contender_driver> make_contender();

    // Under the mutex.
    void wait(operation_ptr<error_code, unique_lock> op, deadline until,
              std::chrono::nanoseconds now);
    void wait_for_deadline(const cancel_link_ptr& link, deadline until);
    [[nodiscard]] operation_ptr<error_code, unique_lock> take(waiter& op) noexcept;
    error_code end_turn(grant& held, outcome& out);
    bool take_user_off(contender_driver& driver, std::uint64_t turn, const error_code& why,
                       outcome& out);
    void count_loss(contender_driver& driver, const error_code& why, outcome& out);
    void drop_lost_holder(std::chrono::nanoseconds now, outcome& out);
    void drop_holder(outcome& out);
    void drop_former_holder(outcome& out);
    void apply(const protocol::cohort::actions& v, outcome& out);
    void admit(waiter* op, outcome& out, std::uint64_t waited_since = 0);
    [[nodiscard]] bool holds(const contender_driver& driver, std::uint64_t turn);
    [[nodiscard]] std::size_t waiters_before(const waiter& op) const;
    [[nodiscard]] path_report::situation situation() const;
    // This object, if report() has something to do.
    [[nodiscard]] std::shared_ptr<local_queue> self_if_reporting();
    void wait_to_give_up();

    const std::shared_ptr<client_core> core_;
    const lock_config_ptr config_;
    const bool shared_; // its users hold the lock together
    // The queue of this path in the client's table; null in that queue itself.
    const std::shared_ptr<local_queue> queue_in_table_;

    std::mutex mutex_; // of what follows
    path_report report_;
    protocol::cohort cohort_;
    waiters waiting_;
    std::shared_ptr<contender_driver> contender_; // in the queue for the waiters
    std::shared_ptr<contender_driver> holder_;
    std::uint64_t turns_ = 0; // that were granted
    std::unique_ptr<std::unordered_set<std::uint64_t>>
        shared_turns_; // those of readers that are not over
    std::weak_ptr<local_queue> readers_;
    bool asking_ = false;
    bool reminded_ = false; // the client calls remind(), or is about to be asked to
    bool look_ = false;
    bool lingering_ = false; // the timer runs, or is about to
    std::unique_ptr<zk::timer> linger_timer_;

    std::atomic<bool> needs_reminder_{false}; // set under the mutex
};

} // namespace colock::detail
