// A computer with one process: a ZooKeeper server, or a program that takes locks.
#pragma once

#include "timeline.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace world {

// What runs on it runs between two instants of the timeline, and takes no time.
class machine {
public:
    // `drift`: by how much its clock is fast, in millionths.
    machine(timeline& time, std::string name, int drift = 0);
    machine(const machine&) = delete;
    machine& operator=(const machine&) = delete;

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] timeline& time() const noexcept { return time_; }

    // What its clock shows. It goes on while the process is stopped.
    [[nodiscard]] std::chrono::nanoseconds clock() const noexcept;
    // When its clock will show that.
    [[nodiscard]] instant when(std::chrono::nanoseconds clock) const noexcept;

    [[nodiscard]] bool is_alive() const noexcept { return alive_; }
    [[nodiscard]] bool is_running() const noexcept { return alive_ && !stopped_; }

    // SIGSTOP and SIGCONT. What is to run meanwhile runs when it goes on, in its order.
    void stop() noexcept { stopped_ = true; }
    void go_on();

    // SIGKILL. What waits to run is dropped; those who asked are told at once, so that connections break.
    void kill();
    // Another process, on the same machine. Whoever owns the machine makes the process anew.
    void start();
    // Called within kill(), in the order in which they were given, once each.
    void on_kill(std::function<void()> told) { on_kill_.push_back(std::move(told)); }

    // Runs it now, or when the process goes on; not when the process of now has been killed.
    void run(std::function<void()> what);
    // After so much time of its clock. Cancelled by its timeline.
    timeline::event_id after(std::chrono::nanoseconds delay, std::function<void()> what);

private:
    timeline& time_;
    std::string name_;
    std::int64_t drift_;
    bool alive_ = true;
    bool stopped_ = false;
    std::uint64_t process_ = 1; // counts them
    std::deque<std::function<void()>> waiting_;
    std::vector<std::function<void()>> on_kill_;
};

} // namespace world
