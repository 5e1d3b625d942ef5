// One acquisition of permits of a semaphore: stands in its queue, counts, takes. Sans-io.
#pragma once

#include "command.hpp"
#include "protocol/names/guid.hpp"

#include <compare>
#include <optional>
#include <string>
#include <vector>

namespace colock::protocol::permits {

struct settings {
    std::int64_t wanted = 1;
    // How many there are; empty when a counter node says so, which may change at any time.
    std::optional<std::int64_t> permits = 1;
    bool try_only = false; // never waits
    bool rejoin_on_expiry = true;

    friend std::strong_ordering operator<=>(const settings&, const settings&) = default;
};

// The client's knowledge at the time of an input.
struct surroundings {
    std::int64_t session = 0;
    error_code unavailable = {}; // why the client carries out nothing any more
    error_code queue_lost = {};  // why the queue's lock is lost, when this acquisition had it
    bool compared = false;       // with what others have written, by any acquisition of this client

    friend std::strong_ordering operator<=>(const surroundings&, const surroundings&) = default;
};

// Inputs are member functions, outputs are appended to `out`. No clock, no I/O, no threads: copies may be taken, which is
// how the tests walk through every interleaving.
//
// A semaphore is a lock, its queue, and a directory of leases, one for each permit that is taken. An acquisition
//
// 1. looks, if it is a try: too few permits cost it one read and no write, or two reads with a counter node. What it
//    finds is no promise, so it counts again later;
// 2. queues up: it acquires the queue's lock;
// 3. takes: it counts the leases, and creates its own in one transaction, which also checks the node of the queue's lock,
//    and that the counter has not changed since it was read: a request may wait for a connection for a long time.
//    While there are too few it waits for a change, and holds up the others. So nobody starves who wants many;
// 4. gives the queue's lock back. An acquisition that comes to nothing tells its caller behind that.
//
// When the queue's lock is lost, it queues up again. To release permits needs no decision: lock/lease removes their leases.
//
// Only the holder of the queue's lock adds leases. So a listing that is answered while the lock is held shows at least as
// many as there are. The first one is sent after the join, and before the join is answered. If the join's answer is the
// grant, the listing's answer follows it, and saves a round trip. If the grant comes later, that listing does not count.
class acquisition {
public:
    acquisition(settings s, guid first)
        : options_{s}, own_guid_{first}, limit_{s.permits.value_or(0)}
    {
    }

    // The client's knowledge. To be told before every other input.
    void assume(const surroundings& now) { now_ = now; }

    // The calls of its user.
    void begin(commands& out);
    // `at_once`: the caller has its outcome now, and what was begun is undone in the background. Else the caller has
    // its outcome when no trace is left.
    void cancel(bool at_once, commands& out);
    void deadline_reached(bool connected, commands& out);

    // The connection is gone.
    void suspended(commands& out);

    // Answers.
    // Without an error and not granted: the lock is busy, and its wait was a try, or has reached its deadline.
    void queue_locked(const error_code& ec, bool granted, commands& out);
    void queue_unlocked(commands& out);
    void listed(const error_code& ec, const names& children, commands& out);
    void maximum_read(const error_code& ec, const std::string& data, commands& out);
    void siblings_listed(const error_code& ec, const names& children, commands& out);
    void limit_read(const error_code& ec, const std::string& data, std::int32_t version,
                    commands& out);
    // `in_queue`: of an error, whether the node of the queue's lock was there.
    void created(const error_code& ec, const names& leases, bool in_queue, commands& out);
    void directory_made(const error_code& ec, commands& out);
    void changed(commands& out);
    void paused(commands& out);

    [[nodiscard]] bool is_gone() const noexcept { return at_ == step::gone; }
    // For people: how many permits are taken, as they were counted last, and of how many.
    [[nodiscard]] std::optional<std::int64_t> taken() const noexcept { return attempt_.leases; }
    [[nodiscard]] std::int64_t limit() const noexcept { return limit_; }

    // Equal for equal states; for the walk over all of them.
    friend std::strong_ordering operator<=>(const acquisition&, const acquisition&) = default;

private:
    enum class step : std::uint8_t {
        looking,
        queueing_up, // until the lock, and the reads behind it, are answered
        // With the queue's lock:
        reading_limit,
        counting,
        watching, // counts again, and sets a watch
        waiting,
        creating,
        recovering,                // the create's outcome is unknown: a listing tells
        making_directory,          // where a create has found none
        making_directory_to_watch, // where a watch has found none
        pausing_before_count,      // something was in vain
        pausing_before_directory,  // there is none to be watched
        // Without it:
        pausing_before_queue, // the lock was lost
        giving_back,
        gone,
    };

    // Begins anew each time that the acquisition queues up.
    struct attempt {
        unsigned unanswered = 0; // of the lock, and of the reads behind it
        error_code refused = {}; // why the queue's lock cannot be had
        bool other_kind = false; // a lock of another kind has its queue here
        bool has_directory = false;
        std::optional<std::int64_t> maximum = {}; // as others have written it into the directory
        bool has_queue = false;
        std::optional<std::int64_t> leases = {}; // as they were counted
        bool list_watched = false;
        std::string prefix = {};           // of the leases that are being created
        std::int64_t creating_session = 0; // in which they are

        friend std::strong_ordering operator<=>(const attempt&, const attempt&) = default;
    };

    void leave(commands& out);
    void look(commands& out);
    void queue_up(commands& out);
    void answered(commands& out);
    void count_again(commands& out);
    void read_limit(commands& out);
    void go_on(commands& out); // as long as the queue's lock is held
    void queue_lost(commands& out);
    void decide(commands& out);
    void watched(commands& out);
    void recover(const error_code& ec, const names& children, commands& out);
    void grant(names leases, commands& out);
    void pause(step next, commands& out);
    [[nodiscard]] bool ends(error_code ec, commands& out);
    void end(command outcome, commands& out);
    void release_queue(commands& out);
    void finish(command outcome, commands& out);
    void tell(command outcome, commands& out);
    [[nodiscard]] bool fits() const noexcept; // whether there are as many as are wanted

    settings options_;
    guid own_guid_;      // in the names of the leases; each create has another one
    std::int64_t limit_; // how many permits there are; as it was last read, where a counter says so
    std::int32_t limit_version_ = 0; // of the counter then
    surroundings now_ = {};
    step at_ = step::looking;
    attempt attempt_ = {};
    std::optional<command> outcome_; // to be told when the queue's lock is given back
    bool left_ = false;              // the caller wants no permits any more
    bool told_ = false;              // the caller has its outcome
};

} // namespace colock::protocol::permits
