// What runs on one machine: processes that come and go, their clients, and those who use them.
#pragma once

#include "scene.hpp"
#include "simulated.hpp"
#include "world/process.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace world::workload {

class customer;
class guard_process;

class program {
public:
    struct habits {
        std::size_t clients = 1; // at a time
        std::size_t users = 2;   // of each client
        bool restless = true;    // clients are closed and destroyed now and then
        bool is_peer = false;    // takes mutexes in Curator's way
    };

    program(scene& in, machine& on, network& net, check::journal::actor name, random chance,
            habits what);
    program(const program&) = delete;
    program& operator=(const program&) = delete;
    ~program();

    void start();
    // SIGKILL.
    void kill();
    // The process destroys its context in the midst of everything.
    void destroy();
    // The computer goes to sleep, with all that runs on it; and wakes up.
    void suspend();
    void wake();
    // What the present process has for a session guard, or null.
    [[nodiscard]] guard_process* guard() const noexcept { return guard_; }
    // The computer loses its power.
    void kill_with_guards();

    [[nodiscard]] bool is_alive() const noexcept { return process_ != nullptr; }
    [[nodiscard]] machine& on() const noexcept { return machine_; }
    [[nodiscard]] check::journal::actor name() const noexcept { return name_; }
    // Of the present process, or the last one.
    [[nodiscard]] const std::shared_ptr<check::life>& life() const noexcept { return life_; }
    // Nothing runs there any more, because it was told to come to its end.
    [[nodiscard]] bool is_done() const noexcept { return !process_ || running_ == 0; }

private:
    void over();
    void end();
    [[nodiscard]] colock::guard::started_helper find_guard();
    [[nodiscard]] asio::awaitable<void> career(random chance);
    [[nodiscard]] asio::awaitable<void> employ(std::shared_ptr<customer> c, random chance);
    [[nodiscard]] asio::awaitable<void> nothing_held(std::shared_ptr<customer> c);
    [[nodiscard]] static std::shared_ptr<std::optional<colock::error_code>>
    last_request(customer& c);
    void engage(customer& c, random& chance);
    void engage_for_shards(customer& c, random& chance);
    void engage_for_group(customer& c, random& chance);
    void engage_for_rendezvous(customer& c, random& chance);
    [[nodiscard]] asio::awaitable<void> some_user(customer& c, std::size_t at, random& chance);

    scene& all_;
    machine& machine_;
    network& network_;
    check::journal::actor name_;
    random random_;
    habits habits_;
    std::unique_ptr<process> process_;
    std::shared_ptr<check::life> life_;
    std::vector<std::unique_ptr<guard_process>> guards_; // of all processes
    guard_process* guard_ = nullptr;
    std::size_t running_ = 0; // careers
    std::size_t customers_ = 0;
};

} // namespace world::workload
