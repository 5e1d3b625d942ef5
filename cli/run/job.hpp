// The job that a shell knows: colock and the command, on the terminal that they share.
#pragma once

#include "run/inherited_signals.hpp"
#include "run/terminal.hpp"

#include <boost/asio/signal_set.hpp>

#include <sys/types.h>

#include <functional>

namespace colock::cli {

class job {
public:
    job(const inherited_signals& inherited, const terminal& tty, boost::asio::signal_set& signals)
        : inherited_{inherited}, terminal_{tty}, signals_{signals}
    {
    }

    // The command has started, in a process group of its own. From now on Ctrl-Z is its business.
    void started(pid_t group);
    // While there is no command, Ctrl-Z stops this process as usual.
    void waits();

    // The command was stopped by this signal. If that was done from the terminal, the job stops, too, and returns when it is
    // continued; before that `will_stop` tells the user. True when the command shall go on.
    bool stopped(int number, const std::function<void()>& will_stop);

    // Puts colock's group into the foreground, when the command has had that.
    void take_terminal_back();
    // Behind a command that was killed, and may have left other modes.
    void restore_modes() const noexcept { terminal_.restore_modes(); }

    // The signal of the terminal (Ctrl-C, say) that has ended the command, or a wait; 0 when none did. A command that has caught
    // the signal and returns 130 has ended as it wanted.
    [[nodiscard]] int ended_by_terminal(int wait_status) const noexcept;
    // Ctrl-C went to the command's group alone, if that had the terminal. The others on this side of it, such as a script that
    // would start the next command, hear of it now; in a wait they have heard of it.
    void pass_on(int number);

private:
    bool stop_own_group(bool wants_foreground);

    const inherited_signals& inherited_;
    const terminal& terminal_;
    boost::asio::signal_set& signals_;
    pid_t group_ = 0;           // of the last command
    bool had_terminal_ = false; // that group
};

} // namespace colock::cli
