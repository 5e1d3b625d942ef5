// The supervisor's end of the guardian.
#pragma once

#include "run/end_children.hpp"
#include "run/guardian.hpp"
#include "run/guardian_messages.hpp"

#include <boost/asio/awaitable.hpp>

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace colock::cli {

// Blocks nobody: not when the guardian is stopped, nor when processes cannot be killed.
class guardian_link {
public:
    // Forks the guardian; therefore before this process has threads. Throws failure, std::system_error.
    explicit guardian_link(const guardian_task& task);
    guardian_link(const guardian_link&) = delete;
    guardian_link& operator=(const guardian_link&) = delete;
    // The only one that blocks: does not return before all processes of a command are gone.
    ~guardian_link();

    // From now on what a killed guardian leaves becomes a child of this process. To be called before a command starts; and not
    // before the client is connected, whose session guard is nobody's child.
    void adopt_orphans();

    // Where the guardian says that no process of a command is left, once this process has gone: for the session guard.
    [[nodiscard]] int consent() const noexcept { return consent_; }

    // False when the guardian does not hear it: it is gone, or has read nothing for long.
    bool tell(const message& m);

    // Continues the guardian, should somebody have stopped it. To be called a few times a second: it also learns who becomes a
    // child of this process without being the command's.
    void keep_going();

    // What the guardian says next; empty when it is gone, and behind kill().
    boost::asio::awaitable<std::optional<message>> next();

    // For a guardian that does nothing. What it has said and nobody has read is lost.
    void kill();

    // Kills the guardian, if it is there, and then all that it has guarded. Completes when they are gone. `refused` is called
    // with the number of processes that this process may not signal, again and again while there are some.
    boost::asio::awaitable<void> end_by_force(std::function<void(int)> refused);

private:
    round_end end_some(int& refused);

    const std::chrono::nanoseconds patience_;
    // Children that this process has inherited from the program that became it, and orphans of theirs: they are none of a
    // command.
    std::vector<pid_t> not_ours_;
    pid_t guardian_ = -1; // with the socket, until it is killed; then it is a child like the others
    int socket_ = -1;
    int consent_ = -1;
};

} // namespace colock::cli
