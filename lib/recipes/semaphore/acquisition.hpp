// One acquisition of permits of a semaphore: stands in its queue, counts, takes. Sans-io.
#pragma once

#include <colock/error.hpp>

#include "names/guid.hpp"
#include "recipes/semaphore/numbers.hpp"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace colock::protocol::permits {

// Of children of the directory of the leases, one lease for each permit.
using names = std::vector<std::string>;

// An order of an acquisition: a request to the server, or a report to its caller.
struct command {
    enum class kind : std::uint8_t {
        // Each is answered by exactly one call of the function named. The client repeats a read whose connection breaks,
        // and keeps what is asked for without a connection until there is one.
        lock_queue, // queue_locked(): acquires the lock of the semaphore's queue; a try does not wait for it
        unlock_queue,   // queue_unlocked(), when no trace is left of it; forgets what is watched
        list,           // listed()
        list_and_watch, // listed(); without an error, wait_for_change sees later changes
        ask_others, // maximum_read(): the data of the directory; and siblings_listed(): the children
        // of the semaphore's path
        read_limit, // limit_read(): the data of the counter; wait_for_change sees later changes
        create, // created(): as many leases as are wanted, or none; `name` is their prefix. None is made unless the
        // node of the queue's lock is there, and the counter, if there is one, has the version `number`
        make_directory,    // directory_made(): and its parents, unless they exist
        wait_for_change,   // changed(): of what is watched, or the queue's lock is lost
        pause,             // paused(): for a time that grows with each repetition
        pause_after_event, // paused(): the same, but for what changes less than ten times a second
        // No answer.
        cut_short, // answer at once what can be answered without leaving a trace: reads, waits, pauses
        release_queue,    // as unlock_queue, in the background
        remove_directory, // unless it has children, or the queue's lock was held and is lost
        agreed,    // what others have written about this semaphore is what this client was told
        give_back, // remove these `leases`, in the background: nobody wants them any more
        // The outcome: exactly one of these four, once.
        granted,   // these `leases`
        busy,      // there are too few, and the caller waits no longer
        cancelled, // by the caller
        failed, // `error` says why; `number` is the maximum of others, or the size of the counter's data
        // The last: no answer matters any more.
        gone,
    };

    kind type;
    std::string name = {};
    error_code error = {};
    std::int64_t number = 0;
    names leases = {};

    friend std::strong_ordering operator<=>(const command&, const command&) = default;
};
using commands = std::vector<command>;

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
    // The directory that was listed last was compared with what others have written, by any acquisition of this client.
    bool compared = false;

    friend std::strong_ordering operator<=>(const surroundings&, const surroundings&) = default;
};

// Inputs are member functions, outputs are appended to `out`. No clock, no I/O, no threads: copies may be taken, which is
// how the tests walk through every interleaving.
//
// A semaphore is a lock, its queue, and a directory of leases, one for each permit that is taken. An acquisition
//
// 1. begins when there is room for its leases in the session: it is refused now or never;
// 2. looks, if it is a try: too few permits cost it one read and no write, or two reads with a counter node. What it
//    finds is no promise, so it counts again later;
// 3. queues up: it acquires the queue's lock;
// 4. takes: it counts the leases, and creates its own in one transaction, which also checks the node of the queue's lock,
//    and that the counter has not changed since it was read: a request may wait for a connection for a long time.
//    While there are too few it waits for a change, and holds up the others. So nobody starves who wants many;
// 5. gives the queue's lock back. An acquisition that comes to nothing tells its caller after that.
//
// When the queue's lock is lost, it queues up again. To release permits needs no decision: permit_lease removes them.
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

    // There is room for its leases, or why there is none.
    void begin(const error_code& ec, commands& out);

    // The calls of its user.
    // `at_once`: the caller has its outcome now, and what was begun is undone in the background. Else the caller has
    // its outcome when no trace is left.
    void cancel(bool at_once, commands& out)
    {
        leave(at_once ? std::optional{command{kind::cancelled}} : std::nullopt, out);
    }
    // `unknown`: why nobody knows whether there are permits; no error when there are too few.
    void deadline_reached(const error_code& unknown, commands& out)
    {
        leave(command{unknown ? kind::failed : kind::busy, {}, unknown}, out);
    }

    // The connection is gone: a try does not wait for another one.
    void suspended(commands& out)
    {
        if (options_.try_only) {
            deadline_reached(errc::disconnected, out);
        }
    }

    // Answers.
    // Without an error and not granted: the lock is busy, and its wait was a try, or has reached its deadline.
    void queue_locked(const error_code& ec, bool granted, commands& out);
    void queue_unlocked(commands& out) { finish(*std::exchange(outcome_, std::nullopt), out); }
    void listed(const error_code& ec, const names& children, commands& out);
    void maximum_read(const error_code& ec, const std::string& data, std::int32_t version,
                      commands& out);
    void siblings_listed(const error_code& ec, const names& children, commands& out);
    void limit_read(const error_code& ec, const std::string& data, std::int32_t version,
                    commands& out);
    // `in_queue`: of an error, whether the node of the queue's lock was there.
    void created(const error_code& ec, const names& leases, bool in_queue, commands& out);
    void directory_made(const error_code& ec, commands& out);
    // These two may come again when nothing is waited for any more.
    void changed(commands& out);
    void paused(commands& out);

    [[nodiscard]] std::size_t wanted() const noexcept
    {
        return static_cast<std::size_t>(options_.wanted);
    }
    // For people: how many permits are taken, as they were counted last, and of how many.
    [[nodiscard]] std::optional<std::int64_t> taken() const noexcept
    {
        return attempt_.leases ? attempt_.leases : attempt_.before;
    }
    [[nodiscard]] std::int64_t limit() const noexcept { return limit_; }

    // Equal for equal states; for the walk over all of them.
    friend std::strong_ordering operator<=>(const acquisition&, const acquisition&) = default;

