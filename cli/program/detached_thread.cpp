#include "program/detached_thread.hpp"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <system_error>
#include <thread>
#include <utility>

// What the run has covered, where the compiler counts that (`./dev coverage`): otherwise exit() writes it down.
extern "C" void __gcov_dump() __attribute__((weak)); // NOLINT(*-identifier*): the name is theirs

namespace colock::cli {

namespace {

class blocked_signals {
public:
    blocked_signals() noexcept
    {
        ::sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    blocked_signals(const blocked_signals&) = delete;
    blocked_signals& operator=(const blocked_signals&) = delete;
    ~blocked_signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    ::sigset_t before_;
};

bool is_alone()
{
    std::error_code ec;
    std::filesystem::directory_iterator threads{"/proc/self/task", ec};
    return !ec && std::distance(begin(threads), end(threads)) == 1;
}

} // namespace

void start_detached(std::function<void()> body)
{
    const blocked_signals none;
    std::thread{std::move(body)}.detach();
}

void leave(int status)
{
    if (is_alone()) {
        std::exit(status);
    }
    std::cout.flush();
    std::cerr.flush();
    if (__gcov_dump) {
        __gcov_dump();
    }
    ::_exit(status);
}

} // namespace colock::cli
