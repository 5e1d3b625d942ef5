// A program on a machine, with its io_context.
#pragma once

#include "ensemble/machine.hpp"
#include "ensemble/network.hpp"
#include "ensemble/random.hpp"
#include "guard/helper.hpp"
#include "kernel.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace colock::simulated {

// Its handlers run when something has arrived, or a timer is due, and only while the machine runs it. Between two
// instants it runs until nothing is ready any more.
class process final : private machine::resident {
public:
    // The machine has no other process, and lives. The world has one thread, so the context needs no locks; but Asio has no
    // signal sets in several contexts without.
    process(machine& on, network& net, random chance,
            int concurrency_hint = BOOST_ASIO_CONCURRENCY_HINT_UNSAFE);
    process(const process&) = delete;
    process& operator=(const process&) = delete;
    // A process that still lives ends in order: its context is destroyed, which sends last words.
    ~process();

    // The one that runs now; nullptr between events.
    [[nodiscard]] static process* running() noexcept;
    // Throws std::logic_error between events: a client belongs into a process.
    [[nodiscard]] static process& current();

    // Not of a process that has been killed.
    [[nodiscard]] boost::asio::io_context& context() noexcept { return *context_; }
    [[nodiscard]] machine& on() const noexcept { return machine_; }
    [[nodiscard]] network& net() const noexcept { return network_; }
    [[nodiscard]] random& chance() noexcept { return random_; }

    // Runs it as this process, now or when the process goes on; then what is ready.
    template <class Function>
    void enter(Function&& what)
    {
        machine_.run(std::forward<Function>(what));
    }

    // What it would find out about itself now, such as the time. It does not run.
    template <class Function>
    [[nodiscard]] auto look(Function&& what)
    {
        const looking as{&kernel_};
        return what();
    }

    // Its session guard; empty: it cannot start one.
    std::function<colock::guard::started_helper()> find_guard;

    // SIGKILL: connections are reset, nothing more is sent; then the context is destroyed.
    // machine::kill() does the same. Not from within the process.
    void kill() { machine_.kill(); }
    [[nodiscard]] bool is_alive() const noexcept { return context_ != nullptr; }

    // The context had no work left when it last ran.
    [[nodiscard]] bool is_idle() const noexcept { return context_ && context_->stopped(); }

private:
    struct looking {
        explicit looking(kernel* k) noexcept : before{kernel::make_current(k)} {}
        ~looking() { kernel::make_current(before); }
        looking(const looking&) = delete;
        looking& operator=(const looking&) = delete;
        kernel* before;
    };

    void enter() override;
    void leave() override;
    void destroy_context();
    [[nodiscard]] timeline& time() const noexcept { return machine_.time(); }
    void plan();

    machine& machine_;
    network& network_;
    random random_;
    kernel kernel_;
    std::unique_ptr<boost::asio::io_context> context_; // empty once killed
    std::size_t depth_ = 0;
    process* before_ = nullptr; // which ran when this one was entered
    std::chrono::nanoseconds planned_ = std::chrono::nanoseconds::max(); // by machine::clock()
    timeline::event_id wake_{};
    std::shared_ptr<bool> alive_; // for what the machine keeps of it
};

} // namespace colock::simulated
