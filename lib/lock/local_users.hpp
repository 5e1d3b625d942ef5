// The users of one path in one client, as plain data: who waits, who has the lock, whose turn it is.
#pragma once

#include <colock/unique_lock.hpp>

#include "lock/cohort.hpp"
#include "queue/node_users.hpp"

#include <boost/container/small_vector.hpp>
#include <boost/intrusive/list.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_set>
#include <utility>

namespace colock::detail {

// Calls nothing: each input adds to `out` what its caller has to carry out. The caller has a mutex. protocol::cohort decides by
// numbers; this class knows who they are. Of a contender it knows what its users note in it, and no more.
class local_users {
public:
    using waiter = operation<error_code, unique_lock>;
    using waiters = boost::intrusive::list<waiter, boost::intrusive::constant_time_size<false>>;
    using node = std::shared_ptr<node_users>; // of a contender
    using nodes = boost::container::small_vector<node, 2>;
    using time = protocol::cohort::time;

    struct effects {
        waiters admitted;       // their tags are as they were
        std::uint64_t turn = 0; // of the first one; those of the others follow
        node holder;            // by which they are admitted
        nodes leaving;          // nobody uses them any more
        bool has_user_gone =
            false; // a user has the lock no longer, because it is done or the holder has lost it
        bool reconcile = false; // the contenders with what is wanted, below
    };

    // Why somebody waits, as far as it is known here.
    struct situation {
        bool held_here = false;     // a user of this client has the lock
        std::size_t waiting = 0;    // users of this client
        bool has_contender = false; // which waits for them
    };

    explicit local_users(const protocol::cohort::rules& r) noexcept : cohort_{r}, shared_{r.shared}
    {
    }

    // ---- users

    // One comes. Returns whether it waits; else it is admitted.
    bool arrive(waiter& op, time now, effects& out);
    // One comes that does not wait.
    protocol::cohort::answer try_arrive(waiter& op, time now, effects& out);
    // Waits no longer. If it was the last: with which contender its trace goes; with none if there is none yet.
    std::optional<node> withdraw(waiter& op, effects& out);
    // A turn ends. `lost`: the lock was lost before that.
    void end_turn(node by, std::uint64_t turn, bool lost, time now, effects& out);
    // The user takes the holder with it.
    void step_down(const node& by, effects& out);

    // ---- contenders

    // It is the holder: for `tries`, or else for those who wait.
    void granted(node to, waiter* tries, protocol::remote_contention c, time now, effects& out);
    // The turns go on from here, if they have not come so far.
    void begin_turns_at(std::uint64_t turn) noexcept { turns_ = std::max(turns_, turn); }
    // The holder has lost the lock, or another node of this client was granted. Its own goes with the last user, or now if there
    // is none: a node may be kept for a while that nobody uses.
    void lose_holder(effects& out);
    // The contender fails. Returns those who have waited.
    [[nodiscard]] waiters fail(effects& out);
    void met(protocol::remote_contention c, time now, effects& out)
    {
        follow(cohort_.met(now, c), out);
    }
    void look_again(effects& out) { follow(cohort_.look_again(), out); }
    void revoked(effects& out) { follow(cohort_.revoked(), out); }
    // Returns until when the holder is kept, if it is.
    [[nodiscard]] std::optional<time> linger_over(time now, effects& out);

    // ---- what is wanted of the strand

    // The contender, if nobody wants it.
    [[nodiscard]] node take_unwanted_contender() noexcept;
    [[nodiscard]] bool lacks_contender() const noexcept
    {
        return cohort_.wants_contender() && !contender_;
    }
    void join(node n) noexcept { contender_ = std::move(n); }
    // Asks who else is in the queue.
    [[nodiscard]] node take_look() noexcept
    {
        return std::exchange(look_, false) ? holder_ : nullptr;
    }
    // Until when an unused holder is kept: somebody calls linger_over() then.
    [[nodiscard]] std::optional<time> linger_end() const noexcept
    {
        return lingering_ ? std::optional{cohort_.linger_end()} : std::nullopt;
    }

    // ---- what is known

    [[nodiscard]] const node& contender() const noexcept { return contender_; }
    [[nodiscard]] const node& holder() const noexcept { return holder_; }
    [[nodiscard]] bool has_turn(const node_users& by, std::uint64_t turn) const;
    // Whether it is for others that this contender stays.
    [[nodiscard]] bool uses(const node& n) const noexcept
    {
        return n == holder_ || (n == contender_ && cohort_.wants_contender());
    }
    // The first one; null when nobody waits.
    [[nodiscard]] const waiter* first() const noexcept
    {
        return waiting_.empty() ? nullptr : &waiting_.front();
    }
    [[nodiscard]] std::size_t waiters_before(const waiter& op) const;
    [[nodiscard]] situation known() const noexcept
    {
        return {holder_ && cohort_.users() != 0, cohort_.waiting(), contender_ != nullptr};
    }

    // What is dropped without a word.
    struct remains {
        waiters waiting;
        node contender, holder;
    };
    [[nodiscard]] remains take_all() noexcept;

private:
    void follow(const protocol::cohort::actions& v, effects& out);
    void admit(waiter& op, effects& out);

    protocol::cohort cohort_;
    waiters waiting_;
    node contender_; // in the queue for the waiters
    node holder_;
    std::uint64_t turns_ = 0; // that were granted
    std::unique_ptr<std::unordered_set<std::uint64_t>>
        shared_turns_;  // those of readers that are not over
    const bool shared_; // users may hold the lock together
    bool look_ = false;
    bool lingering_ = false;
};

} // namespace colock::detail
