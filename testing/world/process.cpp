#include "process.hpp"

#include "zk/entropy.hpp"

#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <utility>

namespace colock::simulated {

namespace {

constinit thread_local process* current_process = nullptr;
constexpr auto never = std::chrono::nanoseconds::max();

} // namespace

process* process::running() noexcept
{
    return current_process;
}

process& process::current()
{
    if (current_process == nullptr) {
        throw std::logic_error{"colock runs outside the processes of the simulated world"};
    }
    return *current_process;
}

process::process(machine& on, network& net, random chance, int concurrency_hint)
    : machine_{on}, network_{net}, random_{chance}, kernel_{on}, alive_{
                                                                     std::make_shared<bool>(true)}
{
    machine_.set_resident(this);
    machine_.on_kill([this, alive = std::weak_ptr{alive_}] {
        if (!alive.expired()) {
            destroy_context();
        }
    });
    enter();
    context_ = std::make_unique<boost::asio::io_context>(concurrency_hint);
    // With a timer comes the loop that looks at timers, in which the kernel notices a process that runs for ever.
    const boost::asio::steady_timer unused{*context_};
    leave();
}

process::~process()
{
    destroy_context();
}

void process::enter()
{
    if (depth_++ == 0) {
        before_ = std::exchange(current_process, this);
        kernel::make_current(&kernel_);
        kernel_.begin();
    }
}

void process::leave()
{
    std::exception_ptr thrown;
    if (depth_ == 1 && context_) {
        try {
            context_->restart();
            context_->poll();
        } catch (...) {
            thrown = std::current_exception();
            // What else was ready is no timer, which plan() would see: it is enough to come here once more.
            machine_.after(std::chrono::nanoseconds{0}, [] {});
        }
    }
    if (--depth_ == 0) {
        current_process = std::exchange(before_, nullptr);
        kernel::make_current(current_process == nullptr ? nullptr : &current_process->kernel_);
        // A timer that is set without any work is one that was cancelled.
        if (context_ && !context_->stopped()) {
            plan();
        }
    }
    if (thrown) {
        std::rethrow_exception(thrown);
    }
}

void process::destroy_context()
{
    if (!context_) {
        return;
    }
    enter();
    // What it destroys may still ask for it.
    delete context_.get();
    static_cast<void>(context_.release());
    leave();
    time().cancel(wake_);
    machine_.set_resident(nullptr);
    alive_.reset();
}

// One event of the timeline for all timers. When they move out, as most do, it happens for nothing, and is planned anew.
void process::plan()
{
    const auto due = kernel_.due();
    if (due >= planned_) {
        return;
    }
    time().cancel(wake_);
    planned_ = due;
    wake_ = machine_.after(due - machine_.clock(), [this, alive = std::weak_ptr{alive_}] {
        if (!alive.expired()) {
            planned_ = never; // being entered for this is all that it takes
        }
    });
}

} // namespace colock::simulated

// Chance for the library: that of the process, which the seed has given it. It is defined here because whoever uses a world
// links this file: so a program with colock::colock before colock::testing_world has two definitions, and does not link.
void colock::zk::random_bytes(void* to, std::size_t count)
{
    auto* at = static_cast<unsigned char*>(to);
    while (count != 0) {
        const auto word = simulated::process::current().chance()();
        const auto part = std::min(count, sizeof word);
        std::memcpy(at, &word, part);
        at += part;
        count -= part;
    }
}
