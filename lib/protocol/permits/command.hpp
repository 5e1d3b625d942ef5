// The orders of an acquisition of permits: requests to the server, and reports to its caller.
#pragma once

#include <colock/error.hpp>

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace colock::protocol::permits {

// Of children of the directory of the leases, one lease for each permit.
using names = std::vector<std::string>;

struct command {
    enum class kind : std::uint8_t {
        // Each is answered by exactly one call of the function named. The client repeats a read whose connection breaks,
        // and keeps what is asked for without a connection until there is one.
        lock_queue, // queue_locked(): acquires the lock of the semaphore's queue; a try does not wait for it
        unlock_queue,   // queue_unlocked(), when no trace is left of it; forgets what is watched
        list,           // listed()
        list_and_watch, // listed(); without an error, wait_for_change sees later changes
        read_maximum,   // maximum_read(): the data of the directory
        list_siblings,  // siblings_listed(): the children of the semaphore's path
        read_limit,     // limit_read(): the data of the counter; wait_for_change sees later changes
        create, // created(): as many leases as are wanted, or none; `name` is their prefix. None
                // is made unless the node of the queue's lock is there, and the counter, if there
                // is one, has the version `number`
        make_directory,  // directory_made(): and its parents, unless they exist
        wait_for_change, // changed(): of what is watched, or the queue's lock is lost
        pause,           // paused(): for a time that grows with each repetition
        // No answer.
        cut_short, // answer at once what can be answered without leaving a trace: reads, waits, pauses
        release_queue, // as unlock_queue, in the background
        unwatch_list,  // forget the watch of list_and_watch
        unwatch_limit, // forget the watch of read_limit
        agreed,        // what others have written about this semaphore is what this client was told
        give_back,     // remove these `leases`, in the background: nobody wants them any more
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

} // namespace colock::protocol::permits
