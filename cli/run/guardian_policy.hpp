// When the guardian ends the command and its processes. Sans-io.
#pragma once

#include <chrono>
#include <optional>
#include <variant>

namespace colock::cli {

// How a command is ended.
struct ending_terms {
    // From SIGTERM to SIGKILL.
    std::chrono::nanoseconds grace{0};
    // From the safe-until bound to the earliest time at which the servers may grant the lock to another client. Everything
    // is over before that.
    std::chrono::nanoseconds margin{0};

    // What is left of the margin for SIGKILL to take effect.
    static constexpr std::chrono::nanoseconds for_sigkill = std::chrono::milliseconds{250};
};

// One run of a command. Each input may be followed by step(), which says what has to be done then. Times are those of
// boot_time(); `bound` is the safe-until bound as the supervisor has renewed it.
class guardian_policy {
public:
    using time = std::chrono::nanoseconds;

    enum class order {
        nothing,
        terminate, // SIGTERM to all processes
        kill,      // SIGKILL to all processes; again, until none is left
    };

    explicit guardian_policy(const ending_terms& terms) noexcept : terms_{terms} {}

    // The command has ended; what it has left behind has its grace.
    void command_ended(time now) noexcept { end(now); }
    // It shall end, though the lock is not lost.
    void asked_to_end(time now) noexcept { end(now); }
    // Nobody renews the bound any more.
    void supervisor_gone(time now) noexcept { end(now); }
    // Another client may have the lock already.
    void lost() noexcept;

    [[nodiscard]] order step(time now, time bound) noexcept;

    // When step() has to be called next if there is no input.
    [[nodiscard]] time next_step(time now, time bound) const noexcept;

private:
    struct running {};
    struct ending {
        time kill_at;
        bool terminated = false;
    };
    struct killing {
        std::optional<time> since = {}; // the first time
    };

    void end(time now) noexcept;
    [[nodiscard]] time kill_at(const ending& e, time bound) const noexcept;

    ending_terms terms_;
    std::variant<running, ending, killing> stage_;
};

} // namespace colock::cli
