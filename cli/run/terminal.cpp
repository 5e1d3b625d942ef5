#include "run/terminal.hpp"

#include <signal.h>
#include <unistd.h>

namespace colock::cli {

terminal::terminal() noexcept : is_ours_{::isatty(STDIN_FILENO) == 1 && in_foreground()}
{
}

bool terminal::in_foreground() const noexcept
{
    return ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
}

void terminal::give_to(pid_t group) const noexcept
{
    if (!is_ours_) {
        return;
    }
    // A group in the background is stopped for this, unless it blocks the signal.
    ::sigset_t blocked, before;
    ::sigemptyset(&blocked);
    ::sigaddset(&blocked, SIGTTOU);
    ::sigprocmask(SIG_BLOCK, &blocked, &before);
    ::tcsetpgrp(STDIN_FILENO, group);
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
}

void terminal::take_back() const noexcept
{
    give_to(::getpgrp());
}

} // namespace colock::cli
