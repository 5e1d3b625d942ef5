// A session guard of a program: a process beside it, with the code of the real one.
#pragma once

#include "guard/helper.hpp"
#include "guard/session_guard.hpp"
#include "scene.hpp"
#include "simulated.hpp"
#include "world/process.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace world::workload {

// It stays when the process has ended: something may still be under way to it.
class guard_process {
public:
    guard_process(scene& in, process& owner, std::shared_ptr<const check::life> of,
                  check::journal::actor name, random chance);
    guard_process(const guard_process&) = delete;
    guard_process& operator=(const guard_process&) = delete;

    // The owner's end; null when its clients have let go of it, or the guard has died.
    [[nodiscard]] std::shared_ptr<colock::guard::helper> channel();
    [[nodiscard]] machine& on() noexcept { return on_; }
    [[nodiscard]] check::journal::actor name() const noexcept { return name_; }

    void owner_died();
    void go_on();
    void kill();

private:
    class owners_end;
    struct waiting; // for its death

    // Somewhat later, behind all that was told before.
    template <class Function>
    void tell(std::chrono::nanoseconds most, Function what);

    scene& all_;
    machine& of_owner_;
    machine on_;
    check::journal::actor name_;
    random random_;
    process process_;
    std::weak_ptr<colock::guard::session_guard> guard_; // gone with its context
    std::weak_ptr<owners_end> channel_;
    bool opened_ = false;
    std::vector<std::weak_ptr<waiting>> waiting_;
    instant told_{};
};

} // namespace world::workload
