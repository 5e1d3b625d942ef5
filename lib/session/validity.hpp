// Until when a session is known to live. Sans-io.
#pragma once

#include <chrono>
#include <deque>

namespace colock::protocol {

// The leader of an ensemble ends a session when it has not heard of it for the time-out T. It hears of
// the clients of a follower only with that follower's answers to its own pings, twice a tick; what a
// follower forwards does not count. So an acknowledged write proves that its leader rules, and that the
// session lived; but the leader's clock for the session started no later than when it heard of a
// *contact*, a request that the server answered at least three quarters of a tick before the write was
// sent. docs/internals/session.md, *How long a session is safe*.
//
// Times are those of a clock that goes on while the machine sleeps.
class validity {
public:
    using duration = std::chrono::nanoseconds;
    using time_point = duration; // since the clock's epoch

    explicit validity(duration tick) noexcept : tick_{tick} {}

    // A connection was made, by an attempt that began then; the leader has heard of it.
    // `timeout` is the smallest that was granted in this session.
    void connected(time_point began, duration timeout);
    // What was said on the connection proves nothing about the next one. The bound stays, unless the next
    // one grants a smaller time-out.
    void disconnected();
    // The session is over.
    void ended();

    void answered(time_point sent, time_point now);
    // Of a write, after answered(). True when the bound has moved.
    bool acknowledged(time_point sent, time_point now);

    // The session lives until then, if the rates of the clocks differ by less than `rate_margin`.
    [[nodiscard]] time_point safe_until() const noexcept { return safe_until_; }

    // The client contacts a server once per this period. While it holds a lock, or is next in line, it also sends a write
    // that proves the contact.
    [[nodiscard]] static duration contact_period(duration timeout) noexcept { return timeout / 6; }

    // Contacts that are closer to each other count as one.
    [[nodiscard]] static duration spacing(duration tick) noexcept { return tick / 16; }

    // While answers come within half a tick, safe_until() is at least this far ahead. Zero or less: the time-out is too
    // short for the tick.
    [[nodiscard]] static duration attainable(duration timeout, duration tick) noexcept;
    // The shortest time-out, in whole milliseconds, with which that is more than the margin.
    [[nodiscard]] static std::chrono::milliseconds shortest_timeout(duration margin,
                                                                    duration tick) noexcept;

    // When a write would move the bound; max() when there is nothing that it could prove.
    [[nodiscard]] time_point provable_at() const noexcept;
    // When the last request that was answered had been sent.
    [[nodiscard]] time_point last_contact() const noexcept { return contacts_.back().sent; }

private:
    struct contact {
        time_point sent;
        time_point answered;
    };

    [[nodiscard]] duration settling() const noexcept { return tick_ * 3 / 4; }
    [[nodiscard]] static duration rate_margin(duration timeout) noexcept { return timeout / 100; }

    duration tick_;
    duration timeout_{0};
    time_point safe_until_{0};
    time_point proved_{0};         // the last contact that a write proved
    std::deque<contact> contacts_; // of this connection, by time, `spacing` apart
};

} // namespace colock::protocol
