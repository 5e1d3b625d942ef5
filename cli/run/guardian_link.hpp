// The supervisor's end of the guardian.
#pragma once

#include "run/guardian.hpp"
#include "run/guardian_messages.hpp"

#include <boost/asio/awaitable.hpp>

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace colock::cli {

class guardian_link {
public:
    // Forks the guardian; therefore before this process has threads. Throws std::system_error.
    explicit guardian_link(const guardian_task& task);
    guardian_link(const guardian_link&) = delete;
    guardian_link& operator=(const guardian_link&) = delete;
    // Does not return before all processes of a command are gone, by end_by_force() at the latest.
    ~guardian_link();

    // False when the guardian is gone.
    bool tell(const message& m) { return send(socket_, m); }

    // What the guardian says next; empty when it is gone.
    boost::asio::awaitable<std::optional<message>> next();

    // Kills the guardian, and then all that it has guarded: for a guardian that is gone, or does nothing. Does not return
    // before they are gone.
    void end_by_force();

private:
    const std::chrono::nanoseconds patience_;
    // Children that this process has inherited from the program that became it: they are none of a command.
    const std::vector<pid_t> not_ours_;
    pid_t guardian_ = -1;
    int socket_ = -1;
};

} // namespace colock::cli
