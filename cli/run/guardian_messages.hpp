// What supervisor and guardian say to each other, over a pair of sockets that keeps messages apart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace colock::cli {

enum class message_kind : std::int32_t {
    // Of the supervisor:
    start,   // `text`: the environment of the command, a line each
    pass_on, // `value`: a signal for the command's process group
    kill,    // the lock is lost, and another client may have it already
    // Of the guardian:
    started,      // `value`: the command's process, which is its group, too
    cannot_start, // `value`: errno
    stopped,      // `value`: the signal by which the command was stopped
    ended,        // `value`: the wait status of the command; something it has started may be left
    refused,      // `value`: so many processes cannot be ended, those of another user
    over, // `value`: the same; nothing is left. `text`: empty when that was so before the bound
};

struct message {
    message_kind kind;
    std::int32_t value = 0;
    std::string text = {};
};

// Blocks for no longer than the other side takes to read. False when there is no other side.
bool send(int socket, const message& m);
// Does not block: the message is lost when the other side, which may be stopped, has read nothing for long.
void send_or_drop(int socket, const message& m);

enum class received { nothing, message, end };
// Does not block. `end`: the other side is gone.
received receive(int socket, message& m);

} // namespace colock::cli
