// What colock was told to do with signals by whoever started it, for the command that it starts.
#pragma once

#include <signal.h>

#include <array>

namespace colock::cli {

// The signals that are passed on to the command.
inline constexpr std::array passed_on{SIGHUP,  SIGINT,  SIGQUIT,  SIGTERM,
                                      SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP};

// Whoever sends one of these does not want the command to go on.
[[nodiscard]] inline bool asks_to_end(int number) noexcept
{
    return number == SIGHUP || number == SIGINT || number == SIGQUIT || number == SIGTERM;
}

class inherited_signals {
public:
    // To be made before anything else looks at signals.
    inherited_signals() noexcept;

    // Such as SIGHUP below nohup: colock ignores it, too.
    [[nodiscard]] bool ignored(int number) const noexcept;

    // In the process that becomes the command.
    void restore() const noexcept;

private:
    ::sigset_t mask_;
    ::sigset_t ignored_;
};

} // namespace colock::cli
