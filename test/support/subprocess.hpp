#ifndef COLOCK_TEST_SUPPORT_SUBPROCESS_HPP
#define COLOCK_TEST_SUPPORT_SUBPROCESS_HPP

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace colock::test {

struct subprocess_options {
    /// "NAME=value" each; added to, and stronger than, the caller's environment.
    std::vector<std::string> environment = {};

    /// Give the standard output to `read_line()` instead of sharing the caller's.
    bool capture_output = false;

    /// Append standard output (unless captured) and standard error to this file.
    std::string output_file = {};

    /// Give the child a pipe as its standard input, closed by `close_input()`; else /dev/null.
    bool open_input = false;

    std::string working_directory = {};
};

/// How a process ended.
struct exit_status {
    int code = 0;   ///< What it returned; -1 when a signal ended it.
    int signal = 0; ///< The signal that ended it, or 0.

    bool success() const noexcept { return code == 0 && signal == 0; }
};

/// A child process that cannot outlive this object, nor this process.
/**
 * The child starts with default signal handling, nothing blocked, no file descriptor but the
 * standard three, and a process group of its own (so Ctrl-C in a terminal reaches the parent alone,
 * which then cleans up in order). The destructor kills it, stopped or not, and waits for it.
 *
 * When this process ends in any way, SIGKILL included, the kernel kills the child:
 * PR_SET_PDEATHSIG. That signal is bound to the *thread* that forked, therefore all children are
 * forked by one thread that never ends. Grandchildren are not covered.
 *
 * All functions may be called from any thread, except that `read_line` serves one reader at a time.
 */
class subprocess {
public:
    /// Starts `arguments[0]` (searched in PATH when it has no '/').
    /// Throws `std::runtime_error` when it cannot be started, with the reason.
    explicit subprocess(std::vector<std::string> arguments, subprocess_options options = {});
    subprocess(subprocess const&) = delete;
    subprocess& operator=(subprocess const&) = delete;
    ~subprocess();

    pid_t pid() const noexcept { return pid_; }

    /// Whether it has not ended yet; a stopped process runs in this sense.
    bool running();

    /// Sends a signal; nothing happens when the process has ended.
    void send_signal(int number);

    /// SIGKILL, and waits until the process is gone.
    void kill();

    /// SIGSTOP, and waits until every thread of it stands still. False when it has ended instead.
    bool stop();

    /// SIGCONT.
    void resume();

    exit_status wait();
    std::optional<exit_status> wait_for(std::chrono::milliseconds timeout);

    /// The next line of the captured output, without its '\n'. Empty at the end of the output, or
    /// when no whole line came within the time-out (an unfinished line is kept for the next call).
    std::optional<std::string> read_line(std::chrono::milliseconds timeout);

    /// Whether the captured output has ended.
    bool end_of_output() const noexcept { return output_ < 0; }

    /// Writes to the child's standard input (`open_input`). False when the child does not read.
    bool write_input(std::string const& text);
    void close_input();

private:
    bool reap(int flags);

    pid_t pid_ = -1;
    int output_ = -1;
    int input_ = -1;
    std::string unread_;
    std::mutex mutex_; // guards status_ and, with it, that pid_ is still ours to signal
    std::optional<exit_status> status_;
};

/// The path of a program in PATH, or of one given with a '/'; empty when there is none.
std::string find_program(std::string const& name);

} // namespace colock::test

#endif
