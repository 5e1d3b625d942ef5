#include "pseudo_terminal.hpp"

#include "wait_until.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>

namespace colock::test {

namespace {

[[noreturn]] void fail(std::string const& what)
{
    throw std::runtime_error("pseudo_terminal: " + what + ": " + std::strerror(errno));
}

winsize as_winsize(terminal_size size)
{
    winsize w{};
    w.ws_row = size.rows;
    w.ws_col = size.columns;
    return w;
}

} // namespace

pseudo_terminal::pseudo_terminal(std::vector<std::string> arguments,
                                 std::vector<std::string> environment, terminal_size size)
{
    std::vector<char*> argv;
    for (auto& a : arguments) {
        argv.push_back(a.data());
    }
    argv.push_back(nullptr);
    // Other threads may run: everything that allocates happens before the fork.
    std::vector<char*> envp;
    for (char** e = environ; *e != nullptr; ++e) {
        std::string_view const has{*e};
        auto const name = has.substr(0, has.find('=') + 1);
        if (std::ranges::none_of(environment,
                                 [&](auto const& mine) { return mine.starts_with(name); })) {
            envp.push_back(*e);
        }
    }
    for (auto& e : environment) {
        envp.push_back(e.data());
    }
    envp.push_back(nullptr);

    auto w = as_winsize(size);
    pid_ = ::forkpty(&master_, nullptr, nullptr, &w);
    if (pid_ < 0) {
        fail("forkpty");
    }
    if (pid_ == 0) {
        sigset_t none;
        ::sigemptyset(&none);
        ::sigprocmask(SIG_SETMASK, &none, nullptr);
        for (int s = 1; s != NSIG; ++s) {
            ::signal(s, SIG_DFL);
        }
        ::execvpe(argv[0], argv.data(), envp.data());
        ::_exit(127);
    }
    ::fcntl(master_, F_SETFD, FD_CLOEXEC);
}

pseudo_terminal::~pseudo_terminal()
{
    hang_up();
    if (!status_) {
        ::kill(pid_, SIGKILL);
        int status = 0;
        while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
    }
}

void pseudo_terminal::send(std::string_view text)
{
    while (!text.empty()) {
        auto const n = ::write(master_, text.data(), text.size());
        if (n < 0 && errno != EINTR) {
            fail("write");
        }
        text.remove_prefix(n > 0 ? static_cast<std::size_t>(n) : 0);
    }
}

// False when there is nothing more to come.
bool pseudo_terminal::take_in(std::chrono::milliseconds timeout)
{
    if (master_ < 0) {
        return false;
    }
    pollfd p{master_, POLLIN, 0};
    auto const ready = ::poll(&p, 1, static_cast<int>(std::max<std::int64_t>(timeout.count(), 0)));
    if (ready <= 0) {
        return true;
    }
    char bytes[4096];
    auto const n = ::read(master_, bytes, sizeof bytes); // EIO: the last process has closed it
    if (n > 0) {
        output_.append(bytes, static_cast<std::size_t>(n));
    }
    return n > 0 || (n < 0 && errno == EINTR);
}

bool pseudo_terminal::wait_for(std::string_view text, std::chrono::milliseconds timeout)
{
    auto const deadline = std::chrono::steady_clock::now() + timeout;
    for (;;) {
        if (auto const at = output_.find(text, matched_); at != output_.npos) {
            matched_ = at + text.size();
            return true;
        }
        auto const left = std::chrono::ceil<std::chrono::milliseconds>(
            deadline - std::chrono::steady_clock::now());
        if (left.count() <= 0 || !take_in(left)) {
            return output_.find(text, matched_) != output_.npos;
        }
    }
}

std::string const& pseudo_terminal::output()
{
    for (std::size_t before = output_.size() + 1; before != output_.size();) {
        before = output_.size();
        if (!take_in(std::chrono::milliseconds(0))) {
            break;
        }
    }
    return output_;
}

std::string pseudo_terminal::screen()
{
    auto const& all = output();
    std::size_t begin = 0;
    for (std::string_view const clearing : {"\x1b[2J", "\x1b[H", "\x1b[?1049h", "\x1b[?1049l"}) {
        if (auto const at = all.rfind(clearing); at != all.npos) {
            begin = std::max(begin, at + clearing.size());
        }
    }
    std::string seen;
    for (auto i = begin; i < all.size(); ++i) {
        if (all[i] == '\x1b' && i + 1 < all.size() && all[i + 1] == '[') {
            for (i += 2; i < all.size() && (all[i] < '@' || all[i] > '~'); ++i) {
            }
        } else if (all[i] != '\r') {
            seen += all[i];
        }
    }
    return seen;
}

void pseudo_terminal::resize(terminal_size size)
{
    auto w = as_winsize(size);
    if (::ioctl(master_, TIOCSWINSZ, &w) != 0) {
        fail("TIOCSWINSZ");
    }
}

bool pseudo_terminal::is_in_line_mode() const
{
    termios t{};
    if (::tcgetattr(master_, &t) != 0) {
        fail("tcgetattr");
    }
    return (t.c_lflag & ECHO) != 0 && (t.c_lflag & ICANON) != 0;
}

void pseudo_terminal::hang_up()
{
    if (master_ >= 0) {
        ::close(master_);
        master_ = -1;
    }
}

void pseudo_terminal::send_signal(int number)
{
    if (!status_) {
        ::kill(pid_, number);
    }
}

bool pseudo_terminal::reap()
{
    int status = 0;
    if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_) {
        status_ = WIFSIGNALED(status) ? exit_status{-1, WTERMSIG(status)}
                                      : exit_status{WEXITSTATUS(status), 0};
    }
    return status_.has_value();
}

std::optional<exit_status> pseudo_terminal::wait_for_exit(std::chrono::milliseconds timeout)
{
    // A program that writes on does not end before somebody has read it.
    wait_until(
        [this] {
            output();
            return reap();
        },
        timeout);
    return status_;
}

} // namespace colock::test
