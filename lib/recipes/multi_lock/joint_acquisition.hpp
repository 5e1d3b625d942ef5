// The order in which several locks that are wanted together are joined, given up and joined again. Sans-io.
#pragma once

#include <colock/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace colock::protocol {

// The locks are numbered in the order of their paths, which is the same for all users.
//
// **All at once.** All locks are joined in one go, and behind them goes a request that changes nothing, the probe. The
// answers of a session come in the order of its requests. So when the probe is answered, each lock was either granted by
// the list that belongs to its join, or it is not held, for whatever reason: another contender is before it, here or
// elsewhere; its directory has to be made; the session has to be proved alive; there is no connection.
//
// **One by one.** If any lock is not held then, let w be the first of them. The locks before w are kept, and the place in
// the queue of w as well. The places of all locks behind w are given up, also of those that are held; and each lock behind
// w is joined when all before it are held.
//
// **Why nobody waits for ever.** Take a user who waits for a lock w; all locks before w are held. The contenders before
// this user in the queue of w hold w, or wait for it. One who waits for w waits for fewer than this user does. One who holds
// w uses it, which ends, or waits for a lock of its own. If its probe is under way, that ends in a round trip, or with its
// connection. Otherwise it waits for a lock behind w, since it has none behind the one that it waits for. So a chain of such
// waits only goes to greater paths, and in each queue only forwards, and ends. The same holds for users who lock one by one
// in this order. The places themselves need not be gone at once: their removal depends on nobody but the servers.
class joint_acquisition {
public:
    struct command {
        enum class kind : std::uint8_t {
            join,  // wait for the lock
            probe, // a request that changes nothing, behind the joins
            abandon, // end the wait; refused() comes when no trace of it is left, or granted() when that came first
            hurry,   // let what is left of the lock go in the background; its answer comes at once
            release, // released() comes when the lock is gone

            // The last one. What is left then, held or under way, goes in the background.
            deliver,   // all locks are held
            refuse,    // with `error`, which is empty where a lock is busy
            time_over, // as at the deadline
            abort,     // as for a cancellation
        };
        kind type;
        std::size_t lock = 0;
        error_code error = {};
    };
    using commands = std::vector<command>;

    // The first of the locks that are held by granted(), and are lost nevertheless.
    struct loss {
        std::size_t lock;
        error_code why;
        bool final; // the lock is not to be joined again
    };

    // `tries`: none of the locks waits; each is granted or refused in a round trip.
    joint_acquisition(std::size_t locks, bool tries);

    void start(commands& out);
    void granted(std::size_t lock, const std::optional<loss>& lost, bool time_over, commands& out);
    void refused(std::size_t lock, const error_code& why, bool time_over, commands& out);
    void released(std::size_t lock, bool time_over, commands& out);
    void probed(commands& out);
    // `at_once`: or when no trace is left.
    void cancel(bool at_once, commands& out);

    // Equal for equal objects, and for no others: for the model, which walks through all states.
    [[nodiscard]] std::string fingerprint() const;

private:
    enum class place : std::uint8_t {
        none,
        joining,
        held,
        abandoning, // its wait is being ended
        releasing,
    };
    struct all_at_once {};
    struct one_by_one {
        std::size_t next; // is waited for; all before it are held
    };
    struct leaving {}; // until no trace is left
    struct over {};

    [[nodiscard]] bool is_over() const noexcept { return std::holds_alternative<over>(stage_); }
    [[nodiscard]] bool waits_for(std::size_t lock) const noexcept;
    void held(const std::optional<loss>& lost, bool time_over, commands& out);
    void gone(std::size_t lock, bool time_over, commands& out);
    void join(std::size_t lock, commands& out);
    void join_next(std::size_t next, bool time_over, commands& out);
    void take_again(const loss& lost, bool time_over, commands& out);
    void give_up(std::size_t lock, commands& out);
    void give_up_from(std::size_t first, commands& out);
    void end_without_trace(commands& out);
    void end(const command& last, commands& out);

    bool tries_;
    std::vector<place> places_;
    std::variant<all_at_once, one_by_one, leaving, over> stage_;
};

} // namespace colock::protocol
