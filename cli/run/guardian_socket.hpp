// The supervisor's end of a guardian, whoever has forked that.
#pragma once

#include "run/guardian_messages.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <optional>

namespace colock::cli {

// Blocks nobody: not when the guardian is stopped, nor when processes cannot be killed.
class guardian_socket {
public:
    guardian_socket(const guardian_socket&) = delete;
    guardian_socket& operator=(const guardian_socket&) = delete;
    virtual ~guardian_socket();

    // False when the guardian does not hear it: it is gone, or has read nothing for long.
    bool tell(const message& m);

    // What the guardian says next; empty when it is gone, and behind kill().
    boost::asio::awaitable<std::optional<message>> next();

    // Continues the guardian, should somebody have stopped it. To be called a few times a second: a guardian that this process has
    // forked also learns who becomes a child of this process without being a command's.
    virtual void keep_going() = 0;

    // For a guardian that does nothing. What it has said and nobody has read is lost.
    virtual void kill() = 0;

    // Kills the guardian, if it is there, and then all that it has guarded. Completes when they are gone. `refused` is called
    // with the number of processes that this process may not signal, again and again while there are some.
    virtual boost::asio::awaitable<void> end_by_force(std::function<void(int)> refused) = 0;

protected:
    guardian_socket() = default;

    void open(int socket) noexcept { socket_ = socket; }
    void close() noexcept;
    // The other end is open: the guardian lives, or is about to.
    [[nodiscard]] bool has_other_end() const noexcept;

private:
    int socket_ = -1;
};

// Where this process is the first of its PID namespace, such as a container's: whoever was left by others is its child then, and
// has to be reaped. Never returns.
boost::asio::awaitable<void> keep_going_for_ever(guardian_socket& guardian);

} // namespace colock::cli
