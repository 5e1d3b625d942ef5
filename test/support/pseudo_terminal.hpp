#ifndef COLOCK_TEST_SUPPORT_PSEUDO_TERMINAL_HPP
#define COLOCK_TEST_SUPPORT_PSEUDO_TERMINAL_HPP

#include "subprocess.hpp"

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test {

struct terminal_size {
    unsigned short rows = 24;
    unsigned short columns = 80;
};

/// A program that a user runs in a terminal: its standard input, output and error are a pseudo-terminal of its own, and
/// it leads the session and the foreground process group there.
/**
 * The destructor closes the terminal, kills the program, stopped or not, and waits for it. When this process ends in any
 * way the terminal is closed, and the kernel sends the program SIGHUP.
 *
 * What the program writes is taken in while one of the functions below waits. The terminal buffers some kilobytes; a
 * program that writes more waits until somebody looks.
 *
 * One thread uses the object. Functions throw `std::runtime_error` when the system refuses.
 */
class pseudo_terminal {
public:
    /// Starts `arguments[0]` (searched in PATH when it has no '/'); "NAME=value" each of `environment` is added to the
    /// caller's environment.
    explicit pseudo_terminal(std::vector<std::string> arguments,
                             std::vector<std::string> environment = {}, terminal_size size = {});
    pseudo_terminal(pseudo_terminal const&) = delete;
    pseudo_terminal& operator=(pseudo_terminal const&) = delete;
    ~pseudo_terminal();

    pid_t pid() const noexcept { return pid_; }

    /// What a user types. "\r" is Enter, "\x03" Ctrl-C, which becomes SIGINT unless the program has changed that.
    void send(std::string_view text);

    /// Waits until what the program has written since the last match contains the text. True when it has come; then the
    /// next call looks behind it. False when it has not after the time, or when the program has closed the terminal.
    bool wait_for(std::string_view text,
                  std::chrono::milliseconds timeout = std::chrono::seconds(30));

    /// All that the program has written so far, escape sequences included, "\r\n" at the ends of lines.
    std::string const& output();

    /// What a user sees: the lines of `output()` behind the last clearing of the screen, or the last return to its
    /// beginning, without escape sequences and without '\r'.
    std::string screen();

    /// Another size of the window; the program gets SIGWINCH.
    void resize(terminal_size size);

    /// Whether the terminal echoes what is typed and reads it line by line, as it did at the start.
    bool is_in_line_mode() const;

    /// Closes the terminal, as when a window is closed or a connection breaks: the program gets SIGHUP.
    void hang_up();

    void send_signal(int number);

    /// How the program has ended; empty when it has not after the time.
    std::optional<exit_status>
    wait_for_exit(std::chrono::milliseconds timeout = std::chrono::seconds(30));

private:
    bool take_in(std::chrono::milliseconds timeout);
    bool reap();

    int master_ = -1;
    pid_t pid_ = -1;
    std::string output_;
    std::size_t matched_ = 0;
    std::optional<exit_status> status_;
};

} // namespace colock::test

#endif
