// The terminal that colock was started on: which process group may read from it, and gets its signals.
#pragma once

#include <sys/types.h>

namespace colock::cli {

// When standard input is a terminal, and colock's group is in its foreground, the command's group takes this place while
// the command runs: it may read from the terminal, and Ctrl-C goes to it.
class terminal {
public:
    terminal() noexcept;

    // Whether there is such a terminal.
    [[nodiscard]] bool is_ours() const noexcept { return is_ours_; }

    // Any process of this session: puts a group into the foreground.
    void give_to(pid_t group) const noexcept;
    // Takes it back.
    void take_back() const noexcept;
    // Whether this process's group is in the foreground now, such as behind `fg`.
    [[nodiscard]] bool in_foreground() const noexcept;

private:
    bool is_ours_;
};

} // namespace colock::cli
