// The terminal that colock was started on: which process group may read from it, and gets its signals.
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <optional>

namespace colock::cli {

// While colock's group is in the foreground of the terminal, the command's group takes its place: it may read from the
// terminal, and Ctrl-C goes to it. A group that is not in the foreground has nothing to give away: the terminal is that of
// the shell then, or of another job.
class terminal {
public:
    terminal() noexcept;
    terminal(const terminal&) = delete;
    terminal& operator=(const terminal&) = delete;
    ~terminal();

    // Whether colock's group is in the foreground now. It may be put there, and away, at any time.
    [[nodiscard]] bool in_foreground() const noexcept;
    // Whether the command should have the terminal from the beginning: it reads from it, and does not write into a pipe. What
    // stands behind the pipe, such as a pager, may need the terminal. A command that needs it all the same is stopped when
    // it asks, and can get it then.
    [[nodiscard]] bool is_for_command() const noexcept { return for_command_; }

    // Any process of this session: puts a group into the foreground when colock's is there.
    void give_to(pid_t group) const noexcept;
    // Puts colock's group there when the command's is, or one of which nobody is left. True when it did.
    bool take_back(pid_t group) const noexcept;
    // Sets the modes that the terminal had in the beginning: a command that was killed may have left others. Only in the
    // foreground.
    void restore_modes() const noexcept;

private:
    int file_;
    pid_t own_group_;
    bool for_command_;
    std::optional<::termios> modes_;
};

} // namespace colock::cli
