// The users of one path in one client: the waiters, in the order in which they came, and the users that hold the lock by
// the one contender that they share. protocol::cohort decides, this class carries out.
#pragma once

#include <colock/detail/deadline.hpp>
#include <colock/unique_lock.hpp>

#include "client/core.hpp"
#include "lock/driver/contender_driver.hpp"
#include "lock/driver/contender_owner.hpp"
#include "lock/local/users_of_path.hpp"
#include "lock/local/waiting_words.hpp"
#include "protocol/cohort.hpp"

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
                          public contender_owner,
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
    [[nodiscard]] lock_kind kind() const noexcept override { return contender_owner::kind(); }

    // Any thread. Of the same path.
    [[nodiscard]] std::shared_ptr<local_queue> readers();

    // ---- any thread: what users want

    // Waits until the deadline; one that has passed means: not even for a connection.
    void lock(operation_ptr<error_code, unique_lock> op, deadline until);
    void release(std::shared_ptr<client_core>&& core, grant&& held) override;
    void unlock(operation_ptr<error_code> op, grant&& held) override;
    void step_down(operation_ptr<error_code, unique_lock> op, grant&& held) override;
    void cancel(cancel_link& of, asio::cancellation_type type) override;

    void discarded() noexcept override;

    // On the strand: the log is told who still waits.
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

    // Why the contender waits.
    struct wait_notes {
        contenders_ahead ahead;
        std::optional<asked_holder> asked;
        bool logged = false;
        // For the observer: whether another contender blocked it, and the last one that had the lock.
        bool blocked = false;
        std::optional<seen_holder> seen;
    };

    // What the contenders of all queues of a path share.
    struct shared_state {
        std::shared_ptr<protocol::directory_memory> memory; // of the session below
        std::int64_t session = 0;
        std::shared_ptr<directory_lister> lister;
    };
    [[nodiscard]] shared_state& for_contenders();

    void granted(const std::shared_ptr<contender_driver>& driver, protocol::remote_contention c,
                 operation_ptr<error_code, unique_lock> op, std::uint64_t least_turn) override;
    void failed(const contender_driver& driver, const error_code& ec,
                const std::string& why) override;
    void fail_all(const error_code& ec, const std::string& why) override;
    bool lost(contender_driver& driver) override;
    void blocked(const contender_driver& driver, contenders_ahead now) override;
    void met(const contender_driver& driver, protocol::remote_contention c) override;
    void connected(const contender_driver& driver) override;
    void revoked(const contender_driver& driver) override;
    [[nodiscard]] bool is_contender(const contender_driver& driver) override;
    [[nodiscard]] bool is_current(const contender_driver& driver, std::uint64_t turn) override;
    [[nodiscard]] std::shared_ptr<contender_owner> owner_of_readers() override { return readers(); }
    [[nodiscard]] protocol::directory_memory& directory() override;
    [[nodiscard]] directory_lister& lister() override;

    // One input: `change` is done under the mutex, and what comes of it, behind that.
    template <class Change>
    void input(Change&& change);
    // The same, of the holder; nothing happens when it is another one.
    template <class Change>
    void holder_input(const contender_driver& driver, Change&& change);

    void try_lock(operation_ptr<error_code, unique_lock> op);
    void ask(operation_ptr<error_code, unique_lock> op);
    void deadline_reached(cancel_link& of);
    void withdraw(cancel_link& of, const error_code& answer, bool answer_now);
    void carry_out(outcome& out);
    void reconcile(strand_work& work);
    // Sends the lines of the log. Asks the client to remind this queue if a waiter has come.
    void report();
    void begin_reminders();
    void tell_of_ended_holds(outcome& out);
    void ask_who_holds();

    // Under the mutex.
    void wait(operation_ptr<error_code, unique_lock> op, deadline until,
              std::chrono::nanoseconds now);
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
    // This object, if report() has something to do.
    [[nodiscard]] std::shared_ptr<local_queue> kept_for_log();
    // For the log, and for the caller whose deadline has passed.
    void note_wait(waiter& op, std::chrono::nanoseconds now);
    void note_end_of_wait(waiter& op, const error_code& answer);
    void note_grant(std::uint64_t waited_since, outcome& out);
    // For the observer.
    void observe_grant(waiter& op, outcome& out);
    void observe_end_of_hold(const contender_driver& driver, const observed_hold& h,
                             const error_code& loss, outcome& out);
    void observe_holder(waiter& op);
    void note_release(bool leaves, bool handed_off);
    void note_failure(const error_code& ec);
    void note_still_waiting(std::chrono::nanoseconds now);
    void suspect(std::chrono::nanoseconds began, std::chrono::nanoseconds now);
    [[nodiscard]] wait_reasons reasons(std::size_t before) const;
    [[nodiscard]] std::size_t waiters_before(const waiter& op) const;
    [[nodiscard]] std::string name() const;
    [[nodiscard]] bool logs_grants() const noexcept;
    [[nodiscard]] bool can_ask_who_holds() const;
    void wait_to_give_up();

    // The queue of this path in the client's table; null in that queue itself.
    const std::shared_ptr<local_queue> queue_in_table_;
    const std::unique_ptr<const observed_path> own_observed_path_; // of the queue in the table
    const observed_path* const observed_;                          // null when nobody observes
    const bool logs_;                                 // whatever happens here, in the user's log
    const std::shared_ptr<users_of_path> users_here_; // null when the log shall not suspect anybody
    const bool notes_wait_times_;                     // notes since when each waiter waits
    std::unique_ptr<shared_state> for_contenders_;    // on the strand; of the queue in the table

    std::mutex mutex_; // of what follows
    protocol::cohort cohort_;
    waiters waiting_;
    std::shared_ptr<contender_driver> contender_; // in the queue for the waiters
    std::shared_ptr<contender_driver> holder_;
    std::uint64_t turns_ = 0; // that were granted
    std::unique_ptr<std::unordered_set<std::uint64_t>>
        shared_turns_; // those of readers that are not over
    std::weak_ptr<local_queue> readers_;
    std::unique_ptr<wait_notes> notes_; // of contender_; from the first one on
    bool asking_ = false;
    bool reminded_ = false; // the client calls remind(), or is about to be asked to
    bool look_ = false;
    bool lingering_ = false; // the timer runs, or is about to
    std::unique_ptr<zk::timer> linger_timer_;

    std::atomic<bool> needs_reminder_{false}; // set under the mutex
};

} // namespace colock::detail
