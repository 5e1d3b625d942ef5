#include "process.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace demo {

namespace {

std::system_error failure(const std::string& what)
{
    return {errno, std::generic_category(), what};
}

// In the child, between fork and exec: nothing that allocates.
[[noreturn]] void become(char* const* arguments, int output, int death_signal, ::pid_t parent)
{
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, death_signal);
    if (::getppid() != parent) {
        ::_exit(127); // the demo has ended meanwhile
    }
    ::sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::signal(SIGPIPE, SIG_DFL);
    const int nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(output, STDOUT_FILENO);
    // The sockets of the demo: a connection ends when it closes its end, whoever was started meanwhile.
    ::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    ::execv(arguments[0], arguments);
    ::_exit(127);
}

} // namespace

process::process(const asio::any_io_executor& executor, const std::vector<std::string>& command,
                 ending how)
    : output_{executor}, ending_{how}
{
    if (::access(command.front().c_str(), X_OK) != 0) {
        throw failure("cannot run " + command.front() + " (./dev demo makes it)");
    }
    std::vector<char*> arguments;
    for (const auto& word : command) {
        arguments.push_back(const_cast<char*>(word.c_str()));
    }
    arguments.push_back(nullptr);

    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) {
        throw failure("cannot make a pipe");
    }
    output_.assign(pipe[0]);
    output_.non_blocking(true);
    const auto parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
        become(arguments.data(), pipe[1], ending_.signal, parent);
    }
    ::close(pipe[1]);
    if (pid_ < 0) {
        throw failure("cannot start " + command.front());
    }
}

process::~process()
{
    end();
}

asio::awaitable<void> process::wait_readable()
{
    // An error shows when it is read.
    co_await output_.async_wait(asio::posix::stream_descriptor::wait_read,
                                asio::as_tuple(asio::deferred));
}

std::vector<std::string> process::read_lines()
{
    std::vector<std::string> lines;
    std::array<char, 4096> buffer;
    while (!at_end_) {
        const auto length = ::read(output_.native_handle(), buffer.data(), buffer.size());
        if (length < 0 && errno == EINTR) {
            continue;
        }
        if (length < 0 && errno == EAGAIN) {
            break;
        }
        at_end_ = length <= 0;
        for (const char c :
             std::string_view{buffer.data(), at_end_ ? 0 : static_cast<std::size_t>(length)}) {
            if (c != '\n') {
                unfinished_ += c;
                continue;
            }
            lines.push_back(std::move(unfinished_));
            unfinished_.clear();
        }
    }
    return lines;
}

void process::send(int signal) const
{
    if (!status_) {
        ::kill(pid_, signal);
    }
}

bool process::freeze()
{
    send(SIGSTOP);
    int status = 0;
    if (status_ || ::waitpid(pid_, &status, WUNTRACED) != pid_) {
        return false;
    }
    if (WIFSTOPPED(status)) {
        return true;
    }
    status_ = status;
    return false;
}

void process::end()
{
    if (status_) {
        return;
    }
    send(ending_.signal);
    if (!reap(ending_.grace)) {
        send(SIGKILL);
        reap(std::chrono::hours{1});
    }
}

int process::exit_status()
{
    reap(std::chrono::seconds{1}); // its output has ended, and so has it, or is about to
    end();
    const int status = *status_;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool process::reap(std::chrono::milliseconds patience)
{
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!status_) {
        int status = 0;
        const auto gone = ::waitpid(pid_, &status, WNOHANG);
        if (gone == pid_ || (gone < 0 && errno == ECHILD)) {
            status_ = status;
        } else if (std::chrono::steady_clock::now() >= deadline) {
            return false;
        } else {
            std::this_thread::sleep_for(std::chrono::milliseconds{2});
        }
    }
    return true;
}

} // namespace demo
