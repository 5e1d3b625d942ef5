#include "zk/blocking_call.hpp"

#include <csignal>
#include <system_error>
#include <thread>

namespace colock::zk {

namespace {

// Threads that are started meanwhile take no signal of the program.
class blocked_signals {
public:
    blocked_signals()
    {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_BLOCK, &all, &before_);
    }
    blocked_signals(const blocked_signals&) = delete;
    ~blocked_signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    sigset_t before_{};
};

} // namespace

error_code start_detached_thread(std::function<void()> body)
{
    const blocked_signals none;
    try {
        std::thread{std::move(body)}.detach();
        return {};
    } catch (const std::system_error& e) {
        return e.code();
    }
}

} // namespace colock::zk
