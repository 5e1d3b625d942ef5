// The users of one path in one client, which share one contender: when the next one of them is let in, and
// when the contender's place in the queue is given up for remote contenders. Sans-io.
#pragma once

#include "queue/remote_contention.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace colock::protocol {

// The idea is lock cohorting (Dice, Marathe, Shavit, PPoPP 2012): to hand a lock off among local waiters costs next to
// nothing, so they do that for a while before remote contenders have their turn. When it is known that no remote
// contender waits there is none to be unfair to, and no limit.
//
// Counts only: who the users are, and in which order they wait, is the caller's business. Times are those
// of one clock that does not go back. Every input returns what has to be done.
class cohort {
public:
    using time = std::chrono::nanoseconds;

    struct rules {
        bool shared = false;          // users may hold the lock together
        std::uint64_t max_grants = 0; // on one node, under remote contention, after the first
        time max_time{0};             // in the same case
        time linger{0};               // how long a node is kept that nobody uses
        time max_linger{0};           // how long after its grant that is still done

        friend bool operator==(const rules&, const rules&) = default;
    };

    struct actions {
        std::size_t admit = 0;  // so many waiters, the first ones, are let in
        bool leave = false;     // the holder's node is given up
        bool reconcile = false; // wants_contender() has changed
        bool look = false;      // ask who else is in the queue, and hear of newcomers: met() tells
        bool idle = false;      // the node is kept for a while: linger_over() at linger_end()

        friend bool operator==(const actions&, const actions&) = default;
    };

    explicit cohort(const rules& r) noexcept : rules_{r} {}

    // A user comes. True: it is let in at once; else it waits.
    [[nodiscard]] bool arrive(time now, actions& out);
    // The same of a user that does not wait. `ask_servers`: no user of this client is in its way.
    enum class answer { admitted, busy, ask_servers };
    [[nodiscard]] answer try_arrive(time now, actions& out);
    // A waiter does not want the lock any more.
    [[nodiscard]] actions withdraw();
    // A user that was let in is done.
    [[nodiscard]] actions release(time now);

    // The contender has been granted: for the waiters, or (`on_trial`) for a user that does not wait.
    [[nodiscard]] actions granted(time now, remote_contention c, bool on_trial = false);
    // The holder has lost the lock; the users that were let in are none any more.
    [[nodiscard]] actions lost();
    // There will be no grant; all waiters have been told.
    [[nodiscard]] actions failed();

    // News from the queue; `unknown` when the connection has broken, until look_again().
    [[nodiscard]] actions met(time now, remote_contention c);
    [[nodiscard]] actions look_again();
    // Another client asks for the node: no further user is let in on it.
    [[nodiscard]] actions revoked();
    [[nodiscard]] actions linger_over(time now);
    [[nodiscard]] time linger_end() const noexcept;

    [[nodiscard]] bool wants_contender() const noexcept { return wants_contender_; }
    [[nodiscard]] bool holds() const noexcept { return holds_; }
    [[nodiscard]] bool is_idle() const noexcept { return holds_ && users_ == 0; }
    [[nodiscard]] std::size_t users() const noexcept { return users_; }
    [[nodiscard]] std::size_t waiting() const noexcept { return waiting_; }

    friend bool operator==(const cohort&, const cohort&) = default;

private:
    void fill(time now, actions& out);
    void want_contender(actions& out) noexcept;
    void want_look(actions& out) noexcept;
    void give_up(actions& out) noexcept;
    void let_in() noexcept;
    void start_bounds(time now) noexcept;
    [[nodiscard]] bool has_room() const noexcept { return users_ == 0 || rules_.shared; }
    // The users of this client have had their share, and a remote contender waits, or the client has asked whether one does.
    [[nodiscard]] bool bounds_reached(time now) const noexcept;

    rules rules_;
    std::size_t waiting_ = 0;
    std::size_t users_ = 0;
    bool wants_contender_ = false; // to stand in the queue for the waiters
    bool holds_ = false;
    bool open_ =
        false; // lets users in, now or when there is room; else it only waits for its users to be done
    bool asked_or_known_ = false; // the client has asked for remote contenders, or knows
    bool blind_ = false;          // no connection: the client cannot ask. No bound holds meanwhile
    remote_contention remote_ = remote_contention::unknown;
    // Both bind while a remote contender waits, and while the client's question whether one does is open.
    std::uint64_t grants_left_ = 0;
    time until_{0};
    time held_since_{0};
    time idle_since_{0};
};

} // namespace colock::protocol
