// The supervisor's end of a guardian that it has forked.
#pragma once

#include "run/guardian.hpp"
#include "run/guardian_socket.hpp"
#include "run/orphans.hpp"

#include <sys/types.h>

#include <chrono>
#include <functional>

namespace colock::cli {

class guardian_link final : public guardian_socket {
public:
    // Forks the guardian; therefore before this process has threads. Throws failure, std::system_error.
    explicit guardian_link(const guardian_task& task);
    // The only one that blocks: does not return before all processes of a command are gone.
    ~guardian_link() override;

    // Where the guardian says that no process of a command is left, once this process has gone: for the session guard.
    [[nodiscard]] int consent() const noexcept { return consent_; }

    void keep_going() override;
    void kill() override;
    boost::asio::awaitable<void> end_by_force(std::function<void(int)> refused) override;

private:
    const std::chrono::nanoseconds patience_;
    orphans orphans_;
    pid_t guardian_ = -1; // with the socket, until it is killed; then it is a child like the others
    int consent_ = -1;
};

// A child that was forked to guard: what the supervisor has of it.
struct forked {
    pid_t process;
    int socket;
    int consent; // as in guardian_link
};
// In the child, `body` gets the other ends, and never returns. Throws failure where processes could not be ended in time, because
// /proc does not show them; std::system_error.
[[nodiscard]] forked fork_beside(const std::function<void(int supervisor, int consent)>& body);

// Waits for the end of a child, but not longer than this. False when it is still there.
bool reaped_within(pid_t child, std::chrono::nanoseconds limit);

} // namespace colock::cli
