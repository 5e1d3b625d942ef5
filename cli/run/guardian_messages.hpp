// What supervisor and guardian say to each other, over a pair of sockets that keeps messages apart.
#pragma once

#include <cstdint>
#include <string>

namespace colock::cli {

enum class message_kind : std::int32_t {
    // Of the supervisor:
    start,   // `text`: variables for the command, packed()
    pass_on, // `value`: a signal for the command's process group
    end,     // the command shall end, in its grace; there is time
    kill,    // the lock is lost, and another client may have it already
    // Of the guardian:
    started,      // `value`: the command's process, which is its group, too
    cannot_start, // `value`: errno
    stopped,      // `value`: the signal by which the command was stopped
    ended,        // the command has ended; something it has started may be left
    left_behind, // `value`: so many processes outlive the command, and are ended. `text`: "1234 name", a line each
    refused, // `value`: so many processes cannot be ended, those of another user
    over, // `value`: the wait status of the command; nothing is left. `text`: empty when that was so before the bound
};

struct message {
    message_kind kind;
    std::int32_t value = 0;
    std::string text = {};
};

// Blocks for no longer than the other side takes to read. False when there is no other side. Throws std::length_error for a
// text that receive() would not take.
bool send(int socket, const message& m);
// Does not block. False when there is no other side, or it has read nothing for long, as when it is stopped: then the message is
// lost.
bool send_or_drop(int socket, const message& m);

enum class received { nothing, message, end };
// Does not block. `end`: the other side is gone, or has sent what is none of these messages.
received receive(int socket, message& m);

} // namespace colock::cli
