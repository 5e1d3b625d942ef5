#include "run/job.hpp"

#include "connect/until_signal.hpp"

#include <signal.h>
#include <sys/wait.h>

#include <csignal>

namespace colock::cli {

namespace {

volatile std::sig_atomic_t continued = 0;

} // namespace

void job::started(pid_t group)
{
    group_ = group;
    if (!inherited_.ignored(SIGTSTP)) {
        signals_.add(SIGTSTP);
    }
}

void job::waits()
{
    had_terminal_ = false;
    signals_.remove(SIGTSTP);
}

void job::take_terminal_back()
{
    had_terminal_ = terminal_.take_back(group_) || had_terminal_;
}

int job::ended_by_terminal(int wait_status) const noexcept
{
    const int number = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
    return (number == SIGINT || number == SIGQUIT) && terminal_.in_foreground() ? number : 0;
}

void job::pass_on(int number)
{
    signals_.clear();
    leave_no_core();
    if (had_terminal_) {
        ::kill(0, number);
    } else {
        ::raise(number);
    }
}

bool job::stopped(int number, const std::function<void()>& will_stop)
{
    if (number == SIGSTOP) {
        return false; // by somebody who will continue it
    }
    const bool asks_for_terminal = number == SIGTTIN || number == SIGTTOU;
    if (!asks_for_terminal || !terminal_.in_foreground()) {
        take_terminal_back();
        if (terminal_.in_foreground()) {
            will_stop();
        }
        // Where no shell could continue it, the kernel stops nobody. Then the command goes on after Ctrl-Z.
        if (!stop_own_group(asks_for_terminal) && asks_for_terminal) {
            return false;
        }
    }
    terminal_.give_to(group_);
    return true;
}

// Until `fg` or `bg`. True when it was continued, or, if that is what it wants, in the foreground by now: `fg` may come first.
bool job::stop_own_group(bool wants_foreground)
{
    if (inherited_.ignored(SIGTSTP)) {
        return false;
    }
    continued = 0;
    struct sigaction note {};
    note.sa_handler = [](int) { continued = 1; };
    note.sa_flags = SA_RESTART;
    struct sigaction before {};
    ::sigaction(SIGCONT, &note, &before);
    signals_.remove(SIGTSTP);
    ::sigset_t stop;
    ::sigemptyset(&stop);
    ::sigaddset(&stop, SIGTSTP);
    ::pthread_sigmask(SIG_BLOCK, &stop, nullptr);
    ::kill(0, SIGTSTP);
    if (wants_foreground && terminal_.in_foreground()) {
        ::kill(0, SIGCONT); // which takes back the other one
    }
    ::pthread_sigmask(SIG_UNBLOCK, &stop, nullptr); // stops here
    signals_.add(SIGTSTP);
    ::sigaction(SIGCONT, &before, nullptr);
    return continued != 0;
}

} // namespace colock::cli
