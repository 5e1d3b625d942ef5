#include "process.hpp"

#include <boost/asio/steady_timer.hpp>

#include <exception>
#include <utility>

namespace world {

namespace {

constinit process* running = nullptr;
constexpr auto never = std::chrono::nanoseconds::max();

} // namespace

process* process::current() noexcept
{
    return running;
}

process::process(machine& on, network& net, random chance)
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
    // The world has one thread.
    context_ = std::make_unique<boost::asio::io_context>(BOOST_ASIO_CONCURRENCY_HINT_UNSAFE);
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
        before_ = std::exchange(running, this);
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
        }
    }
    if (--depth_ == 0) {
        running = std::exchange(before_, nullptr);
        kernel::make_current(running == nullptr ? nullptr : &running->kernel_);
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

} // namespace world