private:
    using kind = command::kind;
    enum class step : std::uint8_t {
        beginning,
        looking,
        queueing_up, // until the lock, and the reads sent with it, are answered
        // With the queue's lock:
        asking, // for the next thing that it has to know, or that has to be there
        waiting,
        pausing, // something was in vain; perhaps the lock is lost
        // From here on it is too late to leave: the answer tells whether there are permits to be given back.
        creating,
        recovering, // the create's outcome is unknown: a listing tells
        giving_back,
        gone,
    };
    // The directory of the leases. `made`: it was ordered, and what others may have written into it is to be read. `read`: its
    // data were read, and agree unless `maximum` is another number. `unreadable`: they cannot be compared.
    enum class directory : std::uint8_t { there, absent, made, read, unreadable };

    // What its caller knows, and wants.
    enum class caller : std::uint8_t { waits, leaves, has_outcome };

    // An attempt knows this with the queue's lock. It begins anew each time that the acquisition queues up.
    struct attempt {
        unsigned unanswered = 0; // of the lock, and of the reads sent with it
        bool has_queue = false;
        bool has_replaced = false; // the directory with others' number
        bool is_watched = false;   // what was counted
        directory leases_in = directory::there;
        error_code refused = {}; // why the queue's lock cannot be had, or is of no use
        std::optional<std::int64_t> maximum = {};       // that others have written
        std::optional<std::int32_t> limit_version = {}; // of the counter, when it was read
        std::optional<std::int64_t> leases = {};        // as they were counted
        std::optional<std::int64_t> before = {};        // leases at the last wait
        std::int64_t creating_session = 0;              // in which leases are being created

        friend std::strong_ordering operator<=>(const attempt&, const attempt&) = default;
    };

    void ask(step next, kind what, commands& out)
    {
        at_ = next;
        out.push_back({what});
    }
    void leave(std::optional<command> outcome, commands& out);
    void look(commands& out) { fits() ? queue_up(out) : end({kind::busy}, out); }
    void queue_up(commands& out);
    void ask_others(commands& out);
    void answered(commands& out);
    void disagree(commands& out);
    void go_on(const error_code& ec, commands& out);
    void count_again() noexcept;
    void queue_lost(commands& out);
    void create(commands& out);
    void recover(const error_code& ec, const names& children, commands& out);
    void grant(names leases, commands& out);
    void pause(commands& out);
    [[nodiscard]] bool ends(error_code ec, commands& out);
    void fail(const error_code& why, commands& out, std::int64_t number = 0)
    {
        end({kind::failed, {}, why, number}, out);
    }
    void end(command outcome, commands& out);
    void release_queue(commands& out);
    void remove_unused_directory(commands& out);
    void finish(command outcome, commands& out);
    void tell(command outcome, commands& out);
    // Of the leases that are being created.
    [[nodiscard]] std::string prefix() const
    {
        return std::string{name_prefix(lease_layout(), own_guid_)};
    }
    // Whether there are as many as are wanted.
    [[nodiscard]] bool fits() const noexcept
    {
        return *attempt_.leases + options_.wanted <= limit_;
    }

    settings options_;
    guid own_guid_; // in the names of the leases; another one after each create that was in vain
    std::int64_t limit_; // how many permits there are; as it was last read, where a counter says so
    surroundings now_ = {};
    step at_ = step::beginning;
    attempt attempt_ = {};
    std::optional<command> outcome_; // to be told when the queue's lock is given back
    bool made_directory_ = false;    // and no lease in it
    caller caller_ = caller::waits;
};

} // namespace colock::protocol::permits
