// When a session guard may end the sessions of its owner. Sans-io.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace colock::guard {

// Times are those of one clock that does not go back, and goes on while the machine sleeps.
//
// The owner is dead when the kernel says so of the process, and nobody holds the owner's end of the channel: a child that was
// forked without exec may still believe that it has the locks. The channel of a process that dies ends at most a moment before
// the process does; a longer life means that the owner has become another program by exec. A time-out of the session later
// nobody knows whose session it would be: the servers may have been set up anew, and have given the same number to another
// client. A guard that was stopped hears of a death late, so the time-out counts from when it last saw that the owner lived.
class rules {
public:
    using time = std::chrono::nanoseconds;

    // `needs_consent`: somebody beside the owner has to say that nothing acts any more that the owner has started.
    explicit rules(bool needs_consent) noexcept : needs_consent_{needs_consent} {}

    // What the owner says.
    void has_session(std::uint64_t client, time timeout) { sessions_[client] = {timeout, {}}; }
    // The servers end it by its time-out, and the owner does not hear of it.
    void has_left_session(std::uint64_t client, time timeout, time now)
    {
        sessions_[client] = {timeout, now + timeout};
    }
    void has_none(std::uint64_t client) { sessions_.erase(client); }
    [[nodiscard]] bool knows(std::uint64_t client) const { return sessions_.contains(client); }
    // What the kernel says. Of an end and of a death the first time counts.
    void owner_lived(time when) noexcept { lived_ = when; }
    void channel_ended(time now) noexcept { note(channel_ended_, now); }
    void owner_died(time now) noexcept { note(died_, now); }
    // What whoever has to consent says: that nothing acts; or nothing, and never will.
    void consented() noexcept { needs_consent_ = false; }
    void consent_denied() noexcept { denied_ = needs_consent_; }

    struct decision {
        // The sessions of these clients are to be ended, each until then. Not empty at most once.
        std::vector<std::pair<std::uint64_t, time>> end = {};
        bool exit = false;             // there is nothing to wait for
        std::optional<time> next = {}; // otherwise: when to ask again, whatever happens
    };
    [[nodiscard]] decision decide(time now);

private:
    struct known {
        time timeout;
        std::optional<time> until; // it is not worth ending any more
    };

    static void note(std::optional<time>& when, time now) noexcept
    {
        if (!when) {
            when = now;
        }
    }

    std::map<std::uint64_t, known> sessions_; // by client
    bool needs_consent_;
    bool denied_ = false;
    bool acted_ = false;
    std::optional<time> lived_; // the last time
    std::optional<time> channel_ended_;
    std::optional<time> died_;
};

} // namespace colock::guard
