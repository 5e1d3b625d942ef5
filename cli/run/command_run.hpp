// One run of the command under the lock: from the grant until nothing of it is left.
#pragma once

#include "run/events.hpp"
#include "run/guardian_policy.hpp"
#include "run/guardian_socket.hpp"
#include "run/holding.hpp"
#include "run/job.hpp"
#include "run/shared_bound.hpp"
#include "run/variables.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace colock::cli {

// How it has ended.
struct run_result {
    int wait_status = 0; // of the command, when that was started
    bool started = false;
    int start_error = 0;  // errno, when the command could not be started
    error_code loss = {}; // why the lock was lost before nothing was left, if it was
    bool guardian_lost = false;
    bool held_too_long = false; // and was ended therefore
    bool switched_off = false;  // likewise

    // The command, or something of it.
    [[nodiscard]] bool was_killed() const noexcept;
};

// What it needs, and what outlives it.
struct run_surroundings {
    guardian_socket& guardian;
    shared_bound& bound;
    job* shell_job; // null: the command has no terminal
    events& say;
    const ending_terms& terms;
    std::optional<std::uint32_t> shard = {}; // for which it runs
};

// For a shell: 128 and the number when a signal has ended the command.
[[nodiscard]] int status_of(int wait_status);

class command_run {
public:
    command_run(const run_surroundings& all, const holding& held) : in_{all}, held_{held} {}
    command_run(const command_run&) = delete;
    command_run& operator=(const command_run&) = delete;

    // Once. Nothing of the command is left when it completes, also when it throws.
    boost::asio::awaitable<run_result> carry_out(const std::vector<variable>& environment);

    // A signal for the command.
    void pass_on(int number);
    // SIGTERM for the command and its processes, and SIGKILL after the grace.
    void end();
    // The command, not what it leaves behind.
    [[nodiscard]] bool is_running() const noexcept;
    // For how long the lock is safe.
    [[nodiscard]] std::chrono::steady_clock::duration remaining() const noexcept
    {
        return held_.remaining();
    }

private:
    boost::asio::awaitable<run_result> hear_guardian();
    boost::asio::awaitable<void> end_by_force();
    boost::asio::awaitable<void> renew_for_ever();
    boost::asio::awaitable<void> watch_loss();
    boost::asio::awaitable<void> pass_on_revocation();
    bool renew();
    void say_lost(const char* what_follows);
    void say_refused(int number);

    const run_surroundings in_;
    const holding& held_;
    error_code loss_;
    bool late_ = false; // something was left at the bound, or would have been started behind it
    bool start_heard_ = false;
    bool end_heard_ = false;
    bool lost_said_ = false;
    bool refused_said_ = false;
};

} // namespace colock::cli
