// The orders of a session's state machine: to the connection, to timers, and to the client's users. Sans-io.
#pragma once

#include <colock/error.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace colock::protocol::session {

struct command {
    enum class kind {
        // The connection. There is one at most.
        look_up, // the addresses: resolved() tells what is known now, and again what each look-up finds
        // Connect to `text`, and offer the session if there is one. Ask for the time-out `time`.
        open, // established(), broken() or not_opened()
        try_options, // send a request that shows the servers' answer to chroot and credentials: options_tried()
        send_barrier, // send a quorum write: barrier_answered()
        hold, // send no request any more on this connection; tell quiet() when no answer is outstanding
        break_off, // the connection counts as broken, as soon as its answers at hand have been delivered: broken()
        drop, // close the connection; nothing comes of it any more
        take_leave, // the same; and tell the server that the session is over, if that can be done without waiting
        end_session, // send the end of the session, and wait until the server has closed the connection: ended()
        // Timers. To start one again is to stop it before.
        start_timer, // in `time`: timer_due()
        stop_timer,
        start_deadline, // in `time`: deadline_due()
        stop_deadline,
        // Reports.
        session_begun,   // `text`, an address, has given a new session
        session_resumed, // `text`, an address, has the session of before
        connecting,      // the first attempt follows
        connected,       // reads may be sent; where a barrier is needed it has been sent before
        writable,        // writes may be sent, too
        suspended,       // no request may be sent any more
        expired,         // the session is over; nothing is left of it
        given_up, // the same, and no attempt follows; `error` is for all who wait, callers of connect() included
        closing, // the user has closed the client; `error` is for all who wait, callers of connect() included
        closed,       // the last; `error` unless the session is known to be over
        answer,       // `error` is the answer to all callers of connect()
        hosts_in_use, // the same, to those who have given another list of hosts
        // Texts for the user.
        note, // `text` is the detail of the latest error
        log_info,
        log_warning,
        log_error,
    };

    kind type;
    std::string text = {};
    error_code error = {};
    std::chrono::nanoseconds time{0};
};

using commands = std::vector<command>;

// The time of an input.
struct instant {
    std::chrono::nanoseconds
        awake; // by the clock of the timers, which stands still while the machine sleeps
    std::chrono::nanoseconds real; // by a clock that goes on, as those of the servers do
};

} // namespace colock::protocol::session
