#include "run/terminal.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace colock::cli {

namespace {

// A group in the background is stopped for changing the terminal, unless it blocks the signal.
class without_sigttou {
public:
    without_sigttou() noexcept
    {
        ::sigset_t blocked;
        ::sigemptyset(&blocked);
        ::sigaddset(&blocked, SIGTTOU);
        ::pthread_sigmask(SIG_BLOCK, &blocked, &before_);
    }
    without_sigttou(const without_sigttou&) = delete;
    without_sigttou& operator=(const without_sigttou&) = delete;
    ~without_sigttou() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    ::sigset_t before_;
};

bool is_pipe(int file)
{
    struct stat about {};
    return ::fstat(file, &about) == 0 && S_ISFIFO(about.st_mode);
}

} // namespace

// The standard input may be another file: programs that ask for a password open the terminal themselves.
terminal::terminal() noexcept
    : file_{::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)}, own_group_{::getpgrp()},
      for_command_{::isatty(STDIN_FILENO) == 1 && !is_pipe(STDOUT_FILENO)}
{
    ::termios modes;
    if (in_foreground() && ::tcgetattr(file_, &modes) == 0) {
        modes_ = modes;
    }
}

terminal::~terminal()
{
    if (file_ >= 0) {
        ::close(file_);
    }
}

bool terminal::in_foreground() const noexcept
{
    return file_ >= 0 && ::tcgetpgrp(file_) == own_group_;
}

void terminal::give_to(pid_t group) const noexcept
{
    if (in_foreground()) {
        const without_sigttou now;
        ::tcsetpgrp(file_, group);
    }
}

bool terminal::take_back(pid_t group) const noexcept
{
    const pid_t there = file_ >= 0 ? ::tcgetpgrp(file_) : -1;
    if (there <= 0 || there == own_group_ ||
        (there != group && (::kill(-there, 0) == 0 || errno != ESRCH))) {
        return false;
    }
    const without_sigttou now;
    return ::tcsetpgrp(file_, own_group_) == 0;
}

void terminal::restore_modes() const noexcept
{
    if (modes_ && in_foreground()) {
        const without_sigttou now;
        ::tcsetattr(file_, TCSANOW, &*modes_); // does not wait for whoever reads
    }
}

} // namespace colock::cli
