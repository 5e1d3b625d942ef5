// What the log, the observer and callers whose deadline has passed hear of the users of one path.
#pragma once

#include <colock/unique_lock.hpp>

#include "lock/local_users.hpp"
#include "lock/users_of_path.hpp"
#include "lock/waiting_words.hpp"
#include "queue/lock_config.hpp"
#include "report/contenders_ahead.hpp"
#include "report/telemetry.hpp"
#include "session/core.hpp"

#include <boost/container/small_vector.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace colock::detail {

// A local_queue calls it under its mutex, where nothing else is said.
class path_report {
public:
    using waiter = local_users::waiter;
    using time = std::chrono::nanoseconds; // of the boot_clock
    using situation = local_users::situation;

    // The holds that one input ends, as a rule one at most; and how those are granted that it admits.
    struct of_input {
        struct hold {
            observed_hold of;
            error_code loss;
            time margin;
        };
        boost::container::small_vector<hold, 1> ended;
        grant_source source = grant_source::kept_node;
        std::unique_ptr<seen_holder> waited_for;

        // The acquisition whose hold ended first; 0 when nobody is to hear of it.
        [[nodiscard]] std::uint64_t first_ended() const noexcept
        {
            return ended.empty() ? 0 : ended.front().of.id;
        }
    };

    // Sets `listens` while somebody wants to know why users wait: the log, the observer, or who tries with a deadline and
    // diagnostics.
    path_report(const std::shared_ptr<client_core>& core, lock_config_ptr config,
                std::atomic<bool>& listens);
    // Of readers, or of a single user, of the same path.
    path_report(const path_report& of_path, bool shared, std::atomic<bool>& listens);

    // ---- any thread

    // The acquisition begins.
    void begins(observation& o, bool shared) const;
    // Without the mutex: tells the observer.
    void tell(const of_input& input, time now) const;
    // Without the mutex. Sends the lines of the log, or leaves them to the next call where there is no memory.
    void send() const { core_.send_lines(); }
    // Whether send() has something to do.
    [[nodiscard]] bool has_lines() const noexcept { return notes_times() && core_.has_lines(); }

    // ---- users

    // Notes since when each waiter waits.
    [[nodiscard]] bool notes_times() const noexcept { return logs_ || users_here_ != nullptr; }
    void waits(waiter& op, bool has_deadline, time now, const situation& s);
    // It is cancelled, or its time is over.
    void gives_up(waiter& op, const error_code& answer, const local_users& among);
    void fails(const error_code& ec, const situation& s);
    // The waiter is not granted the lock: whom it has waited for.
    void name_holder(waiter& op) const;
    void granted(waiter& op, std::uint64_t waited_since, node_users& by, of_input& input, time now);
    // `leaves`: the client deletes the node.
    void released(bool leaves, bool handed_off);
    // A waiter gets the lock in memory as soon as the servers say that no other client waits.
    void hand_off_waits(const of_input& input) noexcept;
    // A turn has ended, or was lost before. `margin`: the time until the lock counts as lost.
    void turn_ends(node_users& by, std::uint64_t turn, const error_code& loss, time margin,
                   of_input& input);
    // All users who have the lock by this node lose it together, and no other one is admitted by it. The first that sees the
    // loss counts it: a guard that is released, or the client.
    void node_lost(node_users& of, const error_code& why, time margin, of_input& input);
    // The lock is not held any more. Its user may have to be told yet.
    void user_leaves() const;
    // Nobody waits any more.
    void nobody_waits();

    // ---- the contender

    // There is another one, or none.
    void forget_contender() { notes_.reset(); }
    // It is granted: to those who wait.
    void contender_granted(of_input& input);
    void blocked(contenders_ahead now, const situation& s);

    // ---- who waits for long

    void suspect(time began, time now);
    void still_waits(time began, time now, const situation& s);
    // Where the watches of the contender do not tell who holds the lock: how many are known to be before it.
    [[nodiscard]] std::optional<std::size_t> asks_who_holds(const situation& s) const;
    void found_holder(std::optional<std::size_t> before, std::optional<asked_holder> found);

private:
    // Why the contender waits.
    struct wait_notes {
        contenders_ahead ahead;
        std::optional<asked_holder> asked;
        bool logged = false;
        // For the observer: whether another contender blocked it, and the last one that had the lock.
        bool blocked = false;
        std::optional<seen_holder> seen;
    };

    [[nodiscard]] wait_reasons reasons(const situation& s, std::size_t before) const;
    [[nodiscard]] std::string name() const;
    template <class Words>
    void grant_line(Words words) const;
    void line(std::string text) const { core_.add_line(log_level::debug, std::move(text)); }

    client_core& core_;
    const lock_config_ptr config_;
    const std::shared_ptr<const observed_path> observed_; // null when nobody observes
    const std::shared_ptr<users_of_path> users_here_; // null when the log shall not suspect anybody
    const bool shared_;
    const bool logs_;                   // whatever happens here
    std::unique_ptr<wait_notes> notes_; // of the contender; from the first one on
    std::uint64_t handing_off_ = 0;     // the hold that the next grant follows
    std::atomic<bool>& listens_;
};

} // namespace colock::detail
