// A computer with one process: a ZooKeeper server, or a program that takes locks.
#pragma once

#include "action.hpp"
#include "fifo.hpp"
#include "timeline.hpp"

#include <functional>
#include <string>
#include <vector>

namespace colock::simulated {

// What runs on it runs between two instants of the timeline, and takes no time.
class machine {
public:
    // What is to be told before and after code of the process runs.
    class resident {
    public:
        virtual void enter() = 0;
        virtual void leave() = 0;

    protected:
        ~resident() = default;
    };

    // `drift`: by how much its clock is fast, in millionths. `up`: how long it has been up when the world begins.
    machine(timeline& time, std::string name, int drift = 0,
            std::chrono::nanoseconds up = std::chrono::hours{1});
    // Another process on the same computer, which is awake: it has the same clock and the same links.
    explicit machine(const machine* beside);
    machine(const machine&) = delete;
    machine& operator=(const machine&) = delete;

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    // From 0, in the order in which the machines of the world were made.
    [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
    // The number of the first one on the same computer.
    [[nodiscard]] std::uint32_t computer() const noexcept { return computer_; }
    [[nodiscard]] timeline& time() const noexcept { return time_; }

    // What its clock shows, in whole microseconds. It goes on while the process is stopped, and while the machine is
    // suspended.
    [[nodiscard]] std::chrono::nanoseconds clock() const noexcept;
    // The same without the times in which it was suspended.
    [[nodiscard]] std::chrono::nanoseconds awake() const noexcept
    {
        return (asleep_since_.count() == -1 ? clock() : asleep_since_) - slept_;
    }
    // The first instant at which clock() shows that.
    [[nodiscard]] instant when(std::chrono::nanoseconds clock) const noexcept;

    [[nodiscard]] bool is_alive() const noexcept { return alive_; }
    [[nodiscard]] bool is_running() const noexcept { return alive_ && !stopped_; }
    // How often its process was stopped: what has waited since before may be late.
    [[nodiscard]] std::uint64_t stops() const noexcept { return stops_; }
    // Counts the processes that it has had.
    [[nodiscard]] std::uint64_t process() const noexcept { return process_; }

    // SIGSTOP and SIGCONT. What is to run meanwhile runs when it goes on, in its order.
    void stop() noexcept
    {
        stopped_ = true;
        ++stops_;
    }
    void go_on();
    // Sleeps until go_on(). Its network goes on, unless somebody cuts it off.
    void suspend() noexcept;

    // SIGKILL. What waits to run is dropped; those who asked are told at once, so that connections break.
    void kill();
    // Another process, on the same machine. Whoever owns the machine makes the process anew.
    void start();
    // Called within kill(), in the order in which they were given, once each.
    void on_kill(std::function<void()> told) { on_kill_.push_back(std::move(told)); }

    // Nothing has to wait, see run().
    [[nodiscard]] bool is_ready() const noexcept { return alive_ && !stopped_ && waiting_.empty(); }
    // Runs it now, or when the process goes on; not when the process of now has been killed.
    template <class Function>
    void run(Function&& what)
    {
        if (is_ready()) {
            perform(what);
        } else if (alive_) {
            waiting_.push(std::forward<Function>(what));
        }
    }
    // After so much time of its clock. Cancelled by its timeline.
    timeline::event_id after(std::chrono::nanoseconds delay, action what);

    // At most one; nullptr: none any more.
    void set_resident(resident* r) noexcept { resident_ = r; }

private:
    void wake() noexcept;
    template <class Function>
    void perform(Function& what)
    {
        if (resident_ == nullptr) {
            what();
            return;
        }
        resident_->enter();
        try {
            what();
        } catch (...) {
            resident_->leave();
            throw;
        }
        resident_->leave();
    }

    timeline& time_;
    std::string name_;
    std::uint32_t number_;
    std::uint32_t computer_;
    std::int64_t drift_;
    std::chrono::nanoseconds up_;
    mutable std::int64_t looked_at_ = -1;
    mutable std::chrono::nanoseconds shown_{0}; // then
    std::chrono::nanoseconds slept_{0};
    std::chrono::nanoseconds asleep_since_{-1}; // -1: awake
    bool alive_ = true;
    bool stopped_ = false;
    std::uint64_t process_ = 1;
    std::uint64_t stops_ = 0;
    resident* resident_ = nullptr;
    fifo<action> waiting_;
    std::vector<std::function<void()>> on_kill_;
};

} // namespace colock::simulated
